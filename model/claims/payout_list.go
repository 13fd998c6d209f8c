package claims

import (
	"context"
	"strconv"

	"github.com/google/uuid"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

var (
	payouts = &store.Collection[PayoutRow, wire.Payout]{
		Resource: store.ResourcePayout, Plural: "payouts", Statuses: store.StatusesOf(PayoutTransitions),
		RequiredScope: func(caller actor.Actor) actor.Scope {
			return caller.PreferScope(actor.ScopePayoutsRead, actor.ScopeClaimsRead)
		},
		Index:           store.IndexByStatus,
		PolicyCondition: "!.claim_id = any(array(select id from claims where policy_id = ?))", // payouts have no index on policy
		ToRecord:        func(r *PayoutRow) wire.Payout { return *r.ToRecord() },
	}
	payoutsOfClaims = &store.ChildCollection[PayoutRow, wire.Payout]{
		Collection: payouts, CursorName: "payouts", Parent: store.ResourceClaim, ParentTable: "claims", JoinCondition: "!.claim_id = w.id and !.partner = w.partner",
		OrderColumn: "claim_sequence", Order: store.SortNewestFirst,
		CursorKey: func(r *PayoutRow) string { return strconv.FormatInt(r.ClaimSequence, 10) }, ParentID: func(r *PayoutRow) uuid.UUID { return r.ClaimID },
	}
)

// GetPayout returns one payout. Errors: not_found.
func (s *Service) GetPayout(ctx context.Context, actor actor.Actor, id string) (*wire.Payout, error) {
	return payouts.Get(ctx, s.Store, actor, id)
}

// PayoutsByID returns the payouts with these ids and omits unknown ids.
func (s *Service) PayoutsByID(ctx context.Context, actor actor.Actor, ids []string) (map[string]*wire.Payout, error) {
	return payouts.GetMany(ctx, s.Store, actor, ids)
}

// ListPayouts lists payouts, newest first. Errors: parameter_invalid, cursor_invalid.
func (s *Service) ListPayouts(ctx context.Context, actor actor.Actor, f store.Filter, in store.PageRequest) (*store.Page[wire.Payout], error) {
	return payouts.List(ctx, s.Store, actor, f, in)
}

// GetPayouts lists the payouts of a claim, newest first. Errors: not_found,
// cursor_invalid.
func (s *Service) GetPayouts(ctx context.Context, actor actor.Actor, claim string, in store.PageRequest) (*store.Page[wire.Payout], error) {
	return payoutsOfClaims.GetPage(ctx, s.Store, actor, claim, in)
}
