package model

import (
	"context"
	"strconv"

	"github.com/google/uuid"

	"parapet/model/wire"
)

var (
	payouts = &collection[payoutRow, wire.Payout]{
		resource: resourcePayout, plural: "payouts", statuses: statusesOf(PayoutTransitions),
		requiredScope:   func(actor Actor) Scope { return actor.preferScope(ScopePayoutsRead, ScopeClaimsRead) },
		index:           indexByStatus,
		policyCondition: "!.claim_id = any(array(select id from claims where policy_id = ?))", // payouts have no index on policy
		toRecord:        func(r *payoutRow) wire.Payout { return *r.toRecord() },
	}
	payoutsOfClaims = &childCollection[payoutRow, wire.Payout]{
		collection: payouts, cursorName: "payouts", parent: resourceClaim, parentTable: "claims", joinCondition: "!.claim_id = w.id and !.partner = w.partner",
		orderColumn: "claim_sequence", order: newestFirst,
		cursorKey: func(r *payoutRow) string { return strconv.FormatInt(r.ClaimSequence, 10) }, parentID: func(r *payoutRow) uuid.UUID { return r.ClaimID },
	}
)

// GetPayout returns one payout. Errors: not_found.
func (s *Service) GetPayout(ctx context.Context, actor Actor, id string) (*wire.Payout, error) {
	return payouts.get(ctx, s, actor, id)
}

// PayoutsByID returns the payouts with these ids and omits unknown ids.
func (s *Service) PayoutsByID(ctx context.Context, actor Actor, ids []string) (map[string]*wire.Payout, error) {
	return payouts.getMany(ctx, s, actor, ids)
}

// ListPayouts lists payouts, newest first. Errors: parameter_invalid, cursor_invalid.
func (s *Service) ListPayouts(ctx context.Context, actor Actor, f Filter, in PageRequest) (*Page[wire.Payout], error) {
	return payouts.list(ctx, s, actor, f, in)
}

// GetPayouts lists the payouts of a claim, newest first. Errors: not_found,
// cursor_invalid.
func (s *Service) GetPayouts(ctx context.Context, actor Actor, claim string, in PageRequest) (*Page[wire.Payout], error) {
	return payoutsOfClaims.getPage(ctx, s, actor, claim, in)
}
