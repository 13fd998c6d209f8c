package release

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"parapet/model/claims"
	"parapet/model/dbconn"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
	"parapet/model/payouts"
)

// useStablePlans is the prelude of a release.
func useStablePlans(tx *store.Tx) { tx.Batch.Queue(dbconn.StablePlansSQL) }

// Submit writes orders to a rail through conn, in its open transaction, and returns the
// rail's answers in the order of the orders. An error means that no order was written.
type Submit func(ctx context.Context, conn *pgx.Conn, orders []*Release) ([]payouts.RailAnswer, error)

// ReleaseBatch releases up to most payouts of any partner that are due and were never
// sent, through a rail that stores its orders in this database. Intent, order and
// outcome are one transaction, so that all or none are committed and no payout is in
// doubt. It skips payouts that another worker has locked, so several batches can run at
// once. It returns the number of payouts taken; if it equals most, there may be more. A
// payout that cannot be released by a fault of its own stays due and is named in the
// error; the others are released.
func (s *Service) ReleaseBatch(ctx context.Context, rail payouts.RailIdentity, most int, submit Submit) (taken int, ended []ReleaseResult, err error) {
	if err := s.RegisterRail(ctx, rail); err != nil {
		return 0, nil, err
	}
	var stuck error
	err = s.InTxWithPrelude(ctx, actor.System(), useStablePlans, func(ctx context.Context, tx *store.Tx) error {
		slice, err := lockDuePayouts(ctx, tx, most)
		if err != nil {
			return err
		}
		taken, ended, stuck = len(slice), nil, nil
		if taken == 0 {
			return nil
		}
		reserveRows(tx, 2*taken)
		var orders []*Release
		if orders, stuck, err = prepareOrders(ctx, tx, rail, slice, false); err != nil {
			return err
		}
		ended, err = submitOrders(ctx, tx, rail, slice, orders, submit)
		payouts.SavePayouts(tx, slice)
		return err
	})
	return taken, ended, errors.Join(err, stuck)
}

// submitOrders submits the orders that may be sent and records the rail's answers.
func submitOrders(ctx context.Context, tx *store.Tx, rail payouts.RailIdentity, slice []payouts.LockedPayout, orders []*Release, submit Submit) ([]ReleaseResult, error) {
	outs, going := make([]payouts.LockedPayout, 0, len(slice)), make([]*Release, 0, len(slice))
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
	answers, err := submit(ctx, tx.PgxConn, going)
	if err != nil {
		return nil, fmt.Errorf("enter orders: %w", err)
	}
	defer tx.WithActor(actor.Actor{Kind: actor.KindRail, Name: rail.Name})()
	ended := make([]ReleaseResult, len(going))
	for i, order := range going {
		if ended[i], err = applyRailAnswer(tx, rail.Name, outs[i], order, answers[i]); err != nil {
			return nil, err
		}
	}
	SaveAttempts(tx, rail.Recipient(), going, answers)
	return ended, nil
}

// lockDuePayouts locks payouts that are due and that no other worker has locked, and
// their claims first. It waits for no lock, and returns at most most: a claim may have
// several that are due.
func lockDuePayouts(ctx context.Context, tx *store.Tx, most int) ([]payouts.LockedPayout, error) {
	due, err := lockDueClaims(ctx, tx, most)
	if err != nil || len(due) == 0 {
		return nil, store.TranslateError(err)
	}
	ids := make([]uuid.UUID, len(due))
	byID := make(map[uuid.UUID]*claims.ClaimRow, len(due))
	for i := range due {
		ids[i], byID[due[i].ID] = due[i].ID, &due[i]
	}
	rows := make([]claims.PayoutRow, 0, len(due))
	text := tx.Store.Statements.Get((*claims.PayoutRow)(nil), "lock due", func() string {
		return tx.NewSelect().Model((*claims.PayoutRow)(nil)).Where("po.claim_id = any($1)").OrderExpr("po.id").For("NO KEY UPDATE SKIP LOCKED").String()
	})
	if err := tx.Store.QueryPreparedRows(ctx, tx.PgxConn, &rows, text, ids); err != nil {
		return nil, fmt.Errorf("lock due payouts: %w", err)
	}
	// Not by the statement, which would read every due payout of the queue.
	rows = slices.DeleteFunc(rows, func(row claims.PayoutRow) bool {
		return row.Status != claims.PayoutPending || row.NextAttemptAt == nil || row.NextAttemptAt.After(tx.Now)
	})
	rows = rows[:min(len(rows), most)]
	slice := make([]payouts.LockedPayout, 0, len(rows))
	for i := range rows {
		claim := byID[rows[i].ClaimID]
		claims.AdvanceClockPastTimeline(tx, claim)
		tx.AdvanceClock(&rows[i].RowHeader)
		slice = append(slice, payouts.NewLockedPayout(claim, &rows[i]))
	}
	return slice, nil
}
