package payouts

import (
	"context"

	"github.com/google/uuid"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// payoutMethodView is a method with the claim or policy it was read for, if any.
type payoutMethodView struct {
	PayoutMethodRow `bun:",extend"`

	Serves uuid.UUID `bun:"type:uuid,scanonly"`
}

var (
	payoutMethods = &store.Collection[payoutMethodView, wire.PayoutMethod]{
		Resource: store.ResourcePayoutMethod, Plural: "payout_methods", RequiredScope: store.FixedScope(actor.ScopeClaimsRead), Statuses: store.StatusesOf(PayoutMethodTransitions), Index: store.IndexByStatus,
		ToRecord: func(r *payoutMethodView) wire.PayoutMethod { return *r.toRecord() },
	}
	methodsOfClaims = &store.ChildCollection[payoutMethodView, wire.PayoutMethod]{
		Collection: payoutMethods, CursorName: "payout_methods", Parent: store.ResourceClaim, ParentTable: "claims", ReadsParent: true, ExtraColumns: ", w.id as serves",
		JoinCondition: "!.policy_id = w.policy_id and !.partner = w.partner and (!.claim_id is null or !.claim_id = w.id)",
		Order:         store.SortNewestFirst, CursorKey: store.RowKey[payoutMethodView], ParentID: func(r *payoutMethodView) uuid.UUID { return r.Serves },
	}
	methodsOfPolicies = &store.ChildCollection[payoutMethodView, wire.PayoutMethod]{
		Collection: payoutMethods, CursorName: "payout_methods", Parent: store.ResourcePolicy, ParentTable: "policies", ExtraColumns: ", w.id as serves",
		JoinCondition: "!.policy_id = w.id and !.partner = w.partner",
		Order:         store.SortNewestFirst, CursorKey: store.RowKey[payoutMethodView], ParentID: func(r *payoutMethodView) uuid.UUID { return r.Serves },
	}
)

// GetMethod returns one payout method. Errors: not_found.
func (s *Service) GetMethod(ctx context.Context, actor actor.Actor, id string) (*wire.PayoutMethod, error) {
	return payoutMethods.Get(ctx, s.Store, actor, id)
}

// MethodsByID returns the methods with these ids and omits unknown ids.
func (s *Service) MethodsByID(ctx context.Context, actor actor.Actor, ids []string) (map[string]*wire.PayoutMethod, error) {
	return payoutMethods.GetMany(ctx, s.Store, actor, ids)
}

// ListMethods lists payout methods, newest first. Errors: parameter_invalid,
// cursor_invalid.
func (s *Service) ListMethods(ctx context.Context, actor actor.Actor, f store.Filter, in store.PageRequest) (*store.Page[wire.PayoutMethod], error) {
	return payoutMethods.List(ctx, s.Store, actor, f, in)
}

// GetMethods lists the methods of a claim, including its policy's, newest first.
// Errors: not_found, cursor_invalid.
func (s *Service) GetMethods(ctx context.Context, actor actor.Actor, claim string, in store.PageRequest) (*store.Page[wire.PayoutMethod], error) {
	return methodsOfClaims.GetPage(ctx, s.Store, actor, claim, in)
}

// GetPolicyMethods lists the methods of a policy, including those of its claims,
// newest first. Errors: not_found, cursor_invalid.
func (s *Service) GetPolicyMethods(ctx context.Context, actor actor.Actor, policy string, in store.PageRequest) (*store.Page[wire.PayoutMethod], error) {
	return methodsOfPolicies.GetPage(ctx, s.Store, actor, policy, in)
}

// MethodsByParent lists, newest first, the methods of several claims, including
// their policies', or of several policies, including those of their claims.
func (s *Service) MethodsByParent(ctx context.Context, actor actor.Actor, records []string, in store.PageRequest) (map[string]*store.Page[wire.PayoutMethod], error) {
	if len(store.ResourceClaim.ParseIDs(records)) > 0 {
		return methodsOfClaims.GetPages(ctx, s.Store, actor, records, in)
	}
	return methodsOfPolicies.GetPages(ctx, s.Store, actor, records, in)
}

// MethodStatus is the status of a payout method.
type MethodStatus string

const (
	// MethodPending methods wait for the rail's check.
	MethodPending MethodStatus = "pending"
	// MethodVerified methods can be paid.
	MethodVerified MethodStatus = "verified"
	// MethodRejected methods cannot be paid.
	MethodRejected MethodStatus = "rejected"
	// MethodReplaced methods were replaced by a newer one.
	MethodReplaced MethodStatus = "replaced"
)

// PayoutMethodTransitions are the allowed transitions of a payout method.
var PayoutMethodTransitions = []store.Transition[MethodStatus]{
	{From: MethodPending, To: MethodVerified, Event: event.PayoutMethodVerified},
	{From: MethodPending, To: MethodRejected, Event: event.PayoutMethodRejected},
	{From: MethodPending, To: MethodReplaced, Event: event.PayoutMethodReplaced},
	{From: MethodVerified, To: MethodReplaced, Event: event.PayoutMethodReplaced},
	{From: MethodRejected, To: MethodReplaced, Event: event.PayoutMethodReplaced},
}
