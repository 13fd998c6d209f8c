package model

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
)

// Bounds of the check of all records. It walks over all ids in order, slice by slice;
// the ids of a record and of its events are of about the same time, so a slice is
// records with their events. The next run goes on where this one ended.
const (
	fullCheckEvery  = time.Hour
	fullCheckBudget = 30 * time.Second // of statements, in one run
	maxFullSlice    = 20_000           // rows of one table
	minFullSlice    = 100
	fullSliceGoal   = time.Second // of the slowest statement
)

// fullCheckRow is how far the check of all records has come. Position is nil when none
// is running.
type fullCheckRow struct {
	bun.BaseModel `bun:"table:invariant_full_check,alias:fc"`

	OnlyRow   bool `bun:",pk"`
	Position  *uuid.UUID
	StartedAt *time.Time
	SliceSize int
	Failed    []string `bun:",array"` // invariants that could not be checked everywhere
}

// continueFullCheck checks the next slices of all records, and begins again when the
// last check of all is an hour old.
func (s *Service) continueFullCheck(ctx context.Context, invariants []Invariant) error {
	var failed error
	for spent := time.Duration(0); spent < fullCheckBudget; {
		check, err := s.openFullCheck(ctx, invariants)
		if err != nil || check == nil {
			return firstError(err, failed)
		}
		took, done, err := s.checkFullSlice(ctx, check, invariants)
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

// openFullCheck reads how far the check of all records has come, and begins one when it
// is due. It returns nil when nothing is to be done.
func (s *Service) openFullCheck(ctx context.Context, invariants []Invariant) (*fullCheckRow, error) {
	check := new(fullCheckRow)
	if err := s.db.NewSelect().Model(check).Scan(ctx); err != nil {
		return nil, translateError(fmt.Errorf("read the full check: %w", err))
	}
	if check.Position != nil {
		return check, nil
	}
	now, err := s.readClock(ctx)
	if err != nil {
		return nil, translateError(fmt.Errorf("read clock: %w", err))
	}
	// The hour is real time; a shifted clock only makes a check early.
	due := func(i Invariant) bool {
		return i.WholeCheckedAt == nil || now.Sub(*i.WholeCheckedAt) >= fullCheckEvery || now.Before(*i.WholeCheckedAt)
	}
	if !slices.ContainsFunc(invariants, due) {
		return nil, nil //nolint:nilnil // nothing is due
	}
	check.Position, check.StartedAt, check.Failed = &uuid.Nil, &now, []string{}
	return check, nil
}

// checkFullSlice checks every invariant of the next slice. Where one did not answer in
// its time, the same slice is checked again in smaller parts; what fails at the smallest
// is left out of this check of all.
func (s *Service) checkFullSlice(ctx context.Context, check *fullCheckRow, invariants []Invariant) (spent time.Duration, done bool, err error) {
	last, err := s.findSliceEnd(ctx, check)
	if err != nil {
		return 0, false, err
	}
	scope := checkScope{after: *check.Position, last: last}
	slowest, size := time.Duration(0), check.SliceSize
	results := make([]checkResult, 0, len(invariants))
	failed := slices.Clone(check.Failed)
	for n := range invariants {
		i := &invariants[n]
		found, took, checkErr := s.findViolations(ctx, i.Name, scope)
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
			return spent, false, firstError(s.saveFullCheck(ctx, check, *check.Position, nil), fmt.Errorf("check all of %s: %w", i.Name, checkErr))
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
	check.Failed = failed
	return spent, last == uuid.Max, firstError(s.saveFullCheck(ctx, check, last, results), err)
}

// findSliceEnd returns the last id of the next slice: no table has more rows in it than
// the slice may have.
func (s *Service) findSliceEnd(ctx context.Context, check *fullCheckRow) (last uuid.UUID, err error) {
	const next = "(select id from %s where id > ?0 order by id offset ?1 limit 1)"
	query := ""
	for _, table := range []string{"quotes", "policies", "claims", "payouts", "payout_methods", "events"} {
		query += " union all " + fmt.Sprintf(next, table)
	}
	err = s.db.NewRaw("select coalesce((select id from (select ?2::uuid as id"+query+") as next order by id limit 1), ?2)",
		*check.Position, check.SliceSize-1, uuid.Max).Scan(ctx, &last)
	if err != nil {
		return last, translateError(fmt.Errorf("find the end of a slice: %w", err))
	}
	return last, nil
}

// saveFullCheck writes what a slice found and how far the check has come, unless
// another process was faster. At the end every invariant that was checked everywhere
// has been so since the check began.
func (s *Service) saveFullCheck(ctx context.Context, check *fullCheckRow, last uuid.UUID, results []checkResult) error {
	return s.InTx(ctx, System(), func(ctx context.Context, tx *Tx) error {
		next := *check
		if next.Position = &last; last == uuid.Max {
			next.Position = nil
		}
		moved, err := tx.NewUpdate().Model(&next).Column("position", "started_at", "slice_size", "failed").WherePK().
			Where("coalesce(position, ?) = ?", uuid.Nil, *check.Position).Exec(ctx)
		if err != nil {
			return fmt.Errorf("save the full check: %w", err)
		}
		if n, err := moved.RowsAffected(); err != nil || n == 0 {
			return err
		}
		for i := range results {
			if err := tx.saveViolations(ctx, &results[i]); err != nil {
				return err
			}
		}
		if last != uuid.Max {
			return nil
		}
		_, err = tx.NewRaw("update invariant_checks set whole_at = ? where name <> all(?::text[])", *check.StartedAt, pgdialect.Array(check.Failed)).Exec(ctx)
		return err
	})
}
