package release

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"parapet/model/claims"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/pacing"
	"parapet/model/kernel/store"
	"parapet/model/ledger"
	"parapet/model/payouts"
)

// ReleaseGroup holds the orders of one call to a rail.
type ReleaseGroup struct {
	Orders []*Release
	// More reports whether other payouts may be due: as many as the limit were found, and
	// at least one of them is not due any more, because it was ordered, blocked or
	// postponed.
	More bool
	// Stuck is the error of payouts whose account number could not be decrypted; they stay
	// due.
	Stuck error
}

// BeginReleaseGroup is BeginRelease for up to limit payouts of any partner that are due
// and pending, in one transaction. It skips payouts that another worker has locked, so
// several groups can be formed at the same time. It enqueues a single release for a payout
// that may have been sent before, and for one whose earlier keys must be voided first.
func (s *Service) BeginReleaseGroup(ctx context.Context, rail payouts.RailIdentity, limit int) (group ReleaseGroup, err error) {
	if err := s.RegisterRail(ctx, rail); err != nil {
		return group, err
	}
	err = s.InTxWithPrelude(ctx, actor.System(), useStablePlans, func(ctx context.Context, tx *store.Tx) error {
		group = ReleaseGroup{}
		slice, err := lockDuePayouts(ctx, tx, limit)
		if err != nil || len(slice) == 0 {
			return err
		}
		reserveRows(tx, len(slice))
		orders, stuck, err := prepareOrders(ctx, tx, rail, slice, true)
		if err != nil {
			return err
		}
		group.More, group.Stuck = len(slice) == limit && slices.ContainsFunc(slice, isNotDue(tx)), stuck
		for _, order := range orders {
			if order != nil {
				group.Orders = append(group.Orders, order)
			}
		}
		payouts.SavePayouts(tx, slice)
		if len(group.Orders) > 0 {
			SaveAttempts(tx, rail.Recipient(), group.Orders, nil)
		}
		return nil
	})
	return group, err
}

// isNotDue returns a function that reports whether a payout will not be found as due at
// this instant again.
func isNotDue(tx *store.Tx) func(payouts.LockedPayout) bool {
	return func(out payouts.LockedPayout) bool {
		next := out.Row.NextAttemptAt
		return out.Row.Status != claims.PayoutPending || next == nil || next.After(tx.Now)
	}
}

// reserveRows makes room for what a transaction writes about n payouts.
func reserveRows(tx *store.Tx, n int) {
	tx.ReserveEvents(n)
	*store.Collect[claims.TimelineRows](tx, store.TimelineCollection) = make(claims.TimelineRows, 0, n)
	*store.Collect[ledger.PostingSets](tx, store.PostingCollection) = make(ledger.PostingSets, 0, n)
}

// EndReleaseGroup is EndRelease for the answers to all orders of a group. One transaction
// records all answers but those that moved money for a payout that changed since its
// order; EndRelease records each of these. For a payout in doubt it enqueues a single
// release.
func (s *Service) EndReleaseGroup(ctx context.Context, rail string, orders []*Release, answers []payouts.RailAnswer) ([]ReleaseResult, error) {
	places := make(map[uuid.UUID]int, len(orders))
	ids := make([]uuid.UUID, len(orders))
	for i, order := range orders {
		id, err := store.ResourcePayout.ParseID(order.PayoutID)
		if err != nil {
			return nil, err
		}
		ids[i], places[id] = id, i
	}
	ended := make([]ReleaseResult, len(orders))
	var changed []int
	var of payouts.LockResult
	err := s.InTxWithPrelude(ctx, actor.Actor{Kind: actor.KindRail, Name: rail}, func(tx *store.Tx) {
		useStablePlans(tx)
		payouts.QueueLocks(tx, &of, "", ids)
	}, func(_ context.Context, tx *store.Tx) error {
		slice := payouts.LockedPayouts(tx, &of)
		if len(slice) != len(orders) {
			return fmt.Errorf("%d of %d payouts exist", len(slice), len(orders))
		}
		reserveRows(tx, len(slice))
		changed = nil
		applied, replies := make([]*Release, 0, len(orders)), make([]payouts.RailAnswer, 0, len(orders))
		for n, out := range slice {
			pacing.YieldEvery(32, n)
			i := places[out.Row.ID]
			order, answer := orders[i], answers[i]
			if answer.Outcome.MovedMoney() && out.Row.Version != order.version {
				changed = append(changed, i)
				continue
			}
			var err error
			if ended[i], err = applyRailAnswer(tx, rail, out, order, answer); err != nil {
				return err
			}
			if ended[i].RetryAfter > 0 && out.Row.Status != claims.PayoutPending { // a pending one goes with a later group
				tx.EnqueueJob(payouts.ReleasePayout{Partner: order.Partner, ID: order.PayoutID, Requeued: true})
			}
			applied, replies = append(applied, order), append(replies, answer)
		}
		endAttempts(tx, applied, replies)
		payouts.SavePayouts(tx, slice)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, i := range changed {
		var alone error
		if ended[i], alone = s.EndRelease(ctx, rail, orders[i], answers[i]); alone != nil {
			err = errors.Join(err, fmt.Errorf("record the answer about %s: %w", orders[i].PayoutID, alone))
		}
	}
	return ended, err
}
