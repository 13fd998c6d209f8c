package model

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// useGenericPlans forces generic plans for this transaction: planning each statement
// again costs twice its execution.
func useGenericPlans(tx *Tx) { tx.batch.Queue("set local plan_cache_mode = force_generic_plan") }

// Submit writes orders to a rail through conn, in its open transaction, and returns the
// rail's answers in the order of the orders. An error means that no order was written.
type Submit func(ctx context.Context, conn *pgx.Conn, orders []*Release) ([]RailAnswer, error)

// ReleaseBatch releases up to most payouts of any partner that are due and were never
// sent, through a rail that stores its orders in this database. Intent, order and
// outcome are one transaction, so that all or none are committed and no payout is in
// doubt. It skips payouts that another worker has locked, so several batches can run at
// once. It returns the number of payouts taken; if it equals most, there may be more. A
// payout that cannot be released by a fault of its own stays due and is named in the
// error; the others are released.
func (s *Service) ReleaseBatch(ctx context.Context, rail RailIdentity, most int, submit Submit) (taken int, ended []ReleaseResult, err error) {
	if err := s.RegisterRail(ctx, rail); err != nil {
		return 0, nil, err
	}
	var stuck error
	err = s.InTxWithPrelude(ctx, System(), useGenericPlans, func(ctx context.Context, tx *Tx) error {
		slice, err := tx.lockDuePayouts(ctx, most)
		if err != nil {
			return err
		}
		taken, ended, stuck = len(slice), nil, nil
		if taken == 0 {
			return nil
		}
		tx.reserveEvents(2 * taken)
		*collect[timelineRows](tx, timelineCollection) = make(timelineRows, 0, 2*taken)
		*collect[postingSets](tx, postingCollection) = make(postingSets, 0, taken)
		var orders []*Release
		if orders, stuck, err = tx.prepareOrders(ctx, rail, slice); err != nil {
			return err
		}
		ended, err = tx.submitOrders(ctx, rail, slice, orders, submit)
		tx.savePayouts(slice)
		return err
	})
	return taken, ended, errors.Join(err, stuck)
}

// submitOrders submits the orders that may be sent and records the rail's answers.
func (tx *Tx) submitOrders(ctx context.Context, rail RailIdentity, slice []lockedPayout, orders []*Release, submit Submit) ([]ReleaseResult, error) {
	outs, going := make([]lockedPayout, 0, len(slice)), make([]*Release, 0, len(slice))
	for i, order := range orders {
		switch {
		case order == nil:
		case order.InDoubt: // not expected; the sweep settles each alone
			return nil, fmt.Errorf("%s was sent before under its key", order.PayoutID)
		default:
			outs, going = append(outs, slice[i]), append(going, order)
		}
	}
	if len(going) == 0 {
		return nil, nil
	}
	answers, err := submit(ctx, tx.pgxConn, going)
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

// lockDuePayouts locks payouts that are due and that no other worker has locked, and
// their claims first. It waits for no lock.
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
	text := tx.store.statements.get((*payoutRow)(nil), "lock due", func() string {
		return tx.NewSelect().Model((*payoutRow)(nil)).Where("po.claim_id = any($1) and po.status = 'pending' and po.next_attempt_at <= $2").
			OrderExpr("po.id").For("NO KEY UPDATE SKIP LOCKED").String()
	})
	if err := tx.store.queryPreparedRows(ctx, tx.pgxConn, &rows, text, ids, tx.now); err != nil {
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
