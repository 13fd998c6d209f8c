package model

import (
	"context"
	"time"

	"parapet/model/audit"
	"parapet/model/claims"
	"parapet/model/claims/adjudication"
	"parapet/model/claims/challenge"
	"parapet/model/claims/measured"
	"parapet/model/events"
	"parapet/model/events/webhooks"
	"parapet/model/hazard"
	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/reports"
	"parapet/model/hazard/sources"
	"parapet/model/insight/portfolio"
	"parapet/model/insight/progress"
	"parapet/model/insight/scenario"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/dbpool"
	"parapet/model/kernel/seal"
	"parapet/model/kernel/store"
	"parapet/model/ledger"
	"parapet/model/operations"
	"parapet/model/operations/privacy"
	"parapet/model/partners"
	"parapet/model/payouts"
	"parapet/model/payouts/controls"
	"parapet/model/payouts/reconciliation"
	"parapet/model/payouts/release"
	"parapet/model/quoting"
	"parapet/model/quoting/catalog"
	"parapet/model/receipts"
	"parapet/model/receipts/receipt"
	"parapet/model/sandbox"
	"parapet/model/underwriting"
	"parapet/model/underwriting/capacity"
)

// Config holds the dependencies and settings of the domain layer.
type Config struct {
	DB      *dbpool.Database
	Queue   store.JobQueue      // enqueues the jobs of a change
	Jobs    operations.JobAdmin // queue administration for operators; nil disables it
	Files   store.FileStore     // stores attachments
	Keys    seal.Keys           // for bank details, cursors and fingerprints
	Receipt receipt.Keys        // sign receipts; without an active one, receipts are unavailable
	History *hazard.History     // events for pricing; nil means the shipped history
	// Development allows rehearsals, which a production server must refuse: sandbox
	// observations and replayed history.
	Development bool
	// RehearsalClock lets every partner move the business clock, which all share.
	RehearsalClock bool
	Webhooks       webhooks.Config
	// Sleep waits between two polls of running sends; nil uses the real clock.
	Sleep func(context.Context, time.Duration) error
	// ResumeCheckTimeout is how long ResumeReleases waits for the invariant check
	// before it leaves the check to the run; zero means two seconds.
	ResumeCheckTimeout time.Duration
	// BatchRelease states that the rail accepts batches: one ReleaseBatch replaces a
	// Release per payout.
	BatchRelease bool
	// LargestClaimsFirst decides the policies of a large event in the order of their limits.
	LargestClaimsFirst bool
}

// Service is the domain layer: one field per subdomain. REST, GraphQL, the jobs and the
// command line call the operations of these fields. Operations return *apperr.Error for
// everything that a caller can act on; any other error is internal.
type Service struct {
	*store.Store

	Audit          *audit.Service
	Partners       *partners.Service
	Events         *events.Service
	Webhooks       *webhooks.Service
	Ledger         *ledger.Service
	Products       *catalog.Service
	Quotes         *quoting.Service
	Capacity       *capacity.Service
	Policies       *underwriting.Service
	Sources        *sources.Service
	Occurrences    *occurrence.Service
	Reports        *reports.Service
	Claims         *claims.Service
	Measured       *measured.Service
	Challenges     *challenge.Service
	Adjudication   *adjudication.Service
	Payouts        *payouts.Service
	Controls       *controls.Service
	Releases       *release.Service
	Reconciliation *reconciliation.Service
	Receipts       *receipts.Service
	Progress       *progress.Service
	Scenarios      *scenario.Service
	Portfolio      *portfolio.Service
	Sandbox        *sandbox.Service
	Privacy        *privacy.Service
	Operations     *operations.Service
}

// New returns the domain layer. It does not connect to the database.
func New(c Config) (*Service, error) {
	if c.History == nil {
		c.History = hazard.Shipped()
	}
	s, err := store.New(store.Config{
		DB: c.DB, Queue: c.Queue, Files: c.Files, Keys: c.Keys, Development: c.Development,
		Hooks: store.Hooks{RequirePartner: partners.RequirePartner, LockRecord: lockRecord},
	})
	if err != nil {
		return nil, err
	}
	store.Local[events.RelaySettings](s).OnSequenced = webhooks.ScheduleEndpoints
	store.Local[capacity.Settings](s).RulesChanged = occurrence.UpdateRecentMoratoria
	store.Local[payouts.ReleaseSettings](s).Batch = c.BatchRelease
	store.Local[adjudication.MatchSettings](s).LargestFirst = c.LargestClaimsFirst
	store.Local[catalog.HistorySettings](s).Shipped = c.History
	store.Local[occurrence.RehearsalSettings](s).PartnersMoveClock = c.RehearsalClock
	return &Service{
		Store:          s,
		Audit:          audit.New(s),
		Partners:       partners.New(s),
		Events:         events.New(s),
		Webhooks:       webhooks.New(s, c.Webhooks),
		Ledger:         ledger.New(s),
		Products:       catalog.New(s),
		Quotes:         quoting.New(s),
		Capacity:       capacity.New(s),
		Policies:       underwriting.New(s),
		Sources:        sources.New(s),
		Occurrences:    occurrence.New(s),
		Reports:        reports.New(s),
		Claims:         claims.New(s),
		Measured:       measured.New(s),
		Challenges:     challenge.New(s),
		Adjudication:   adjudication.New(s),
		Payouts:        payouts.New(s),
		Controls:       controls.New(s, c.Sleep),
		Releases:       release.New(s, c.ResumeCheckTimeout),
		Reconciliation: reconciliation.New(s),
		Receipts:       receipts.New(s, c.Receipt),
		Progress:       progress.New(s),
		Scenarios:      scenario.New(s),
		Portfolio:      portfolio.New(s),
		Sandbox:        sandbox.New(s, c.History),
		Privacy:        privacy.New(s),
		Operations:     operations.New(s, c.Jobs),
	}, nil
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
// database as one for rehearsals. Once partners are registered, the clock never goes back,
// because their records must not lie in the future. Development only. Errors:
// state_conflict.
func (s *Service) ShiftClock(ctx context.Context, shift time.Duration) error {
	if !s.Development {
		return apperr.Fail(apperr.CodeParameterInvalid, "The clock can be moved in development only.")
	}
	done, err := s.DB.NewRaw(`update clock set is_rehearsal = true, offset_interval = make_interval(secs => ?0)
		where offset_interval <= make_interval(secs => ?0) or not exists (select from partners)`, shift.Seconds()).Exec(ctx)
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n > 0 {
		return err
	}
	return apperr.Fail(apperr.CodeStateConflict, "The clock of this database is further ahead already and never goes back: name a larger offset, or start with an empty database (parapet dev --fresh).")
}

// IsRehearsal reports whether the database is marked for rehearsals by the development
// stack; its clock may be shifted. Real payments must not depend on it.
func (s *Service) IsRehearsal(ctx context.Context) (bool, error) {
	var marked bool
	err := s.DB.NewRaw("select is_rehearsal or offset_interval <> interval '0' from clock").Scan(ctx, &marked)
	return marked, store.TranslateError(err)
}
