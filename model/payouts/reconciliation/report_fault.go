package reconciliation

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math"
	"net"

	"github.com/jackc/pgx/v5/pgconn"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/payouts"
	"parapet/model/underwriting"
)

// MatchReports matches all waiting lines. If a slice fails, it is halved until one line
// fails alone: that line becomes an exception, and matching continues with the others.
// It begins at most turns transactions.
func MatchReports(ctx context.Context, s *store.Store, turns int) error {
	if err := reopenLinesInOwnTx(ctx, s); err != nil {
		return err
	}
	size, more := store.SweepBatchSize, true
	for turn := 0; more && turn < turns; turn++ {
		err := s.InTx(ctx, actor.System(), func(ctx context.Context, tx *store.Tx) (err error) {
			defer recoverFault(&err)
			more, err = matchLines(ctx, tx, size)
			return err
		})
		switch {
		case err == nil:
			more = more || size < store.SweepBatchSize
			size = min(2*size, store.SweepBatchSize)
		case !isLineFault(ctx, err):
			return err
		case size > 1:
			size, more = size/2, true
		default:
			if err := setAsideLine(ctx, s, err); err != nil {
				return err
			}
			more = true
		}
	}
	return nil
}

// UntilDone is the number of turns that matches every waiting line.
const UntilDone = math.MaxInt

// errPanic marks a recovered panic of matching.
var errPanic = errors.New("panic")

func recoverFault(err *error) {
	if fault := recover(); fault != nil {
		*err = fmt.Errorf("%w: %v", errPanic, fault)
	}
}

// isLineFault reports whether an error is caused by the line's content and would recur,
// and not by the database, the network or a schema change.
func isLineFault(ctx context.Context, err error) bool {
	if ctx.Err() != nil || apperr.CodeOf(err) == apperr.CodeUnavailable || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	var network net.Error
	if errors.As(err, &network) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || pgconn.SafeToRetry(err) {
		return false
	}
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return true
	}
	switch pg.Code[:min(2, len(pg.Code))] {
	case "22", "23", "P0": // data, integrity, raised by a trigger
		return true
	default:
		return false
	}
}

// maxFaultText bounds the text of a fault, in bytes.
const maxFaultText = 500

// setAsideLine turns the oldest waiting line into an exception that names the fault.
// The payouts of its policy, if it names one, are blocked until an operator answers.
func setAsideLine(ctx context.Context, s *store.Store, fault error) error {
	return s.InTx(ctx, actor.System(), func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.NewRaw("select " + matchLockSQL).Exec(ctx); err != nil {
			return fmt.Errorf("lock matching: %w", err)
		}
		line := new(lineRow)
		err := tx.NewSelect().Model(line).Where("rl.match_result is null").OrderExpr("rl.report_id, rl.number").Limit(1).Scan(ctx)
		if store.IsNoRows(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read line: %w", err)
		}
		detail := fault.Error()
		detail = actor.BoundAuditText(detail[:min(len(detail), maxFaultText)], "no text")
		row := &payouts.ExceptionRow{ID: store.NewID(), CreatedAt: tx.Now, Kind: payouts.ResultUnmatched, Rail: &line.Rail, ReportID: &line.ReportID, Line: &line.Number, Detail: &detail}
		if id, ok := policyOfKey(line.Key); ok {
			policy := new(underwriting.PolicyRow)
			switch err := tx.NewSelect().Model(policy).Where("p.id = ?", id).Scan(ctx); {
			case err == nil:
				row.Partner, row.PolicyID = &policy.Partner, &policy.ID
			case !store.IsNoRows(err):
				return fmt.Errorf("read policy: %w", err)
			}
		}
		_, err = tx.NewUpdate().Model(line).Set("match_result = ?", payouts.ResultUnmatched).WherePK().Exec(ctx)
		if err != nil {
			return fmt.Errorf("set line aside: %w", err)
		}
		return store.InsertRows(ctx, tx, row)
	})
}
