package controls

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
)

// These constants bound the check of all records. It reads all ids in ascending order,
// slice by slice. A record and its events have ids of about the same time, so a slice
// usually contains both. Each run continues where the previous one ended.
const (
	fullCheckEvery  = time.Hour
	fullCheckBudget = 30 * time.Second // total statement time in one run
	maxFullSlice    = 20_000           // rows of one table
	minFullSlice    = 100
	fullSliceGoal   = time.Second // time of the slowest statement
)

// fullCheckRow is the progress of the check of all records. Position is nil when no check
// is running.
type fullCheckRow struct {
	bun.BaseModel `bun:"table:invariant_full_check,alias:fc"`

	OnlyRow          bool `bun:",pk"`
	LastCheckedID    *uuid.UUID
	StartedAt        *time.Time
	SliceSize        int
	FailedInvariants []string `bun:",array"` // invariants that could not be checked everywhere
}

// continueFullCheck checks the next slices of all records, and begins a new check when
// the last one is an hour old.
func (s *Service) continueFullCheck(ctx context.Context, invariants []Invariant, takeTurn turnTaker) error {
	var failed error
	for spent := time.Duration(0); spent < fullCheckBudget; {
		check, err := s.openFullCheck(ctx, invariants)
		if err != nil || check == nil {
			return cmp.Or(err, failed)
		}
		took, done, err := s.checkFullSlice(ctx, check, invariants, takeTurn)
		if err != nil {
			if failed = err; ctx.Err() != nil {
				return failed
			}
			took = max(took, checkTimeout)
		}
		if done {
			return failed
		}
		spent += took
	}
	return failed
}

// openFullCheck reads the progress of the check of all records, and begins a new check
// when it is due. It returns nil when nothing is due.
func (s *Service) openFullCheck(ctx context.Context, invariants []Invariant) (*fullCheckRow, error) {
	check := new(fullCheckRow)
	if err := s.DB.NewSelect().Model(check).Scan(ctx); err != nil {
		return nil, store.TranslateError(fmt.Errorf("read the full check: %w", err))
	}
	if check.LastCheckedID != nil {
		return check, nil
	}
	now, err := s.ReadClock(ctx)
	if err != nil {
		return nil, store.TranslateError(fmt.Errorf("read clock: %w", err))
	}
	// The hour is real time; a shifted clock can only make a check early.
	due := func(i Invariant) bool {
		return i.LastFullCheckAt == nil || now.Sub(*i.LastFullCheckAt) >= fullCheckEvery || now.Before(*i.LastFullCheckAt)
	}
	if !slices.ContainsFunc(invariants, due) {
		return nil, nil //nolint:nilnil // nothing is due
	}
	check.LastCheckedID, check.StartedAt, check.FailedInvariants = &uuid.Nil, &now, []string{}
	return check, nil
}

// checkFullSlice checks every invariant for the next slice. After a timeout it repeats
// the slice in a smaller size; an invariant that fails at the smallest size is left out
// of this full check.
func (s *Service) checkFullSlice(ctx context.Context, check *fullCheckRow, invariants []Invariant, takeTurn turnTaker) (spent time.Duration, done bool, err error) {
	last, err := s.findSliceEnd(ctx, check)
	if err != nil {
		return 0, false, err
	}
	scope := checkScope{after: *check.LastCheckedID, last: last}
	slowest, size := time.Duration(0), check.SliceSize
	results := make([]checkResult, 0, len(invariants))
	failed := slices.Clone(check.FailedInvariants)
	for n := range invariants {
		i := &invariants[n]
		found, took, checkErr := findViolations(ctx, s.Store, i.Name, scope, takeTurn)
		spent, slowest = spent+took, max(slowest, took)
		switch {
		case checkErr == nil:
			results = append(results, checkResult{name: i.Name, scopes: []checkScope{scope}, found: found, took: took, violations: i.Violations})
			i.Violations += len(found)
			continue
		case ctx.Err() != nil:
			return spent, false, checkErr
		case size > minFullSlice:
			check.SliceSize = max(minFullSlice, size/4)
			return spent, false, cmp.Or(s.saveFullCheck(ctx, check, *check.LastCheckedID, nil), fmt.Errorf("check all of %s: %w", i.Name, checkErr))
		}
		err = fmt.Errorf("check all of %s: %w", i.Name, checkErr)
		if !slices.Contains(failed, i.Name) {
			failed = append(failed, i.Name)
		}
	}
	switch {
	case slowest > 2*fullSliceGoal:
		check.SliceSize = max(minFullSlice, size/2)
	case slowest < fullSliceGoal/2:
		check.SliceSize = min(maxFullSlice, size*2)
	}
	check.FailedInvariants = failed
	return spent, last == uuid.Max, cmp.Or(s.saveFullCheck(ctx, check, last, results), err)
}

// findSliceEnd returns the last id of the next slice, such that no table has more than
// the slice size of rows in it.
func (s *Service) findSliceEnd(ctx context.Context, check *fullCheckRow) (last uuid.UUID, err error) {
	const next = "(select id from %s where id > ?0 order by id offset ?1 limit 1)"
	query := ""
	for _, table := range []string{"quotes", "policies", "claims", "payouts", "payout_methods", "events"} {
		query += " union all " + fmt.Sprintf(next, table)
	}
	err = s.DB.NewRaw("select coalesce((select id from (select ?2::uuid as id"+query+") as next order by id limit 1), ?2)",
		*check.LastCheckedID, check.SliceSize-1, uuid.Max).Scan(ctx, &last)
	if err != nil {
		return last, store.TranslateError(fmt.Errorf("find the end of a slice: %w", err))
	}
	return last, nil
}

// saveFullCheck saves the result of a slice and the progress of the check, unless another
// process has already moved it. At the end it sets the time of the full check to its
// start, for every invariant that did not fail.
func (s *Service) saveFullCheck(ctx context.Context, check *fullCheckRow, last uuid.UUID, results []checkResult) error {
	return s.InTx(ctx, actor.System(), func(ctx context.Context, tx *store.Tx) error {
		next := *check
		if next.LastCheckedID = &last; last == uuid.Max {
			next.LastCheckedID = nil
		}
		moved, err := tx.NewUpdate().Model(&next).Column("last_checked_id", "started_at", "slice_size", "failed_invariants").WherePK().
			Where("coalesce(last_checked_id, ?) = ?", uuid.Nil, *check.LastCheckedID).Exec(ctx)
		if err != nil {
			return fmt.Errorf("save the full check: %w", err)
		}
		if n, err := moved.RowsAffected(); err != nil || n == 0 {
			return err
		}
		for i := range results {
			if err := saveViolations(ctx, tx, &results[i]); err != nil {
				return err
			}
		}
		if last != uuid.Max {
			return nil
		}
		_, err = tx.NewRaw("update invariant_checks set last_full_check_at = ? where name <> all(?::text[])", *check.StartedAt, pgdialect.Array(check.FailedInvariants)).Exec(ctx)
		return err
	})
}
