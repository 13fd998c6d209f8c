package controls

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// EventInvariants are the invariants of events.
var EventInvariants = eventInvariants

// TakeTurns is takeTurns.
var TakeTurns = takeTurns

// ExplainChanged returns the plan of the query for recent changes, with a preference for
// indexes even on small tables.
func (s *Service) ExplainChanged(ctx context.Context) (string, error) {
	conn, err := s.Pool.Acquire(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Release()
	tx, err := conn.Begin(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = tx.Rollback(ctx) }()
	if _, err := tx.Exec(ctx, "set local enable_seqscan = off"); err != nil {
		return "", err
	}
	rows, err := tx.Query(ctx, "explain "+strings.ReplaceAll(changedQuery, "$1", "300000"))
	if err != nil {
		return "", err
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return strings.Join(lines, "\n"), err
}

// CheckFully runs the complete check of all records. It returns the number of slices, and
// the total statement time of the slowest one.
func (s *Service) CheckFully(ctx context.Context) (count int, slowest time.Duration, err error) {
	invariants, err := loadInvariants(ctx, s.Store)
	for done := false; err == nil && !done; count++ {
		var check *fullCheckRow
		if check, err = s.openFullCheck(ctx, invariants); err != nil || check == nil {
			return count, slowest, err
		}
		var took time.Duration
		took, done, err = s.checkFullSlice(ctx, check, invariants, takeNoTurns)
		slowest = max(slowest, took)
	}
	return count, slowest, err
}
