package model

import (
	"context"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"parapet/model/hazard"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
)

// Config holds the dependencies and settings of the domain layer.
type Config struct {
	DB      *store.Database
	Queue   store.JobQueue  // enqueues the jobs of a change
	Jobs    JobAdmin        // queue administration for operators; nil disables it
	Files   store.FileStore // stores attachments
	Keys    store.Keys      // for bank details, cursors and fingerprints
	History *hazard.History // events for pricing; nil means the shipped history
	// Development allows rehearsals, which a production server must refuse: sandbox
	// observations and replayed history.
	Development bool
	// RehearsalClock lets rehearsed days at a station move the business clock, which
	// all partners share.
	RehearsalClock bool
	Webhooks       Webhooks
	// Sleep waits between two polls of running sends; nil uses the real clock.
	Sleep func(context.Context, time.Duration) error
	// ResumeCheckTimeout is how long ResumeReleases waits for the invariant check
	// before it leaves the check to the run; zero means two seconds.
	ResumeCheckTimeout time.Duration
	// BatchRelease states that the rail accepts batches: one ReleaseBatch replaces a
	// ReleasePayout per payout.
	BatchRelease bool
}

// Webhooks configures the sending of events to partners' endpoints.
type Webhooks struct {
	// TargetProblem returns why an address must not be called, empty if it may be; nil
	// accepts every address.
	TargetProblem func(*url.URL) string
	// DelayDivisor divides the delays between attempts in development; 0 and 1 keep
	// them.
	DelayDivisor int
}

func (w Webhooks) scaleDelay(wait time.Duration) time.Duration {
	return wait / time.Duration(max(1, w.DelayDivisor))
}

// Service is the domain layer. Every operation of REST, GraphQL, the jobs and the
// command line is one of its methods. Operations return *Error for everything a caller
// can act on; any other error is internal.
type Service struct {
	*store.Store

	jobs            JobAdmin
	history         *hazard.History
	rehearsalClock  bool
	webhooks        Webhooks
	refusalCounts   refusalLog
	registeredRails sync.Map // set of RailIdentity
	releaseSession  *sendSession
	sleep           func(context.Context, time.Duration) error

	resumeCheckTimeout time.Duration

	relayWasBusy atomic.Bool // the last pass of the relay in this process numbered events
}

// New returns the domain layer. It does not connect to the database.
func New(c Config) (*Service, error) {
	if c.Webhooks.TargetProblem == nil {
		c.Webhooks.TargetProblem = func(*url.URL) string { return "" }
	}
	if c.History == nil {
		c.History = hazard.Shipped()
	}
	if c.Sleep == nil {
		c.Sleep = sleepFor
	}
	if c.ResumeCheckTimeout == 0 {
		c.ResumeCheckTimeout = resumeCheckTimeout
	}
	kernel, err := store.New(store.Config{
		DB: c.DB, Queue: c.Queue, Files: c.Files, Keys: c.Keys, Development: c.Development,
		Hooks: store.Hooks{RequirePartner: requirePartner, LockRecord: lockRecord},
	})
	if err != nil {
		return nil, err
	}
	s := &Service{
		Store: kernel,
		jobs:  c.Jobs, history: c.History, rehearsalClock: c.RehearsalClock, webhooks: c.Webhooks,
		releaseSession: newSendSession(c.DB.Pool.Config().ConnConfig), sleep: c.Sleep, resumeCheckTimeout: c.ResumeCheckTimeout,
	}
	store.Local[relaySettings](s.Store).onSequenced = func(tx *store.Tx, partners []string, types []event.Type) func() {
		return scheduleEndpoints(tx, partners, types)
	}
	store.Local[capacitySettings](s.Store).rulesChanged = updateRecentMoratoria
	store.Local[releaseSettings](s.Store).batch = c.BatchRelease
	return s, nil
}

// MarkForRehearsals marks the database as one for rehearsals. It keeps the clock of an
// earlier run, because records must not lie in the future. Development only.
func (s *Service) MarkForRehearsals(ctx context.Context) error {
	if !s.Development {
		return apperr.Fail(apperr.CodeParameterInvalid, "A database is marked for rehearsals in development only.")
	}
	_, err := s.DB.NewRaw("update clock set is_rehearsal = true").Exec(ctx)
	return err
}

// ShiftClock shifts business time relative to the database's clock and marks the
// database as one for rehearsals. Development only: tests use it to let a year pass.
func (s *Service) ShiftClock(ctx context.Context, shift time.Duration) error {
	if !s.Development {
		return apperr.Fail(apperr.CodeParameterInvalid, "The clock can be moved in development only.")
	}
	_, err := s.DB.NewRaw("update clock set is_rehearsal = true, offset_interval = make_interval(secs => ?)", shift.Seconds()).Exec(ctx)
	return err
}

// IsRehearsal reports whether the database is marked for rehearsals by the development
// stack; its clock may be shifted. Real payments must not depend on it.
func (s *Service) IsRehearsal(ctx context.Context) (bool, error) {
	var marked bool
	err := s.DB.NewRaw("select is_rehearsal or offset_interval <> interval '0' from clock").Scan(ctx, &marked)
	return marked, store.TranslateError(err)
}
