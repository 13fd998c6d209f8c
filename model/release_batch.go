package model

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// useGenericPlans forces generic plans for this transaction: the planner would otherwise
// plan each statement anew, which costs twice its execution.
func (tx *Tx) useGenericPlans() { tx.batch.Queue("set local plan_cache_mode = force_generic_plan") }

// enqueueRelease asks for a payout to be sent: by itself, or with all that are due where the
// rail takes slices. What a slice leaves behind the sweep sends by itself.
func (tx *Tx) enqueueRelease(row *payoutRow) {
	switch {
	case !tx.svc.batchRelease:
		tx.enqueueJob(ReleasePayout{Partner: row.Partner, ID: resourcePayout.formatID(row.ID)})
	case !slices.Contains(tx.jobs, Job(ReleaseBatch{})):
		tx.enqueueJob(ReleaseBatch{})
	}
}

// Submit hands orders to a rail that writes them down through conn, in the transaction
// that is open on it, and returns the rail's word on each in its place. An error means
// that none was entered.
type Submit func(ctx context.Context, conn *pgx.Conn, orders []*Release) ([]RailAnswer, error)

// ReleaseBatch releases up to most payouts that are due and were never sent, whosever
// they are, through a rail whose orders are written down: the intent, the entry in the
// rail's books and the outcome are one transaction, so that all stand or none and
// nothing is ever in doubt. It takes no payout that somebody else works on, so that
// several slices go out at once. It returns how many it took; most means that there
// may be more. What cannot go out for its own sake stays and is told in the error,
// beside the others, which are released.
func (s *Service) ReleaseBatch(ctx context.Context, rail RailIdentity, most int, enter Submit) (taken int, ended []ReleaseResult, err error) {
	if err := s.RegisterRail(ctx, rail); err != nil {
		return 0, nil, err
	}
	var stuck error
	err = s.InTxWithPrelude(ctx, System(), (*Tx).useGenericPlans, func(ctx context.Context, tx *Tx) error {
		slice, err := tx.lockDuePayouts(ctx, most)
		if err != nil {
			return err
		}
		taken, ended, stuck = len(slice), nil, nil
		if taken == 0 {
			return nil
		}
		tx.events, tx.entries, tx.postings = make([]eventRow, 0, 2*taken), make([]timelineRow, 0, 2*taken), make([]postingSet, 0, taken)
		var orders []*Release
		if orders, stuck, err = tx.prepareOrders(ctx, rail, slice); err != nil {
			return err
		}
		ended, err = tx.submitOrders(ctx, rail, slice, orders, enter)
		tx.savePayouts(slice)
		return err
	})
	return taken, ended, errors.Join(err, stuck)
}

// submitOrders hands the orders over that go out and records what the rail said.
func (tx *Tx) submitOrders(ctx context.Context, rail RailIdentity, slice []lockedPayout, orders []*Release, enter Submit) ([]ReleaseResult, error) {
	outs, going := make([]lockedPayout, 0, len(slice)), make([]*Release, 0, len(slice))
	for i, order := range orders {
		switch {
		case order == nil:
		case order.InDoubt: // it cannot be; if it is, the sweep settles each by itself
			return nil, fmt.Errorf("%s was sent before under its key", order.PayoutID)
		default:
			outs, going = append(outs, slice[i]), append(going, order)
		}
	}
	if len(going) == 0 {
		return nil, nil
	}
	answers, err := enter(ctx, tx.pgxConn, going)
	if err != nil {
		return nil, fmt.Errorf("enter orders: %w", err)
	}
	defer tx.withActor(Actor{Kind: ActorRail, Name: rail.Name})()
	ended := make([]ReleaseResult, len(going))
	for i, order := range going {
		if ended[i], err = tx.applyRailAnswer(rail.Name, outs[i], order, answers[i]); err != nil {
			return nil, err
		}
	}
	tx.saveAttempts(rail.recipient(), going, answers)
	return ended, nil
}

// lockDuePayouts locks payouts that are ready to go out and that nobody else works on, and their
// claims before them. It waits for no lock.
func (tx *Tx) lockDuePayouts(ctx context.Context, most int) ([]lockedPayout, error) {
	claims, err := tx.lockDueClaims(ctx, most)
	if err != nil || len(claims) == 0 {
		return nil, translateError(err)
	}
	ids := make([]uuid.UUID, len(claims))
	byID := make(map[uuid.UUID]*claimRow, len(claims))
	for i := range claims {
		ids[i], byID[claims[i].ID] = claims[i].ID, &claims[i]
	}
	rows := make([]payoutRow, 0, len(claims))
	text := tx.svc.statements.get((*payoutRow)(nil), "lock due", func() string {
		return tx.NewSelect().Model((*payoutRow)(nil)).Where("po.claim_id = any($1) and po.status = 'pending' and po.next_attempt_at <= $2").
			OrderExpr("po.id").For("NO KEY UPDATE SKIP LOCKED").String()
	})
	if err := tx.svc.queryPreparedRows(ctx, tx.pgxConn, &rows, text, ids, tx.now); err != nil {
		return nil, fmt.Errorf("lock due payouts: %w", err)
	}
	slice := make([]lockedPayout, 0, len(rows))
	for i := range rows {
		claim := byID[rows[i].ClaimID]
		tx.advanceClockPastTimeline(claim)
		tx.advanceClock(&rows[i].RowHeader)
		slice = append(slice, newLockedPayout(claim, &rows[i]))
	}
	return slice, nil
}
