package release

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"parapet/model/claims"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/payouts"
	"parapet/model/payouts/controls"
)

// ReleasesResumed is the result of ResumeReleases.
type ReleasesResumed struct {
	Stop       *controls.ReleaseStop // without an end while Resumption is checking
	Resumption *controls.ReleaseResumption
}

// How long a request to resume waits for the invariant check, unless Config sets it,
// and for how long a run repeats a failing check.
const (
	resumeCheckTimeout = 2 * time.Second
	resumeCheckLimit   = 10 * time.Minute
)

// ResumeReleases resumes releases. It returns a run that SweepDue processes in batches:
// checking the invariants, if that takes longer than a request may, and making waiting
// payouts due. While an invariant is violated, the run or the request is refused unless
// the operator acknowledges it: the present violations then stop nothing any more,
// later ones do. It is always refused while a report line of an unknown debt is open,
// or one with another amount, account or state since a restore: that payment may be
// about to be made again. Operators only. Errors: validation_failed, state_conflict.
func (s *Service) ResumeReleases(ctx context.Context, caller actor.Actor, in controls.ResumeRequest) (*ReleasesResumed, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, err
	}
	checked, err := s.checkChangedInTime(ctx)
	if err != nil {
		return nil, store.TranslateError(err)
	}
	var run *controls.ResumptionRow
	stop, err := controls.ChangeStop(ctx, s.Store, caller, in.Reason, func(ctx context.Context, tx *store.Tx, standing *controls.StopRow) (*controls.StopRow, error) {
		if standing == nil {
			return nil, apperr.Fail(apperr.CodeStateConflict, "Releases are not stopped.")
		}
		running, err := controls.UnfinishedResumption(ctx, tx)
		switch {
		case err != nil:
			return nil, err
		case running != nil:
			return nil, apperr.Fail(apperr.CodeStateConflict, "Releases are being resumed since %s: follow run %s.", running.StartedAt.Format(time.RFC3339), store.ResourceReleaseResumption.FormatID(running.ID))
		}
		run = &controls.ResumptionRow{ID: store.NewID(), StopID: standing.ID, State: controls.ResumptionChecking, StartedAt: tx.Now, StartedBy: caller.PersonID(), Reason: in.Reason, Acknowledge: in.Acknowledge}
		if checked {
			if err := endStop(ctx, tx, standing, run); err != nil {
				return nil, err
			}
		}
		if err := store.InsertRows(ctx, tx, run); err != nil {
			return nil, err
		}
		tx.EnqueueJob(store.SweepWork{Work: store.WorkStoppedPayouts})
		return standing, tx.StoreResponse(store.StatusOK, store.ResourceReleaseResumption.FormatID(run.ID), &ReleasesResumed{standing.ToRecord(), run.ToRecord()})
	})
	if err != nil {
		return nil, err
	}
	return &ReleasesResumed{stop, run.ToRecord()}, nil
}

// checkChangedInTime checks the invariants of recent changes; checked is false when
// that takes longer than Config.resumeCheckTimeout.
func (s *Service) checkChangedInTime(ctx context.Context) (checked bool, err error) {
	brief, cancel := context.WithTimeout(ctx, s.resumeCheckTimeout)
	defer cancel()
	err = controls.CheckChanged(brief, s.Store)
	if err != nil && ctx.Err() == nil && errors.Is(brief.Err(), context.DeadlineExceeded) {
		return false, nil
	}
	return err == nil, err
}

// endStop ends a stop for a run. All conditions that keep releases stopped are checked
// here, before any change. Errors: state_conflict.
func endStop(ctx context.Context, tx *store.Tx, stop *controls.StopRow, run *controls.ResumptionRow) error {
	if err := controls.RequireNoRestore(ctx, tx); err != nil {
		return err
	}
	if err := payouts.RequireNoDifferences(ctx, tx, stop.StoppedAt); err != nil {
		return err
	}
	unanswered, err := payouts.CountUnansweredLines(ctx, tx)
	if err != nil {
		return err
	}
	violated, err := controls.DescribeViolations(ctx, tx)
	switch {
	case err != nil:
		return err
	case unanswered > 0:
		return apperr.Fail(apperr.CodeStateConflict, "Rails report %d payments that this server does not know: find out what each of them is, and close its exception (reconciliationExceptions, closeReconciliationException).", unanswered)
	case violated != "" && !run.Acknowledge:
		return apperr.Fail(apperr.CodeStateConflict, "Invariants are violated: %s Correct the cause, or acknowledge the violations.", violated)
	case violated != "":
		_, err := tx.NewUpdate().Model((*controls.ViolationRow)(nil)).Set("acknowledged_at = ?, acknowledged_by = ?", tx.Now, run.StartedBy).
			Where("acknowledged_at is null").Exec(ctx)
		if err != nil {
			return fmt.Errorf("acknowledge violations: %w", err)
		}
	}
	stop.ResumedAt, stop.ResumedBy, stop.ResumeReason, stop.Acknowledged = &tx.Now, &run.StartedBy, &run.Reason, violated != ""
	_, err = tx.NewUpdate().Model(stop).Column("resumed_at", "resumed_by", "resume_reason", "acknowledged").WherePK().Exec(ctx)
	if err != nil {
		return fmt.Errorf("end a stop: %w", err)
	}
	err = tx.NewRaw("select count(*) from payouts po where po.status = 'pending' and po.next_attempt_at is null and not "+payouts.HasSuspectLineSQL).Scan(ctx, &run.Total)
	if err != nil {
		return fmt.Errorf("count payouts that wait: %w", err)
	}
	run.State = controls.ResumptionResuming
	return nil
}

// CheckResumption checks the invariants for a run in state checking, then ends the stop
// or refuses to. The next sweep repeats a check that fails.
func CheckResumption(ctx context.Context, s *store.Store) error {
	var waits bool
	err := s.DB.NewRaw("select exists (select from release_resumptions where finished_at is null and state = ?)", controls.ResumptionChecking).Scan(ctx, &waits)
	if err != nil || !waits {
		return err
	}
	checkErr := controls.CheckChanged(ctx, s)
	return errors.Join(checkErr, s.InTx(context.WithoutCancel(ctx), actor.System(), func(ctx context.Context, tx *store.Tx) error {
		stop, err := controls.LockActiveStop(ctx, tx)
		if err != nil || stop == nil {
			return err
		}
		run, err := controls.UnfinishedResumption(ctx, tx)
		if err != nil || run == nil || run.State != controls.ResumptionChecking {
			return err
		}
		var refused *apperr.Error
		switch {
		case checkErr == nil:
			if err := endStop(ctx, tx, stop, run); err != nil && !errors.As(err, &refused) {
				return err
			}
		case tx.Now.Sub(run.StartedAt) < resumeCheckLimit:
			return nil
		default:
			refused = apperr.Fail(apperr.CodeStateConflict, "The invariants could not be checked within ten minutes; the log of the job sweep says why.")
		}
		if refused != nil {
			run.Finish(tx.Now, controls.ResumptionRefused)
			run.Refusal = &refused.Detail
		}
		return controls.SaveResumption(ctx, tx, run)
	}))
}

// ResumePayouts makes due a batch of payouts that waited for the end of a stop, or for
// the suspect lines of their policy, and counts them in the run that ended a stop. Each
// partner gets a share of a batch.
func ResumePayouts(ctx context.Context, tx *store.Tx) (int, error) {
	run, err := controls.UnfinishedResumption(ctx, tx)
	if err != nil || run != nil && run.State != controls.ResumptionResuming {
		return 0, err
	}
	var ids []uuid.UUID
	err = tx.NewRaw(`select waiting.id from partners pt cross join lateral (
			select po.id, row_number() over (order by po.id) as place from payouts po
			where po.partner = pt.slug and po.status = 'pending' and po.next_attempt_at is null and not `+payouts.HasSuspectLineSQL+` order by po.id limit ?0) as waiting
		where not exists (select from release_stops where resumed_at is null) order by waiting.place, waiting.id limit ?0`, store.SweepBatchSize).Scan(ctx, &ids)
	if err != nil {
		return 0, fmt.Errorf("find payouts that wait: %w", err)
	}
	resumed, err := makePayoutsDue(ctx, tx, ids)
	if err != nil || run == nil {
		return len(ids), err
	}
	run.Done += resumed
	run.Total = max(run.Total, run.Done)
	if len(ids) < store.SweepBatchSize {
		run.Finish(tx.Now, controls.ResumptionCompleted)
	}
	return len(ids), controls.SaveResumption(ctx, tx, run)
}

// makePayoutsDue makes waiting payouts due; it returns their number.
func makePayoutsDue(ctx context.Context, tx *store.Tx, ids []uuid.UUID) (resumed int, err error) {
	if len(ids) == 0 {
		return 0, nil
	}
	slice, err := payouts.LockPayouts(ctx, tx, "", ids)
	if err != nil {
		return 0, err
	}
	for _, out := range slice {
		row := out.Row
		if row.Status != claims.PayoutPending || row.NextAttemptAt != nil {
			continue
		}
		row.NextAttemptAt = &tx.Now
		tx.BumpVersion(&row.RowHeader)
		if err := payouts.RecordPayoutEvent(tx, out.Claim, row, payouts.LedgerTransfer(row), event.PayoutUpdated, "Parapet sends payouts again, this one too."); err != nil {
			return 0, err
		}
		payouts.EnqueueRelease(tx, row)
		resumed++
	}
	payouts.SavePayouts(tx, slice)
	return resumed, nil
}
