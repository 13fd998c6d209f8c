package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
)

// How many rows one transaction of a sweep moves: one by one, and in sets.
const (
	sweepBatchSize    = 200
	sweepSetBatchSize = 2000
)

// DueWork is a kind of work that becomes due by time. Each kind is swept on its own, so
// that none waits for another.
type DueWork string

// workReportLines is the matching of report lines. It halves a slice that fails, so that
// it is no plain step.
const workReportLines DueWork = "report_lines"

// workStoppedPayouts is what a resumption of releases consists of, after its check.
const workStoppedPayouts DueWork = "stopped_payouts"

// SweepWork is the job that gives one kind of due work a turn.
type SweepWork struct {
	Work DueWork `json:"work"`
}

// Kind is the job's stable name in the queue.
func (SweepWork) Kind() string { return "sweep" }

// maxTurnBatches is how many transactions one turn of a sweep has at most.
const maxTurnBatches = 50

// sweepStep is one transaction of a kind of due work; it returns how many rows it moved,
// size when there may be more.
type sweepStep struct {
	work DueWork
	size int
	run  func(*Tx, context.Context) (int, error)
}

var sweepSteps = []sweepStep{
	{"payouts_in_flight", sweepBatchSize, (*Tx).requeuePayoutsInFlight},
	{"pending_payouts", sweepBatchSize, (*Tx).requeuePendingPayouts},
	{workStoppedPayouts, sweepBatchSize, (*Tx).resumePayouts},
	{"accounts", sweepBatchSize, (*Tx).requeueAccountChecks},
	{"quotes", sweepSetBatchSize, (*Tx).expireQuotes},
	{"policies", sweepSetBatchSize, (*Tx).expirePolicies},
	{"archive", sweepSetBatchSize, (*Tx).archivePolicies},
	{"reviews", sweepBatchSize, (*Tx).reviewDeferredClaims},
	{workReportLines, sweepBatchSize, nil}, // see matchReports
	{"checkpoints", sweepBatchSize, (*Tx).signCheckpoints},
	{"answers", sweepBatchSize, (*Tx).purgeIdempotencyKeys},
	{"deliveries", sweepBatchSize, (*Tx).purgeDeliveries},
	{"secrets", sweepBatchSize, (*Tx).purgeSecrets},
	{"files", sweepBatchSize, (*Tx).deleteOrphanFiles},
}

// DueWorkKinds lists the kinds of due work.
func DueWorkKinds() []DueWork {
	works := make([]DueWork, len(sweepSteps))
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
			err = errors.Join(err, s.matchReports(ctx, untilDone))
			continue
		case workStoppedPayouts:
			err = errors.Join(err, s.checkResumption(ctx))
		}
		err = errors.Join(err, s.repeatSweepStep(ctx, step.size, step.run))
	}
	return err
}

// SweepDue gives one kind of due work a turn; what is left has the next one. Where
// another process is at the same work it does nothing. It does nothing for a kind that
// it does not know.
func (s *Service) SweepDue(ctx context.Context, work DueWork) error {
	at := slices.IndexFunc(sweepSteps, func(step sweepStep) bool { return step.work == work })
	if at < 0 {
		return nil
	}
	step := sweepSteps[at]
	switch step.work {
	case workReportLines:
		return s.matchReports(ctx, maxTurnBatches)
	case workStoppedPayouts:
		if err := s.checkResumption(ctx); err != nil {
			return err
		}
	}
	for range maxTurnBatches {
		n, err := s.runSweepStep(ctx, func(tx *Tx, ctx context.Context) (int, error) {
			if alone, err := tx.trySweepLock(ctx, work); err != nil || !alone {
				return 0, err
			}
			return step.run(tx, ctx)
		})
		if err != nil || n < step.size {
			return err
		}
	}
	return nil
}

// trySweepLock takes the lock of a kind of due work until the transaction ends.
func (tx *Tx) trySweepLock(ctx context.Context, work DueWork) (alone bool, err error) {
	err = tx.NewRaw("select pg_try_advisory_xact_lock(hashtext('sweep'), hashtext(?))", work).Scan(ctx, &alone)
	return alone, err
}

// repeatSweepStep repeats a step until it moves less than a full batch.
func (s *Service) repeatSweepStep(ctx context.Context, size int, step func(*Tx, context.Context) (int, error)) error {
	for {
		if n, err := s.runSweepStep(ctx, step); err != nil || n < size {
			return err
		}
	}
}

func (s *Service) runSweepStep(ctx context.Context, step func(*Tx, context.Context) (int, error)) (n int, err error) {
	err = s.InTx(ctx, System(), func(ctx context.Context, tx *Tx) (err error) {
		n, err = step(tx, ctx)
		return err
	})
	return n, err
}

// lockBatch locks a batch of at most size rows that nobody else works on.
func lockBatch(q *bun.SelectQuery, size int) *bun.SelectQuery {
	return q.Limit(int64(size)).For("NO KEY UPDATE SKIP LOCKED")
}

func (tx *Tx) expireQuotes(ctx context.Context) (int, error) {
	var rows []*quoteRow
	err := lockBatch(tx.NewSelect().Model(&rows).Where("q.status = ?", QuotePriced).Where("q.expires_at <= ?", tx.now), sweepSetBatchSize).Scan(ctx)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	set := newTransitionSet(tx, "quotes", len(rows))
	for _, row := range rows {
		tx.advanceClock(&row.RowHeader)
	}
	for _, row := range rows {
		event, err := transitionInSet(set, &row.RowHeader, QuoteTransitions, &row.Status, QuoteExpired)
		if err != nil {
			return 0, err
		}
		if _, err := tx.appendEvent(event, &row.RowHeader, resourceQuote, row.toRecord()); err != nil {
			return 0, err
		}
	}
	set.queueUpdate()
	return len(rows), nil
}

func (tx *Tx) expirePolicies(ctx context.Context) (int, error) {
	var rows []*policyRow
	err := lockBatch(tx.NewSelect().Model(&rows).Where("p.status = ?", PolicyActive).Where("p.expires_at <= ?", tx.now), sweepSetBatchSize).Scan(ctx)
	if err != nil {
		return 0, fmt.Errorf("find expired policies: %w", err)
	}
	return len(rows), tx.transitionPolicies(ctx, rows, PolicyExpired)
}

// archivePolicies puts away policies past their reporting window with nothing
// open. What is open keeps its policy in reach.
func (tx *Tx) archivePolicies(ctx context.Context) (int, error) {
	var rows []*policyRow
	err := lockBatch(tx.NewSelect().Model(&rows).Where("p.status in (?)", bun.List([]PolicyStatus{PolicyExhausted, PolicyExpired, PolicyCancelled})).
		Where("p.reportable_until <= ?", tx.now).
		Where("not exists (select from claims c where c.policy_id = p.id and c.partner = p.partner and c.status in ('opened', 'deferred', 'approved'))"), sweepSetBatchSize).Scan(ctx)
	if err != nil {
		return 0, fmt.Errorf("find policies to archive: %w", err)
	}
	return len(rows), tx.transitionPolicies(ctx, rows, PolicyArchived)
}

// transitionPolicies moves policies to one state, in one set.
func (tx *Tx) transitionPolicies(ctx context.Context, rows []*policyRow, to PolicyStatus) error {
	if len(rows) == 0 {
		return nil
	}
	claims, err := loadPolicyClaims(ctx, tx, policyIDs(rows))
	if err != nil {
		return err
	}
	set := newTransitionSet(tx, "policies", len(rows))
	for _, row := range rows {
		tx.advanceClock(&row.RowHeader)
	}
	for _, row := range rows {
		event, err := transitionInSet(set, &row.RowHeader, PolicyTransitions, &row.Status, to)
		if err != nil {
			return err
		}
		if _, err := tx.appendEvent(event, &row.RowHeader, resourcePolicy, row.toRecord(tx.now, claims[row.ID])); err != nil {
			return err
		}
	}
	set.queueUpdate()
	return nil
}

// reviewDeferredClaims judges claims again whose source did not settle what they wait
// for by the time that was named, and names the next time. What waits for a human
// stays as the human left it.
func (tx *Tx) reviewDeferredClaims(ctx context.Context) (int, error) {
	var rows []*claimRow
	err := lockBatch(tx.NewSelect().Model(&rows).Where("c.status = ?", ClaimDeferred).Where("c.next_review_at <= ?", tx.now).
		Where("c.reason_codes = array[?]", ReasonSourcePreliminary), sweepBatchSize).Scan(ctx)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	var ids []uuid.UUID
	for _, row := range rows {
		ids = append(ids, *row.OccurrenceID)
		if err := tx.postponeReview(ctx, row); err != nil {
			return 0, err
		}
	}
	var happened []occurrenceRow
	if err := tx.NewSelect().Model(&happened).Where("id in (?)", bun.List(ids)).Scan(ctx); err != nil {
		return 0, fmt.Errorf("read occurrences to review: %w", err)
	}
	for _, row := range happened {
		id := row.ID
		if row.MergedInto != nil {
			id = *row.MergedInto
		}
		tx.enqueueJob(EvaluateOccurrences{Occurrences: []string{resourceOccurrence.formatID(id)}})
	}
	return len(rows), nil
}

func (tx *Tx) postponeReview(ctx context.Context, row *claimRow) error {
	tx.advanceClockPastTimeline(row)
	row.NextReviewAt = new(tx.now.Add(reviewInterval))
	parts, err := tx.loadClaimRelations(ctx, row)
	if err != nil {
		return err
	}
	if err := tx.saveColumns(ctx, row, "next_review_at"); err != nil {
		return err
	}
	event, err := tx.appendEvent(EventClaimUpdated, &row.RowHeader, resourceClaim, row.toRecord(parts))
	if err != nil {
		return err
	}
	err = tx.appendTimeline(row, EventClaimUpdated, &event, "The source has not settled its values; the claim is judged again and goes on waiting.", map[string]any{"next_review_at": row.NextReviewAt})
	if err != nil {
		return err
	}
	return tx.saveTimelinePosition(ctx, row)
}

// idempotencyRetention is how long an idempotent answer can be had again.
const idempotencyRetention = 30 * 24 * time.Hour

// purgeIdempotencyKeys removes idempotency keys that are past their time.
func (tx *Tx) purgeIdempotencyKeys(ctx context.Context) (int, error) {
	res, err := tx.NewRaw(`delete from idempotency_keys where (owner, operation, key) in (
		select owner, operation, key from idempotency_keys where created_at < ? limit ? for update skip locked)`, tx.now.Add(-idempotencyRetention), sweepBatchSize).Exec(ctx)
	if err != nil {
		return 0, fmt.Errorf("forget idempotent answers: %w", err)
	}
	n, err := res.RowsAffected()
	return int(n), err
}
