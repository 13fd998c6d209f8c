package jobs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"parapet/jobs/feed"
	"parapet/jobs/rail"
	"parapet/jobs/webhook"
	"parapet/model"
	"parapet/model/hazard"
	"parapet/model/insight/progress"
	"parapet/model/kernel/apperr"
	"parapet/model/sandbox"
	"parapet/model/wire"
)

const (
	sandboxIdle = 500 * time.Millisecond // between two looks for runs and reports
	sandboxWait = 50 * time.Millisecond  // until a run looks again whether jobs have ended
	// maxStepLooks is how often the clock looks whether the jobs of a step have ended, for
	// about half a minute: a server that others use is never idle, and a receiver may hang.
	maxStepLooks = 600
	// sandboxLock is the advisory lock of the process that works: "sand" in hexadecimal.
	sandboxLock int64 = 0x73616e64
)

// sandboxWorker does the work of sandbox runs and makes the simulated rail's reports, on
// rehearsal servers. It is a background loop: one process works, and another one continues
// after its end, because every step is saved.
type sandboxWorker struct {
	service *model.Service
	pool    *pgxpool.Pool
	rail    rail.Rail
	sender  *webhook.Sender
	// settleAfter is how long after a payment the simulator reports it; 0: the report of its
	// day does.
	settleAfter time.Duration

	looks map[string]int // how often a run has looked for the jobs of its step
}

// newSandboxWorker returns nil on a server that refuses rehearsals.
func (c Config) newSandboxWorker() *sandboxWorker {
	if !c.Service.Development {
		return nil
	}
	return &sandboxWorker{service: c.Service, pool: c.Pool, rail: c.Rail, sender: c.Sender, settleAfter: c.SettleAfter, looks: map[string]int{}}
}

// pass does one step of every run. It returns how long to wait before the next pass.
func (w *sandboxWorker) pass(ctx context.Context) (time.Duration, error) {
	conn, err := w.pool.Acquire(ctx)
	if err != nil {
		return 0, fmt.Errorf("connect: %w", err)
	}
	defer conn.Release()
	var alone bool
	if err := conn.QueryRow(ctx, "select pg_try_advisory_lock($1)", sandboxLock).Scan(&alone); err != nil || !alone {
		return sandboxIdle, err
	}
	defer func() {
		_, _ = conn.Exec(context.WithoutCancel(ctx), "select pg_advisory_unlock($1)", sandboxLock)
	}()
	if err := w.reportTransfers(ctx); err != nil {
		return 0, err
	}
	running, err := w.service.Sandbox.ListRunning(ctx)
	if err != nil || len(running) == 0 {
		return sandboxIdle, err
	}
	for _, run := range running {
		err = errors.Join(err, w.step(ctx, run))
	}
	return sandboxWait, err
}

// step does one step of a run. An error that the caller can act on ends the run.
func (w *sandboxWorker) step(ctx context.Context, run *sandbox.Run) (err error) {
	switch run.Kind {
	case sandbox.KindClock:
		err = w.stepClock(ctx, run)
	case sandbox.KindReplay:
		err = w.stepReplay(ctx, run)
	case sandbox.KindReset:
		err = w.stepReset(ctx, run)
	case sandbox.KindSignature:
		err = w.sendBadSignature(ctx, run)
	}
	var refused *apperr.Error
	if !errors.As(err, &refused) || refused.Code == apperr.CodeVersionMismatch {
		return err
	}
	run.Status, run.Error = sandbox.Failed, new(refused.Error())
	return w.service.Sandbox.SaveRun(ctx, run)
}

// settlingKinds are the jobs that a step of the clock waits for.
var settlingKinds = []string{"evaluate_occurrences", "evaluate_policies", "decide_slices", "verify_payout_method", "reevaluate_payouts", "release_payout", "release_batch", "deliver_endpoint"}

// stepClock does what is due, and moves the clock on when the jobs of that have ended.
func (w *sandboxWorker) stepClock(ctx context.Context, run *sandbox.Run) error {
	if err := w.service.Operations.Sweep(ctx); err != nil {
		return err
	}
	var left int
	err := w.pool.QueryRow(ctx, "select count(*) from "+jobTable+` where kind = any($1)
		and (state in ('available', 'running') or state in ('scheduled', 'retryable') and scheduled_at < now() + interval '1 second')`, settlingKinds).Scan(&left)
	if err != nil {
		return fmt.Errorf("count jobs: %w", err)
	}
	if left > 0 && w.looks[run.ID()] < maxStepLooks {
		w.looks[run.ID()]++
		return nil
	}
	delete(w.looks, run.ID())
	return w.service.Sandbox.StepClock(ctx, run)
}

// stepReplay records the event once, and follows it until every policy is decided.
func (w *sandboxWorker) stepReplay(ctx context.Context, run *sandbox.Run) error {
	if result := run.Result.Replay; result.Observations == 0 {
		if err := w.recordReplay(ctx, run); err != nil {
			return err
		}
		run.Progress = 50
		return w.service.Sandbox.SaveRun(ctx, run)
	}
	found, err := w.service.Progress.ByID(ctx, run.Actor(), run.Result.Replay.OccurrenceIDs)
	if err != nil {
		return err
	}
	candidates, decided, complete := int64(0), int64(0), true
	for _, each := range found {
		candidates, decided = candidates+each.Candidates, decided+each.Decided
		complete = complete && each.Status == string(progress.Complete)
	}
	was := run.Progress
	if run.Progress = 50; candidates > 0 {
		run.Progress += int(49 * decided / candidates)
	}
	if complete {
		run.Status, run.Progress = sandbox.Done, 100
	}
	if run.Progress == was {
		return nil
	}
	return w.service.Sandbox.SaveRun(ctx, run)
}

// recordReplay records the observations of a replay. Recording them again after a restart
// changes nothing.
func (w *sandboxWorker) recordReplay(ctx context.Context, run *sandbox.Run) error {
	var past []wire.ObservationInput
	if run.Upload != nil {
		batch, err := feed.Parse(run.Request.Replay.Upload.Source, strings.NewReader(*run.Upload))
		if err != nil || len(batch.Errors) > 0 {
			return apperr.Fail(apperr.CodeValidationFailed, "The file is not in the format of the source: %s", firstFault(batch.Errors, err))
		}
		past = batch.Observations
	}
	observations, err := w.service.Sandbox.ReplayedObservations(run, past)
	if err != nil {
		return err
	}
	record := w.service.Occurrences.RecordObservations
	if observations[0].Kind.IsFix() {
		record = w.service.Occurrences.RecordFinalTrack
	}
	results, err := record(ctx, run.Actor(), observations, true)
	if err != nil {
		return err
	}
	for i, result := range results {
		if len(result.Errors) > 0 {
			return apperr.Fail(apperr.CodeValidationFailed, "Observation %d of %s was rejected: %s", i+1, observations[i].SourceEventID, result.Errors[0].Detail)
		}
	}
	run.Result.Replay.OccurrenceIDs, err = w.service.Sandbox.FindReplayed(ctx, run.Partner, observations)
	return err
}

func firstFault(faults []hazard.RowError, err error) string {
	if err == nil {
		err = faults[0]
	}
	return err.Error()
}
