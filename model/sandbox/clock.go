package sandbox

import (
	"context"
	"fmt"
	"time"

	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

const (
	// maxClockShift bounds how far the clock may be ahead of real time.
	maxClockShift = 5 * 366 * 24 * time.Hour
	// maxClockStep is the longest step of the clock, so that partitions exist ahead of it.
	maxClockStep = 31 * 24 * time.Hour
)

// ClockRequest moves the clock: exactly one member is set.
type ClockRequest struct {
	To *time.Time `json:"to,omitzero"`
	By *string    `json:"by,omitzero"` // ISO 8601, P30D
}

// MoveClock starts a run that moves the business clock forward: it stops at every instant at
// which something is due, does that work, and goes on. Errors: not_found without a sandbox,
// validation_failed, insufficient_scope when the clock is shared and only operators move it,
// state_conflict while another run moves the clock.
func (s *Service) MoveClock(ctx context.Context, caller actor.Actor, in ClockRequest) (*wire.SandboxRun, error) {
	if err := s.authorize(ctx, caller, caller.ScopeForOwnRecords(actor.ScopeClaimsWrite)); err != nil {
		return nil, err
	}
	v := apperr.NewValidator(ctx)
	v.Require((in.To == nil) != (in.By == nil), "", "value", `Give either to, a time such as 2027-06-01T00:00:00Z, or by, a duration such as P30D.`)
	if err := v.Err(); err != nil {
		return nil, err
	}
	if movable, err := occurrence.MayMoveClock(ctx, s.Store, s.DB, caller); err != nil || !movable {
		return nil, or(err, "The clock of this server is shared by several partners, so only operators move it, unless PARAPET_REHEARSAL_CLOCK is partner.")
	}
	return s.start(ctx, caller, func(ctx context.Context, tx *store.Tx) (*Run, error) {
		to, err := in.target(ctx, tx)
		if err != nil {
			return nil, err
		}
		return &Run{Kind: KindClock, Result: Result{Clock: &wire.SandboxClockRun{From: tx.Clock, To: to, ReachedAt: tx.Clock}}}, nil
	})
}

// or returns an error of the database, or insufficient_scope.
func or(err error, detail string) error {
	if err != nil {
		return err
	}
	return apperr.Fail(apperr.CodeInsufficientScope, "%s", detail)
}

// target returns the time that is asked for. It must be later than now, and at most
// maxClockShift ahead of real time.
func (in *ClockRequest) target(ctx context.Context, tx *store.Tx) (to time.Time, err error) {
	pointer := "/to"
	if in.By != nil {
		pointer = "/by"
		if to, err = trigger.AddDuration(tx.Clock, *in.By); err != nil {
			return to, apperr.Invalid(apperr.NewFieldError(pointer, "format", "Use an ISO 8601 duration such as P30D or PT12H."))
		}
	} else {
		to = in.To.UTC().Truncate(time.Microsecond)
	}
	var real time.Time
	if err := tx.NewRaw("select clock_timestamp()").Scan(ctx, &real); err != nil {
		return to, fmt.Errorf("read the database's clock: %w", err)
	}
	latest := real.UTC().Add(maxClockShift)
	if !to.After(tx.Clock) || to.After(latest) {
		return to, apperr.Invalid(apperr.NewFieldError(pointer, "value", fmt.Sprintf("The clock never goes back, and is at most five years ahead of the real time: use a time after %s and until %s.",
			tx.Clock.UTC().Format(time.RFC3339), latest.Format(time.RFC3339))))
	}
	return to, nil
}

// GetClock returns the business clock, which all partners of the server share.
func (s *Service) GetClock(ctx context.Context, caller actor.Actor) (*wire.SandboxClock, error) {
	if err := s.authorize(ctx, caller, actor.ScopeClaimsRead); err != nil {
		return nil, err
	}
	clock, run := new(wire.SandboxClock), new(Run)
	if err := s.Pool.QueryRow(ctx, "select clock_timestamp(), clock_timestamp() + offset_interval from clock").Scan(&clock.RealTime, &clock.Now); err != nil {
		return nil, store.TranslateError(err)
	}
	err := s.DB.NewSelect().Model(run).Where("sr.kind = ?", KindClock).Where("sr.status = ?", Running).Scan(ctx)
	switch clock.Moving = err == nil; {
	case err != nil && !store.IsNoRows(err):
		return nil, store.TranslateError(err)
	case err == nil && (caller.Kind != actor.KindPartner || caller.Partner == run.Partner):
		clock.RunID = new(run.ID())
	}
	clock.Movable, err = occurrence.MayMoveClock(ctx, s.Store, s.DB, caller)
	return clock, err
}

// nextDueSQL returns the next instant after $1 at which the sweep has work. A payout is
// requeued half a minute after its next attempt was due, or eight seconds if it is at the
// rail.
const nextDueSQL = `select min(at) from (
	select min(expires_at) as at from quotes where status = 'priced' and expires_at > ?0
	union all select min(expires_at) from policies where status = 'active' and expires_at > ?0
	union all select min(reportable_until) from policies where status in ('exhausted', 'expired', 'cancelled') and reportable_until > ?0
	union all select min(x.at) from (select (date_trunc('month', ?0::timestamptz at time zone 'UTC') + days) at time zone 'UTC' as at
		from (values (interval '10 days'), (interval '20 days'), (interval '1 month')) as ends (days)) x where x.at > ?0 and exists (select from policies where definition in ('month', 'dekad') and status = 'active')
	union all select min(next_review_at) from claims where status = 'deferred' and next_review_at > ?0
	union all select min(next_attempt_at) + interval '31 seconds' from payouts where status = 'pending' and next_attempt_at > ?0::timestamptz - interval '31 seconds'
	union all select min(next_attempt_at) + interval '8 seconds' from payouts where status in ('releasing', 'reconciling') and next_attempt_at > ?0::timestamptz - interval '8 seconds'
) due`

// StepClock moves the clock of a run to the next due instant, at most a month, or to the
// run's end, and marks the run as done when the clock has passed that. The caller has done
// the work that was due before. System only.
func (s *Service) StepClock(ctx context.Context, run *Run) error {
	return s.InTx(ctx, actor.System(), func(ctx context.Context, tx *store.Tx) error {
		move := *run.Result.Clock
		if run.Result.Clock = &move; !tx.Clock.Before(move.To) {
			run.Status, run.Progress = Done, 100
			return saveRun(ctx, tx, run)
		}
		var due *time.Time
		if err := tx.NewRaw(nextDueSQL, tx.Clock).Scan(ctx, &due); err != nil {
			return fmt.Errorf("find what is due: %w", err)
		}
		at := store.EarlierTime(move.To, tx.Clock.Add(maxClockStep))
		if due != nil {
			at = store.EarlierTime(at, due.UTC())
		}
		if err := occurrence.AdvanceClock(ctx, tx, at); err != nil {
			return err
		}
		move.ReachedAt = at
		move.Steps++
		run.Progress = min(99, max(run.Progress, int(100*at.Sub(move.From)/move.To.Sub(move.From))))
		return saveRun(ctx, tx, run)
	})
}
