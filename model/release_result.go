package model

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// doubtDelays is how long after each unanswered call the rail is asked again;
// the last one repeats.
var doubtDelays = []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour}

// unreachableDelays is how long after each call that sent nothing the next one is made;
// the last one repeats.
var unreachableDelays = []time.Duration{5 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute}

// doubtDelay is when the rail is asked again. While it still knows the key half of the
// time that is left never passes without a question, so that the payout can be sent
// again under its key before the rail may have forgotten it.
func doubtDelay(order *Release, answer RailAnswer) time.Duration {
	delay := doubtDelays[min(order.Doubts, len(doubtDelays)-1)]
	if answer.Outcome == OutcomeNotSent {
		delay = unreachableDelays[min(order.NotSent, len(unreachableDelays)-1)]
	}
	if answer.KeyLeft > 0 {
		delay = min(delay, max(answer.KeyLeft/2, doubtDelays[0]))
	}
	return delay
}

// Ended is what became of an order.
type Ended struct {
	// Again is how long to wait before the rail is asked again, zero when its word
	// is final.
	Again time.Duration
	// Mismatch tells that money moved other than it was ordered: another amount or
	// beneficiary, or a key that was given up. Somebody has to look at once.
	Mismatch bool
	// Contradiction tells that the rail's word is against what it said before.
	Contradiction bool
}

// EndRelease records what the rail said of an order. Success is recorded whichever
// attempt brought it; doubt never becomes a refusal.
func (s *Service) EndRelease(ctx context.Context, rail string, order *Release, answer RailAnswer) (ended Ended, err error) {
	id, err := nounPayout.parse(order.PayoutID)
	if err != nil {
		return Ended{}, err
	}
	var of locking
	err = s.changeAsking(ctx, Actor{Kind: ActorRail, Name: rail}, func(u *unit) {
		u.plannedOnce()
		u.queueLocks(&of, "", []uuid.UUID{id})
	}, func(ctx context.Context, u *unit) (err error) {
		slice := u.lockedBy(&of)
		if len(slice) == 0 {
			return nounPayout.notFound()
		}
		order := *order
		if answer.Outcome.paid() {
			if order.RefusalNoticed, err = u.isRefusalNoticed(ctx, slice[0].row, &order); err != nil {
				return err
			}
		}
		unexpected := slice[0].row.isUnexpectedPayment(&order, answer)
		if ended, err = u.end(rail, slice[0], &order, answer); err != nil {
			return err
		}
		if unexpected {
			others, err := u.barPaidPart(ctx, slice[0], order.Key, answer.Outcome == OutcomeAccepted)
			if err != nil {
				return err
			}
			slice = append(slice, others...)
		}
		u.endAttempt(id, &order, answer)
		u.keepPayouts(slice)
		return nil
	})
	return ended, err
}

// end judges whose word it is. Only the last call may refuse or doubt, because
// a later one is under way with the same key and may pay. Money that went out
// under a key that was given up is nothing to try again.
func (u *unit) end(rail string, out outgoing, order *Release, answer RailAnswer) (Ended, error) {
	row := out.row
	paid := answer.Outcome.paid()
	astray := paid && (order.Key != row.key() || row.mayGoOut())
	ended := Ended{Mismatch: astray || answer.Outcome == OutcomeMismatch, Contradiction: row.contradicts(order, answer)}
	var err error
	switch {
	case astray || !row.underway() || !paid && order.Attempt != row.Attempts:
		// the rail's word arrived another way, or is still to come, or see barPaidPart
	default:
		if order.Elsewhere == nil {
			row.Provider = &rail
		}
		ended.Again, err = u.conclude(out.claim, row, order, answer)
	}
	if err == nil && ended.Contradiction {
		err = u.recordContradiction(rail, out)
	}
	return ended, err
}

// conclude records what the rail's word means for a payout that is with it. order is
// needed for words that leave it open.
func (u *unit) conclude(claim *claimRow, row *payoutRow, order *Release, answer RailAnswer) (time.Duration, error) {
	switch answer.Outcome {
	case OutcomeAccepted:
		row.ProviderReference, row.ReleasedAt, row.NextAttemptAt = textOrNil(answer.Reference), &u.now, nil
		return 0, u.stepPayout(claim, row, PayoutReleased, fmt.Sprintf("The rail accepted the payout of %s (%s).", row.money(), answer.Reference))
	case OutcomeRefused:
		row.KeyNumber++
		// While the payout was with the rail nothing looked at its account: another one
		// that is verified by now can be paid to. It takes the policy's lock, which comes
		// before the claim's, hence a transaction of its own.
		u.enqueue(ReevaluatePayouts{Partner: row.Partner, Claim: nounClaim.id(row.ClaimID)})
		return 0, u.blockLocked(claim, row, BlockedRailRejected)
	case OutcomeMismatch:
		row.ProviderReference = textOrNil(answer.Reference)
		return 0, u.blockLocked(claim, row, BlockedRailMismatch)
	case OutcomeUnknown, OutcomeNotSent:
	}
	again := doubtDelay(order, answer)
	row.NextAttemptAt = new(u.now.Add(again))
	if row.Status == PayoutReleasing && answer.Outcome == OutcomeNotSent && !order.Doubt {
		return again, u.stepPayout(claim, row, PayoutPending, "The rail could not be reached and nothing was sent; the payout goes out when it can be.")
	}
	if row.Status == PayoutReleasing {
		return again, u.stepPayout(claim, row, PayoutReconciling, "The rail's answer is unknown; it is asked until it is clear.")
	}
	u.touch(&row.header)
	return again, u.sayPayout(claim, row, row.stands(), EventPayoutUpdated, "The rail's answer is still unknown.")
}

// payoutChange is a change of one payout on its way.
func (s *Service) payoutChange(ctx context.Context, actor Actor, partner, id string, do func(context.Context, *unit, *claimRow, *payoutRow) error) error {
	key, err := nounPayout.parse(id)
	if err != nil {
		return err
	}
	return s.change(ctx, actor, func(ctx context.Context, u *unit) error {
		claim, row, err := u.lockPayout(ctx, partner, key)
		if err != nil {
			return err
		}
		return do(ctx, u, claim, row)
	})
}

// lockPayout locks a payout, and its claim before it. Without a partner it is
// whoever's payout the actor may see.
func (u *unit) lockPayout(ctx context.Context, partner string, id uuid.UUID) (*claimRow, *payoutRow, error) {
	locked, err := u.lockPayouts(ctx, partner, []uuid.UUID{id})
	if err != nil {
		return nil, nil, err
	}
	if len(locked) == 0 {
		return nil, nil, nounPayout.notFound()
	}
	return locked[0].claim, locked[0].row, nil
}

// lockPayouts locks the payouts of a set that the actor may see, and their claims
// before them, in the order of their ids.
func (u *unit) lockPayouts(ctx context.Context, partner string, ids []uuid.UUID) ([]outgoing, error) {
	var of locking
	u.queueLocks(&of, partner, ids)
	if err := u.send(ctx); err != nil {
		return nil, fmt.Errorf("lock payouts: %w", err)
	}
	return u.lockedBy(&of), nil
}

// locking is what a set of locks has read once it was sent.
type locking struct {
	claims []claimRow
	rows   []payoutRow
}

// queueLocks takes the locks of lockPayouts with what is sent next; lockedBy tells
// what they found.
func (u *unit) queueLocks(of *locking, partner string, ids []uuid.UUID) {
	*of = locking{}
	u.read(&of.claims, u.svc.texts.of((*claimRow)(nil), "lock by payouts "+u.actor.seen(), func() string {
		return u.NewSelect().Model((*claimRow)(nil)).Where(u.actor.seen()).
			Where("(c.id, c.partner) in (select po.claim_id, po.partner from payouts as po where po.id = any($1) and $3 in ('', po.partner))").
			OrderExpr("c.id").For("NO KEY UPDATE").String()
	}), ids, u.actor.tenant(), partner)
	u.read(&of.rows, u.svc.texts.of((*payoutRow)(nil), "lock all "+u.actor.seen(), func() string {
		return u.NewSelect().Model((*payoutRow)(nil)).Where(u.actor.seen()).Where("po.id = any($1) and $3 in ('', po.partner)").
			OrderExpr("po.id").For("NO KEY UPDATE").String()
	}), ids, u.actor.tenant(), partner)
}

func (u *unit) lockedBy(of *locking) []outgoing {
	byID := make(map[uuid.UUID]*claimRow, len(of.claims))
	for i := range of.claims {
		byID[of.claims[i].ID] = &of.claims[i]
		u.sinceTold(&of.claims[i])
	}
	locked := make([]outgoing, len(of.rows))
	for i := range of.rows {
		u.since(&of.rows[i].header)
		locked[i] = outgoingOf(byID[of.rows[i].ClaimID], &of.rows[i])
	}
	return locked
}
