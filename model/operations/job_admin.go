package operations

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"parapet/model/audit"
	"parapet/model/claims"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
)

// JobAdmin is the interface of operators to the job queue.
type JobAdmin interface {
	// Counts counts the jobs that are not done, and those discarded in the last day, by
	// queue, kind and state.
	Counts(ctx context.Context) ([]JobCount, error)
	// Failing returns the kinds of jobs that failed and wait for a retry, or failed
	// permanently.
	Failing(ctx context.Context) ([]FailingJobs, error)
	// List returns a page of jobs with ids below before, newest first; before 0 is the
	// first page.
	List(ctx context.Context, f JobFilter, before int64, most int64) ([]QueuedJob, error)
	// Count counts the jobs of a filter, up to most.
	Count(ctx context.Context, f JobFilter, most int64) (int, error)
	// Change applies a change to at most MaxJobs jobs of a filter, in the transaction
	// that is open on conn.
	Change(ctx context.Context, conn bun.Conn, change JobChange) (JobsChanged, error)
	// Queues lists the queues by name.
	Queues(ctx context.Context) ([]JobQueue, error)
	// SetPaused pauses or resumes a queue, in the transaction that is open on conn. found is
	// false when there is no such queue.
	SetPaused(ctx context.Context, conn bun.Conn, queue string, paused bool) (found bool, err error)
}

// JobCount counts the jobs of a kind in one state.
type JobCount struct {
	Queue, Kind, State string
	Count              int64
	Overdue            time.Duration // how long the oldest due one has been due
}

// FailingJobs are the failed jobs of one kind.
type FailingJobs struct {
	Kind      string
	Count     int64
	LastError string // the first line of the error
	LastAt    time.Time
}

// QueuedJob is one job. Its arguments are ids, and addresses without secrets.
type QueuedJob struct {
	ID          string
	Kind, Queue string
	State       string
	Args        []byte // JSON
	Attempt     int
	MaxAttempts int
	CreatedAt   time.Time
	ScheduledAt time.Time
	FinalizedAt *time.Time
	LastError   *string
}

// JobFilter filters jobs. Empty fields do not filter.
type JobFilter struct {
	IDs   []string
	Queue string
	Kind  string
	State string
}

// JobVerb is an operator's action on jobs.
type JobVerb string

// These are the actions.
const (
	RetryJobs  JobVerb = "retry"
	CancelJobs JobVerb = "cancel"
	SnoozeJobs JobVerb = "snooze"
)

// MaxJobs is the maximum number of jobs in one change.
const MaxJobs = 1000

// JobChange is an operator's change of jobs.
type JobChange struct {
	Verb   JobVerb
	Filter JobFilter
	Until  time.Time // for SnoozeJobs
	DryRun bool      // only count the jobs
	Reason string    // operators only
}

// JobsChanged is the result of a change of jobs.
type JobsChanged struct {
	Matched int // jobs of the filter in a state that allows the action; at most MaxJobs
	Changed int
	// Skipped counts running releases: an order that a rail may have cannot be revoked, so
	// the job stays to record its answer.
	Skipped int
}

// JobStates lists the states of a job, as River names them.
func JobStates() []string {
	return []string{"available", "cancelled", "completed", "discarded", "pending", "retryable", "running", "scheduled"}
}

func (f JobFilter) validate(v *apperr.Validator) {
	v.Require(f.State == "" || slices.Contains(JobStates(), f.State), "/filter/state", "enum", "Use one of "+claims.JoinWords(JobStates())+".")
	v.Require(len(f.IDs) <= MaxJobs, "/filter/ids", "length", fmt.Sprintf("Name at most %d jobs.", MaxJobs))
	for _, id := range f.IDs {
		n, err := strconv.ParseInt(id, 10, 64)
		v.Require(err == nil && n > 0, "/filter/ids", "format", "Use the numbers of jobs.")
	}
	v.Require(audit.IsStorableText(f.Queue) && audit.IsStorableText(f.Kind), "/filter", "format", "Use names of queues and kinds.")
}

// describe returns the filter as text for the audit log.
func (f JobFilter) describe() (all string) {
	for _, narrowed := range [][2]string{{"kind", f.Kind}, {"queue", f.Queue}, {"state", f.State}, {"ids", strings.Join(f.IDs, " ")}} {
		if narrowed[1] != "" {
			all += ", " + narrowed[0] + " " + narrowed[1]
		}
	}
	return all
}

func (s *Service) requireJobAdmin(ctx context.Context, caller actor.Actor) (JobAdmin, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, err
	}
	if s.jobs == nil {
		return nil, apperr.Fail(apperr.CodeUnavailable, "This server has no job queue.")
	}
	return s.jobs, nil
}

// JobCounts counts the jobs by queue, kind and state. Operators only.
func (s *Service) JobCounts(ctx context.Context, actor actor.Actor) ([]JobCount, error) {
	admin, err := s.requireJobAdmin(ctx, actor)
	if err != nil {
		return nil, err
	}
	return admin.Counts(ctx)
}

// FailingJobs returns the kinds of jobs that fail. Operators only.
func (s *Service) FailingJobs(ctx context.Context, actor actor.Actor) ([]FailingJobs, error) {
	admin, err := s.requireJobAdmin(ctx, actor)
	if err != nil {
		return nil, err
	}
	return admin.Failing(ctx)
}

// ListJobs returns jobs, newest first. Operators only. Errors: validation_failed,
// parameter_invalid, cursor_invalid.
func (s *Service) ListJobs(ctx context.Context, actor actor.Actor, f JobFilter, in store.PageRequest) (*store.Page[QueuedJob], error) {
	admin, err := s.requireJobAdmin(ctx, actor)
	if err != nil {
		return nil, err
	}
	v := apperr.Validator{}
	if f.validate(&v); len(v.FieldErrors) > 0 {
		return nil, apperr.Invalid(v.FieldErrors...)
	}
	p, err := s.ParsePage(actor, in, fmt.Sprintf("jobs?%q", []any{f.IDs, f.Queue, f.Kind, f.State}), store.SortNewestFirst)
	if err != nil {
		return nil, err
	}
	p.Count = func(ctx context.Context) (int, error) { return admin.Count(ctx, f, store.MaxTotal+1) }
	var before int64
	if p.After != "" {
		if before, err = strconv.ParseInt(p.After, 10, 64); err != nil {
			return nil, fmt.Errorf("cursor of jobs: %w", err)
		}
	}
	rows, err := admin.List(ctx, f, before, p.FetchLimit())
	if err != nil {
		return nil, store.TranslateError(fmt.Errorf("list jobs: %w", err))
	}
	return store.NewPage(p, rows, func(j *QueuedJob) string { return j.ID }, func(j *QueuedJob) QueuedJob { return *j })
}

// ChangeJobs retries, cancels or snoozes jobs by id or filter. No payout is lost: due
// work lives in tables; the sweep re-enqueues it. To stop a payout, block it.
func (s *Service) ChangeJobs(ctx context.Context, caller actor.Actor, in JobChange) (*JobsChanged, error) {
	admin, err := s.requireJobAdmin(ctx, caller)
	if err != nil {
		return nil, err
	}
	v := apperr.NewValidator(ctx)
	in.Filter.validate(v)
	audit.RequireNote(v, &in.Reason, "/reason")
	v.Require(len(in.Filter.IDs) > 0 || in.Filter.Queue != "" || in.Filter.Kind != "" || in.Filter.State != "", "/filter", "required", "Name jobs, a queue, a kind or a state.")
	if err := v.Err(); err != nil {
		return nil, err
	}
	done := new(JobsChanged)
	if in.DryRun {
		caller = actor.System() // a dry run changes nothing and is not audited
	}
	err = s.InTx(ctx, caller, func(ctx context.Context, tx *store.Tx) error {
		if in.Verb == SnoozeJobs && !in.Until.After(tx.Now) {
			return apperr.Invalid(apperr.NewFieldError("/until", "value", "Use a time after now."))
		}
		var err error
		if *done, err = admin.Change(ctx, tx.Conn, in); err != nil {
			return err
		}
		reason := in.Reason + " (" + strconv.Itoa(done.Changed) + " jobs" + in.Filter.describe() + ")"
		tx.Describe("", "", &reason)
		return tx.StoreResponse(store.StatusOK, "", done)
	})
	return done, err
}

// OverdueSeconds is how long the oldest due job has waited, in whole seconds.
func (c *JobCount) OverdueSeconds() int64 { return int64(c.Overdue.Seconds()) }
