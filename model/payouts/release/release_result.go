package release

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"parapet/model/claims"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/event"
	"parapet/model/kernel/optional"
	"parapet/model/kernel/store"
	"parapet/model/payouts"
)

// inquiryDelays are the delays between an unanswered call and the next inquiry; the
// last one repeats.
var inquiryDelays = []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour}

// unreachableDelays are the delays between a call that sent nothing and the next one;
// the last one repeats.
var unreachableDelays = []time.Duration{5 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute}

// inquiryDelay returns the delay before the next inquiry. While the rail still knows
// the key, the delay is at most half of the remaining time, so that the payout can be
// sent again under its key before the rail may forget it.
func inquiryDelay(order *Release, answer payouts.RailAnswer) time.Duration {
	delay := inquiryDelays[min(order.UnclearCalls, len(inquiryDelays)-1)]
	if answer.Outcome == payouts.OutcomeNotSent {
		delay = unreachableDelays[min(order.UnsentCalls, len(unreachableDelays)-1)]
	}
	if answer.KeyValidFor > 0 {
		delay = min(delay, max(answer.KeyValidFor/2, inquiryDelays[0]))
	}
	return delay
}

// ReleaseResult is the result of an order.
type ReleaseResult struct {
	// RetryAfter is the delay before the rail is asked again, zero when its answer is
	// final.
	RetryAfter time.Duration
	// Mismatch means that money moved otherwise than ordered: another amount or
	// beneficiary, or a superseded key. An operator must investigate at once.
	Mismatch bool
	// Contradiction means that the rail's answer contradicts an earlier one.
	Contradiction bool
}

// EndRelease records the rail's answer to an order. It records a success of any
// attempt; an unknown outcome never becomes a refusal.
func (s *Service) EndRelease(ctx context.Context, rail string, order *Release, answer payouts.RailAnswer) (ended ReleaseResult, err error) {
	id, err := store.ResourcePayout.ParseID(order.PayoutID)
	if err != nil {
		return ReleaseResult{}, err
	}
	var of payouts.LockResult
	err = s.InTxWithPrelude(ctx, actor.Actor{Kind: actor.KindRail, Name: rail}, func(tx *store.Tx) {
		useStablePlans(tx)
		payouts.QueueLocks(tx, &of, "", []uuid.UUID{id})
	}, func(ctx context.Context, tx *store.Tx) (err error) {
		slice := payouts.LockedPayouts(tx, &of)
		if len(slice) == 0 {
			return store.ResourcePayout.NotFoundError()
		}
		order := *order
		if answer.Outcome.MovedMoney() {
			if order.RefusalNoticed, err = isRefusalNoticed(ctx, tx, slice[0].Row, &order); err != nil {
				return err
			}
		}
		unexpected := isUnexpectedPayment(slice[0].Row, &order, answer)
		if ended, err = applyRailAnswer(tx, rail, slice[0], &order, answer); err != nil {
			return err
		}
		if unexpected {
			others, err := blockPaidPart(ctx, tx, slice[0], order.Key, answer.Outcome == payouts.OutcomeAccepted)
			if err != nil {
				return err
			}
			slice = append(slice, others...)
		}
		endAttempts(tx, []*Release{&order}, []payouts.RailAnswer{answer})
		payouts.SavePayouts(tx, slice)
		return nil
	})
	return ended, err
}

// applyRailAnswer decides whether an answer applies. Only the last call may refuse or
// leave doubt, because a later one is in flight with the same key and may pay. Money
// paid under a superseded key must not be retried.
func applyRailAnswer(tx *store.Tx, rail string, out payouts.LockedPayout, order *Release, answer payouts.RailAnswer) (ReleaseResult, error) {
	row := out.Row
	paid := answer.Outcome.MovedMoney()
	astray := paid && (order.Key != payouts.IdempotencyKey(row) || awaitsSending(row))
	ended := ReleaseResult{Mismatch: astray || answer.Outcome == payouts.OutcomeMismatch, Contradiction: isContradictedBy(row, order, answer)}
	var err error
	switch {
	case astray || !row.IsInFlight() || !paid && order.Attempt != row.Attempts:
		// the rail's answer arrived another way or is still to come, or see blockPaidPart
	default:
		if order.OtherRail == nil {
			row.Provider = &rail
		}
		ended.RetryAfter, err = ApplyOutcome(tx, out.Claim, row, order, answer)
	}
	if err == nil && ended.Contradiction {
		err = recordContradiction(tx, rail, out)
	}
	return ended, err
}

// ApplyOutcome applies the outcome to a payout that is with the rail. order is needed
// for outcomes that are not final.
func ApplyOutcome(tx *store.Tx, claim *claims.ClaimRow, row *claims.PayoutRow, order *Release, answer payouts.RailAnswer) (time.Duration, error) {
	switch answer.Outcome {
	case payouts.OutcomeAccepted:
		row.ProviderReference, row.ReleasedAt, row.NextAttemptAt = optional.NonZero(answer.Reference), &tx.Now, nil
		return 0, payouts.TransitionPayoutInMemory(tx, claim, row, claims.PayoutReleased, fmt.Sprintf("The rail accepted the payout of %s (%s).", row.ToMoney(), answer.Reference))
	case payouts.OutcomeRefused:
		row.IdempotencySeq++
		enqueueReevaluation(tx, row)
		return 0, payouts.BlockPayoutInMemory(tx, claim, row, claims.BlockedRailRejected)
	case payouts.OutcomeMismatch:
		row.ProviderReference = optional.NonZero(answer.Reference)
		return 0, payouts.BlockPayoutInMemory(tx, claim, row, claims.BlockedRailMismatch)
	case payouts.OutcomeUnknown, payouts.OutcomeNotSent:
	}
	again := inquiryDelay(order, answer)
	row.NextAttemptAt = new(tx.Now.Add(again))
	if row.Status == claims.PayoutReleasing && answer.Outcome == payouts.OutcomeNotSent && !order.InDoubt {
		enqueueReevaluation(tx, row)
		return again, payouts.TransitionPayoutInMemory(tx, claim, row, claims.PayoutPending, "The rail could not be reached and nothing was sent; the payout is sent when the rail is back.")
	}
	if row.Status == claims.PayoutReleasing {
		return again, payouts.TransitionPayoutInMemory(tx, claim, row, claims.PayoutReconciling, "The rail's answer is unknown; the rail is asked again until it is known.")
	}
	tx.BumpVersion(&row.RowHeader)
	return again, payouts.RecordPayoutEvent(tx, claim, row, payouts.LedgerTransfer(row), event.PayoutUpdated, "The rail's answer is still unknown.")
}

// enqueueReevaluation enqueues a check of a payout that comes back from the rail unpaid:
// while it was there, its method was not re-evaluated, and another one may be usable since.
// That takes the policy's lock, which comes before the claim's, hence a transaction of its
// own.
func enqueueReevaluation(tx *store.Tx, row *claims.PayoutRow) {
	tx.EnqueueJob(payouts.ReevaluatePayouts{Partner: row.Partner, Claim: store.ResourceClaim.FormatID(row.ClaimID)})
}
