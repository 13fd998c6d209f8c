package model

import (
	"context"

	"github.com/google/uuid"

	"parapet/model/wire"
)

// payoutMethodView is a method with the claim or policy it was read for, if any.
type payoutMethodView struct {
	payoutMethodRow `bun:",extend"`

	Serves uuid.UUID `bun:"type:uuid,scanonly"`
}

var (
	payoutMethods = &collection[payoutMethodView, wire.PayoutMethod]{
		resource: resourcePayoutMethod, plural: "payout_methods", requiredScope: fixedScope(ScopeClaimsRead), statuses: statusesOf(PayoutMethodTransitions), index: indexByStatus,
		toRecord: func(r *payoutMethodView) wire.PayoutMethod { return *r.toRecord() },
	}
	methodsOfClaims = &childCollection[payoutMethodView, wire.PayoutMethod]{
		collection: payoutMethods, cursorName: "payout_methods", parent: resourceClaim, parentTable: "claims", extraColumns: ", w.id as serves",
		joinCondition: "!.policy_id = w.policy_id and !.partner = w.partner and (!.claim_id is null or !.claim_id = w.id)",
		order:         newestFirst, cursorKey: rowKey[payoutMethodView], parentID: func(r *payoutMethodView) uuid.UUID { return r.Serves },
	}
	methodsOfPolicies = &childCollection[payoutMethodView, wire.PayoutMethod]{
		collection: payoutMethods, cursorName: "payout_methods", parent: resourcePolicy, parentTable: "policies", extraColumns: ", w.id as serves",
		joinCondition: "!.policy_id = w.id and !.partner = w.partner",
		order:         newestFirst, cursorKey: rowKey[payoutMethodView], parentID: func(r *payoutMethodView) uuid.UUID { return r.Serves },
	}
)

// GetPayoutMethod returns one payout method. Errors: not_found.
func (s *Service) GetPayoutMethod(ctx context.Context, actor Actor, id string) (*wire.PayoutMethod, error) {
	return payoutMethods.get(ctx, s, actor, id)
}

// PayoutMethodsByID returns the methods with these ids and omits unknown ids.
func (s *Service) PayoutMethodsByID(ctx context.Context, actor Actor, ids []string) (map[string]*wire.PayoutMethod, error) {
	return payoutMethods.getMany(ctx, s, actor, ids)
}

// ListPayoutMethods lists payout methods, newest first. Errors: parameter_invalid,
// cursor_invalid.
func (s *Service) ListPayoutMethods(ctx context.Context, actor Actor, f Filter, in PageRequest) (*Page[wire.PayoutMethod], error) {
	return payoutMethods.list(ctx, s, actor, f, in)
}

// GetPayoutMethods lists the methods of a claim, including its policy's, newest first.
// Errors: not_found, cursor_invalid.
func (s *Service) GetPayoutMethods(ctx context.Context, actor Actor, claim string, in PageRequest) (*Page[wire.PayoutMethod], error) {
	return methodsOfClaims.getPage(ctx, s, actor, claim, in)
}

// GetPolicyPayoutMethods lists the methods of a policy, including those of its claims,
// newest first. Errors: not_found, cursor_invalid.
func (s *Service) GetPolicyPayoutMethods(ctx context.Context, actor Actor, policy string, in PageRequest) (*Page[wire.PayoutMethod], error) {
	return methodsOfPolicies.getPage(ctx, s, actor, policy, in)
}

// PayoutMethodsByParent lists, newest first, the methods of several claims, including
// their policies', or of several policies, including those of their claims.
func (s *Service) PayoutMethodsByParent(ctx context.Context, actor Actor, records []string, in PageRequest) (map[string]*Page[wire.PayoutMethod], error) {
	if len(resourceClaim.parseIDs(records)) > 0 {
		return methodsOfClaims.getPages(ctx, s, actor, records, in)
	}
	return methodsOfPolicies.getPages(ctx, s, actor, records, in)
}
