package adjudication

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/claims/matching"
	"parapet/model/dbconn"
	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/pacing"
	"parapet/model/kernel/store"
)

// These are how many policies one transaction decides: enough for few statements, which
// BenchmarkStorm/Decide of make bench/storm measures, and few enough for short locks.
// Requests have to wait while the log of a slice is written: while the process answers
// any, it writes small slices, which BenchmarkStorm/Pay/Quotes measures. An event is
// decided within minutes, so most of its slices meet the load for which they were written.
const (
	MatchBatchSize     = 1000
	matchBatchSizeBusy = 400
)

// DecideSlices decides slices of any occurrences until none is due. Worker distinguishes
// the jobs that may run at the same time: a queue holds one unfinished job for each.
type DecideSlices struct {
	Worker int `json:"worker"`
}

// Kind is the job's stable name.
func (DecideSlices) Kind() string { return "decide_slices" }

// maxSliceJobs is how many DecideSlices jobs may be unfinished, and so how many slices all
// processes decide at the same time: enough for 32 processes, which work three jobs each.
const maxSliceJobs = 96

// enqueueSliceJobs enqueues a DecideSlices job for each of a number of due slices. The queue
// ignores those that it holds already.
func enqueueSliceJobs(tx *store.Tx, due int) {
	for i := range min(due, maxSliceJobs) {
		tx.EnqueueJob(DecideSlices{Worker: i})
	}
}

// sliceRetention is how long done slices are kept: longer than any second pass, which
// leaves out their policies, can wait.
const sliceRetention = 24 * time.Hour

// SweepSlices enqueues jobs for due slices that no worker has locked and for lost passes,
// deletes old slices that are done, and returns how many it deleted. It enqueues as many
// jobs as may run: the queue may still hold those of dead processes, which decide nothing.
func SweepSlices(ctx context.Context, tx *store.Tx) (int, error) {
	due, err := lockNextSlice(ctx, tx, nil)
	if err != nil {
		return 0, err
	}
	if due != nil {
		enqueueSliceJobs(tx, maxSliceJobs)
	}
	if err := cmp.Or(matching.EnqueueLostPasses(ctx, tx), matching.Complete(ctx, tx, nil)); err != nil {
		return 0, err
	}
	deleted, err := tx.NewRaw(`delete from matching_slices where ctid = any (array(select ctid from matching_slices
		where done_at < ? limit ? for update skip locked))`, tx.Clock.Add(-sliceRetention), store.SweepBatchSize).Exec(ctx)
	if err != nil {
		return 0, fmt.Errorf("delete old slices: %w", err)
	}
	gone, err := deleted.RowsAffected()
	return int(gone), err
}

// slicesPerTurn is how many slices a DecideSlices job decides before it lets other jobs
// run.
const slicesPerTurn = 20

// sliceTime is how much of its time a DecideSlices job must have left to begin a slice. The
// decisions of a slice that outlasts its job are lost.
const sliceTime = 15 * time.Second

// DecideSlices decides due slices, those of small events first, one in each turn of bulk
// work. It reports whether there may be more.
func (s *Service) DecideSlices(ctx context.Context) (more bool, err error) {
	for range slicesPerTurn {
		found, err := s.decideInTurn(ctx, nil)
		switch {
		case errors.Is(err, pacing.ErrBusy):
			return true, nil
		case err != nil || !found:
			return false, err
		}
	}
	return true, nil
}

// decideInTurn is decideNextSlice in a turn of bulk work. Errors: pacing.ErrBusy if none
// is free, or if too little time is left after it.
func (s *Service) decideInTurn(ctx context.Context, occurrences []uuid.UUID) (found bool, err error) {
	leave, err := s.Bulk.Enter(ctx)
	if err != nil {
		return false, err
	}
	defer leave()
	if deadline, limited := ctx.Deadline(); limited && deadline.Sub(s.Bulk.Time()) < sliceTime {
		return false, pacing.ErrBusy
	}
	return s.decideNextSlice(ctx, occurrences)
}

// decideNextSlice decides the next due slice of the given occurrences, or of any; false
// if there is none. A failure that the database causes is returned, and so is the end of
// the process. Any other failure, also that of a slice that takes too long, is recorded in
// the slice, and delays no other slice.
func (s *Service) decideNextSlice(ctx context.Context, occurrences []uuid.UUID) (found bool, err error) {
	slice, err := s.lockAndDecide(ctx, occurrences)
	tookTooLong := errors.Is(ctx.Err(), context.DeadlineExceeded) || ctx.Err() == nil && dbconn.IsCancelledStatement(err)
	switch {
	case slice == nil || errors.Is(ctx.Err(), context.Canceled):
		return false, err
	case err != nil && !tookTooLong && apperr.CodeOf(err) == apperr.CodeUnavailable && !dbconn.IsRetryable(err):
		return false, err
	case err != nil:
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordFailureTimeout)
		defer cancel()
		return true, s.recordFailure(ctx, slice, err)
	default:
		return true, s.InTx(ctx, actor.System(), func(ctx context.Context, tx *store.Tx) error {
			return matching.Complete(ctx, tx, []uuid.UUID{slice.OccurrenceID})
		})
	}
}

// lockAndDecide locks and decides the next due slice in a transaction. It returns the
// slice also when it fails or panics, and nil if none is due.
func (s *Service) lockAndDecide(ctx context.Context, occurrences []uuid.UUID) (slice *matching.SliceRow, err error) {
	defer recoverPanic(&err)
	err = s.InTx(ctx, actor.System(), func(ctx context.Context, tx *store.Tx) (err error) {
		if slice, err = lockNextSlice(ctx, tx, occurrences); err != nil || slice == nil {
			return err
		}
		return decideSlice(ctx, tx, slice)
	})
	return slice, err
}

// recoverPanic is deferred. It converts a panic into an error, so that a rule that panics
// for one policy fails like any other error of that policy.
func recoverPanic(err *error) {
	if cause := recover(); cause != nil {
		*err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
	}
}

// lockNextSlice locks the next due slice that no other transaction has locked; nil if
// there is none.
func lockNextSlice(ctx context.Context, tx *store.Tx, occurrences []uuid.UUID) (*matching.SliceRow, error) {
	var due []matching.SliceRow
	q := selectDueSlices(tx, &due)
	if occurrences != nil {
		q = q.Where("ms.occurrence_id in (?)", bun.List(occurrences))
	}
	if err := store.LockBatch(q, 1).Scan(ctx); err != nil {
		return nil, fmt.Errorf("lock a slice: %w", err)
	}
	if len(due) == 0 {
		return nil, nil
	}
	return &due[0], nil
}

// selectDueSlices selects due slices in the order in which they are decided.
func selectDueSlices(tx *store.Tx, rows *[]matching.SliceRow) *bun.SelectQuery {
	return tx.NewSelect().Model(rows).Where("ms.done_at is null").Where("ms.due_at <= ?", tx.Clock).
		OrderExpr("ms.candidates, ms.occurrence_id, ms.version, ms.number")
}

// decideSlice decides the policies of a locked slice that the occurrence affects. It
// reads the occurrence under a lock: it may have been revised or merged since the slice
// was written.
func decideSlice(ctx context.Context, tx *store.Tx, slice *matching.SliceRow) error {
	if err := occurrence.LockSourceShared(ctx, tx, slice.OccurrenceID); err != nil {
		return err
	}
	occ, facts, err := lockOccurrence(ctx, tx, slice.OccurrenceID)
	if err != nil {
		return err
	}
	hits, covers, reached, err := findDecidable(ctx, tx, occ, facts, slice.Policies)
	if err != nil {
		return err
	}
	if err := reached.Save(ctx, tx, slice.OccurrenceID, slice.Version, slice.Number); err != nil {
		return err
	}
	if len(hits) > 0 {
		if err := adjudicatePolicies(ctx, tx, occ, facts, hits, covers); err != nil {
			return fmt.Errorf("decide %s %s: %w", occ.Source, occ.SourceEventID, err)
		}
	}
	slice.DoneAt, slice.Error = &tx.Clock, nil
	_, err = tx.NewUpdate().Model(slice).Column("done_at", "error").WherePK().Exec(ctx)
	return err
}

// These constants govern slices that fail. A slice that fails UndecidableAfter times is
// halved, and so is each half that fails once, until one policy is left. That policy is
// attempted again after growing delays, and HealthStats counts it.
const (
	UndecidableAfter  = 3
	sliceRetryDelay   = time.Second
	isolatedPolicyGap = 15 * time.Minute // the longest delay

	recordFailureTimeout = 5 * time.Second // of the transaction that records a failure
)

// recordFailure records that a slice failed and when it is attempted again, and halves it
// when it has failed too often.
func (s *Service) recordFailure(ctx context.Context, failed *matching.SliceRow, cause error) error {
	return s.InTx(ctx, actor.System(), func(ctx context.Context, tx *store.Tx) error {
		slice := new(matching.SliceRow)
		err := tx.NewSelect().Model(slice).Where("occurrence_id = ?", failed.OccurrenceID).Where("version = ?", failed.Version).Where("number = ?", failed.Number).
			Where("attempts = ?", failed.Attempts).Where("done_at is null").For("UPDATE").Scan(ctx)
		if store.IsNoRows(err) { // another worker decided or changed it since
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the failed slice: %w", err)
		}
		slice.Attempts++
		slice.Error = new(cause.Error())
		slice.DueAt = tx.Clock.Add(min(sliceRetryDelay<<min(slice.Attempts-1, 16), isolatedPolicyGap))
		if slice.Attempts >= UndecidableAfter && len(slice.Policies) > 1 {
			if err := halveSlice(ctx, tx, slice); err != nil {
				return err
			}
		}
		_, err = tx.NewUpdate().Model(slice).Column("policies", "attempts", "error", "due_at").WherePK().Exec(ctx)
		return err
	})
}

// halveSlice moves the second half of the policies to a new slice. Both are due at once
// and are halved again at the next failure.
func halveSlice(ctx context.Context, tx *store.Tx, slice *matching.SliceRow) error {
	half := len(slice.Policies) / 2
	second := *slice
	second.Policies = slice.Policies[half:]
	slice.Policies = slice.Policies[:half]
	slice.Attempts, slice.DueAt = UndecidableAfter-1, tx.Clock
	second.Attempts, second.DueAt = slice.Attempts, slice.DueAt
	row := &matching.Row{OccurrenceID: slice.OccurrenceID, Version: slice.Version, StartedAt: tx.Clock}
	row.Expect("", tx.Clock)
	if err := matching.Lock(ctx, tx, []*matching.Row{row}); err != nil {
		return err
	}
	last, err := matching.LastSliceNumber(ctx, tx, slice.OccurrenceID, slice.Version)
	if err != nil {
		return err
	}
	second.Number = last + 1
	if _, err = tx.NewInsert().Model(&second).Exec(ctx); err != nil {
		return fmt.Errorf("write the second half: %w", err)
	}
	return matching.MoveFigures(ctx, tx, *slice, second)
}
