package operations

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"parapet/model/audit"
	"parapet/model/claims"
	"parapet/model/claims/adjudication"
	"parapet/model/events"
	"parapet/model/events/webhooks"
	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/partition"
	"parapet/model/kernel/store"
	"parapet/model/kernel/transition"
	"parapet/model/payouts"
	"parapet/model/payouts/reconciliation"
	"parapet/model/payouts/release"
	"parapet/model/quoting"
	"parapet/model/underwriting"
)

// workReportLines matches report lines. It is not a plain step, because it halves a
// slice that fails.
const workReportLines store.DueWork = "report_lines"

// These kinds of due work have longer intervals: see SweepInterval.
const (
	workSecrets    store.DueWork = "secrets"
	workPartitions store.DueWork = "partitions"
	workFiles      store.DueWork = "files"
)

// workStatistics collects the statistics of a table, which occupies a processor for
// seconds: it takes a turn of bulk work, or begins after statisticsTurnWait.
const (
	workStatistics     store.DueWork = "statistics"
	statisticsTurnWait               = 5 * time.Second
)

// maxTurnBatches bounds the transactions of one turn of a sweep.
const maxTurnBatches = 50

// sweepStep is one transaction of a kind of due work; it returns the number of changed
// rows, size if there may be more.
type sweepStep struct {
	work store.DueWork
	size int
	run  func(context.Context, *store.Tx) (int, error)
}

var sweepSteps = []sweepStep{
	{"payouts_in_flight", store.SweepBatchSize, payouts.RequeuePayoutsInFlight},
	{"pending_payouts", store.SweepBatchSize, payouts.RequeuePendingPayouts},
	{store.WorkStoppedPayouts, store.SweepBatchSize, release.ResumePayouts},
	{"accounts", store.SweepBatchSize, payouts.RequeueAccountChecks},
	{"quotes", store.SweepSetBatchSize, expireQuotes},
	{"policies", store.SweepSetBatchSize, expirePolicies},
	{"archive", store.SweepSetBatchSize, archivePolicies},
	{"periods", 1, occurrence.OpenEndedPeriods},
	{"reviews", store.SweepBatchSize, reviewDeferredClaims},
	{"matching", store.SweepBatchSize, adjudication.SweepSlices},
	{workReportLines, store.SweepBatchSize, nil}, // see MatchReports
	{"checkpoints", store.SweepBatchSize, events.SignCheckpoints},
	{"answers", store.SweepBatchSize, purgeIdempotencyKeys},
	{"deliveries", store.SweepBatchSize, webhooks.PurgeDeliveries},
	{"calls", store.SweepBatchSize, audit.PurgeCalls},
	{workSecrets, store.SweepBatchSize, store.PurgeSecrets},
	{workPartitions, store.SweepBatchSize, partition.AddAhead},
	{workStatistics, 1, partition.AnalyzeGrown},
	{workFiles, store.SweepBatchSize, claims.DeleteOrphanFiles},
}

// SweepInterval returns the time between two turns of a kind of due work: the longest
// delay before a deadline is noticed, and a minute for work that no client waits for and
// of which there is little.
func SweepInterval(work store.DueWork) time.Duration {
	if slices.Contains([]store.DueWork{workSecrets, workPartitions, workFiles}, work) {
		return time.Minute
	}
	return 5 * time.Second
}

// DueWorkKinds lists the kinds of due work.
func DueWorkKinds() []store.DueWork {
	works := make([]store.DueWork, len(sweepSteps))
	for i, step := range sweepSteps {
		works[i] = step.work
	}
	return works
}

// Sweep performs all due work: expiry, archival, requeueing, retention. It may run any
// number of times in any number of processes.
func (s *Service) Sweep(ctx context.Context) (err error) {
	for _, step := range sweepSteps {
		switch step.work {
		case workReportLines:
			err = errors.Join(err, reconciliation.MatchReports(ctx, s.Store, reconciliation.UntilDone))
			continue
		case store.WorkStoppedPayouts:
			err = errors.Join(err, release.CheckResumption(ctx, s.Store))
		}
		err = errors.Join(err, s.repeatSweepStep(ctx, step.size, step.run))
	}
	return err
}

// SweepDue runs one turn of a kind of due work; the next turn continues with the rest.
// It does nothing while another process does the same work, and for an unknown kind.
func (s *Service) SweepDue(ctx context.Context, work store.DueWork) error {
	at := slices.IndexFunc(sweepSteps, func(step sweepStep) bool { return step.work == work })
	if at < 0 {
		return nil
	}
	step := sweepSteps[at]
	switch step.work {
	case workReportLines:
		return reconciliation.MatchReports(ctx, s.Store, maxTurnBatches)
	case store.WorkStoppedPayouts:
		if err := release.CheckResumption(ctx, s.Store); err != nil {
			return err
		}
	}
	for range maxTurnBatches {
		if n, err := s.runDueStep(ctx, step); err != nil || n < step.size {
			return err
		}
	}
	return nil
}

// runDueStep runs a step once, if no other process does the same work.
func (s *Service) runDueStep(ctx context.Context, step sweepStep) (changed int, err error) {
	if step.work == workStatistics {
		leave := s.Bulk.EnterWithin(ctx, statisticsTurnWait)
		defer leave()
	}
	return s.runSweepStep(ctx, func(ctx context.Context, tx *store.Tx) (int, error) {
		if alone, err := trySweepLock(ctx, tx, step.work); err != nil || !alone {
			return 0, err
		}
		return step.run(ctx, tx)
	})
}

// trySweepLock tries to take the lock of a kind of due work until the transaction ends.
func trySweepLock(ctx context.Context, tx *store.Tx, work store.DueWork) (alone bool, err error) {
	err = tx.NewRaw("select pg_try_advisory_xact_lock(hashtext('sweep'), hashtext(?))", work).Scan(ctx, &alone)
	return alone, err
}

// repeatSweepStep repeats a step until it moves less than a full batch.
func (s *Service) repeatSweepStep(ctx context.Context, size int, step func(context.Context, *store.Tx) (int, error)) error {
	for {
		if n, err := s.runSweepStep(ctx, step); err != nil || n < size {
			return err
		}
	}
}

func (s *Service) runSweepStep(ctx context.Context, step func(context.Context, *store.Tx) (int, error)) (n int, err error) {
	err = s.InTx(ctx, actor.System(), func(ctx context.Context, tx *store.Tx) (err error) {
		n, err = step(ctx, tx)
		return err
	})
	return n, err
}

func expireQuotes(ctx context.Context, tx *store.Tx) (int, error) {
	return expireQuotesOf(ctx, tx, tx.NewSelect().Where("q.expires_at <= ?", tx.Now))
}

// ExpireQuotes expires a batch of a partner's quotes before their time, and returns their
// number. System only.
func (s *Service) ExpireQuotes(ctx context.Context, partner string) (int, error) {
	return s.runSweepStep(ctx, func(ctx context.Context, tx *store.Tx) (int, error) {
		return expireQuotesOf(ctx, tx, tx.NewSelect().Where("q.partner = ?", partner))
	})
}

// expireQuotesOf expires a batch of the priced quotes that a query selects.
func expireQuotesOf(ctx context.Context, tx *store.Tx, selected *bun.SelectQuery) (int, error) {
	var rows []*quoting.QuoteRow
	err := store.LockBatch(selected.Model(&rows).Where("q.status = ?", quoting.QuotePriced), store.SweepSetBatchSize).Scan(ctx)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	set := transition.NewSet(tx, "quotes", len(rows))
	for _, row := range rows {
		tx.AdvanceClock(&row.RowHeader)
	}
	for _, row := range rows {
		event, err := transition.Change(set, &row.RowHeader, quoting.QuoteTransitions, &row.Status, quoting.QuoteExpired)
		if err != nil {
			return 0, err
		}
		if err := row.AppendEvent(tx, event); err != nil {
			return 0, err
		}
	}
	set.QueueUpdate()
	return len(rows), nil
}

func expirePolicies(ctx context.Context, tx *store.Tx) (int, error) {
	var rows []*underwriting.PolicyRow
	err := store.LockBatch(tx.NewSelect().Model(&rows).Where("p.status = ?", underwriting.PolicyActive).Where("p.expires_at <= ?", tx.Now), store.SweepSetBatchSize).Scan(ctx)
	if err != nil {
		return 0, fmt.Errorf("find expired policies: %w", err)
	}
	return len(rows), transitionPolicies(ctx, tx, rows, underwriting.PolicyExpired)
}

// archivePolicies archives policies past their reporting window without open claims.
func archivePolicies(ctx context.Context, tx *store.Tx) (int, error) {
	var rows []*underwriting.PolicyRow
	err := store.LockBatch(tx.NewSelect().Model(&rows).Where("p.status in (?)", bun.List([]underwriting.PolicyStatus{underwriting.PolicyExhausted, underwriting.PolicyExpired, underwriting.PolicyCancelled})).
		Where("p.reportable_until <= ?", tx.Now).
		Where("not exists (select from claims c where c.policy_id = p.id and c.partner = p.partner and c.status in ('opened', 'deferred', 'approved'))").
		Where("not exists (select from claim_challenges ch join claims c on c.id = ch.claim_id and c.partner = ch.partner where c.policy_id = p.id and c.partner = p.partner and ch.status = 'open')"), store.SweepSetBatchSize).Scan(ctx)
	if err != nil {
		return 0, fmt.Errorf("find policies to archive: %w", err)
	}
	return len(rows), transitionPolicies(ctx, tx, rows, underwriting.PolicyArchived)
}

// transitionPolicies changes the status of policies in one set.
func transitionPolicies(ctx context.Context, tx *store.Tx, rows []*underwriting.PolicyRow, to underwriting.PolicyStatus) error {
	if len(rows) == 0 {
		return nil
	}
	claims, err := underwriting.LoadPolicyClaims(ctx, tx, underwriting.PolicyIDs(rows))
	if err != nil {
		return err
	}
	set := transition.NewSet(tx, "policies", len(rows))
	for _, row := range rows {
		tx.AdvanceClock(&row.RowHeader)
	}
	for _, row := range rows {
		event, err := transition.Change(set, &row.RowHeader, underwriting.PolicyTransitions, &row.Status, to)
		if err != nil {
			return err
		}
		if _, err := tx.AppendEvent(event, &row.RowHeader, store.ResourcePolicy, row.ToRecord(tx.Now, claims[row.ID])); err != nil {
			return err
		}
	}
	set.QueueUpdate()
	return nil
}

// idempotencyRetention is how long a stored response can be repeated.
const idempotencyRetention = 30 * 24 * time.Hour

// purgeIdempotencyKeys deletes expired idempotency keys.
func purgeIdempotencyKeys(ctx context.Context, tx *store.Tx) (int, error) {
	res, err := tx.NewRaw(`delete from idempotency_keys where (owner, operation, key) in (
		select owner, operation, key from idempotency_keys where created_at < ? limit ? for update skip locked)`, tx.Now.Add(-idempotencyRetention), store.SweepBatchSize).Exec(ctx)
	if err != nil {
		return 0, fmt.Errorf("forget idempotent answers: %w", err)
	}
	n, err := res.RowsAffected()
	return int(n), err
}
