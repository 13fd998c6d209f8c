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

// workReportLines matches report lines. It is not a plain step, because it halves a
// slice that fails.
const workReportLines DueWork = "report_lines"

// maxTurnBatches bounds the transactions of one turn of a sweep.
const maxTurnBatches = 50

// sweepStep is one transaction of a kind of due work; it returns the number of changed
// rows, size if there may be more.
type sweepStep struct {
	work DueWork
	size int
	run  func(context.Context, *Tx) (int, error)
}

var sweepSteps = []sweepStep{
	{"payouts_in_flight", sweepBatchSize, requeuePayoutsInFlight},
	{"pending_payouts", sweepBatchSize, requeuePendingPayouts},
	{workStoppedPayouts, sweepBatchSize, resumePayouts},
	{"accounts", sweepBatchSize, requeueAccountChecks},
	{"quotes", sweepSetBatchSize, expireQuotes},
	{"policies", sweepSetBatchSize, expirePolicies},
	{"archive", sweepSetBatchSize, archivePolicies},
	{"reviews", sweepBatchSize, reviewDeferredClaims},
	{workReportLines, sweepBatchSize, nil}, // see matchReports
	{"checkpoints", sweepBatchSize, signCheckpoints},
	{"answers", sweepBatchSize, purgeIdempotencyKeys},
	{"deliveries", sweepBatchSize, purgeDeliveries},
	{"secrets", sweepBatchSize, purgeSecrets},
	{"files", sweepBatchSize, deleteOrphanFiles},
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

// SweepDue runs one turn of a kind of due work; the next turn continues with the rest.
// It does nothing while another process does the same work, and for an unknown kind.
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
		n, err := s.runSweepStep(ctx, func(ctx context.Context, tx *Tx) (int, error) {
			if alone, err := tx.trySweepLock(ctx, work); err != nil || !alone {
				return 0, err
			}
			return step.run(ctx, tx)
		})
		if err != nil || n < step.size {
			return err
		}
	}
	return nil
}

// trySweepLock tries to take the lock of a kind of due work until the transaction ends.
func (tx *Tx) trySweepLock(ctx context.Context, work DueWork) (alone bool, err error) {
	err = tx.NewRaw("select pg_try_advisory_xact_lock(hashtext('sweep'), hashtext(?))", work).Scan(ctx, &alone)
	return alone, err
}

// repeatSweepStep repeats a step until it moves less than a full batch.
func (s *Service) repeatSweepStep(ctx context.Context, size int, step func(context.Context, *Tx) (int, error)) error {
	for {
		if n, err := s.runSweepStep(ctx, step); err != nil || n < size {
			return err
		}
	}
}

func (s *Service) runSweepStep(ctx context.Context, step func(context.Context, *Tx) (int, error)) (n int, err error) {
	err = s.InTx(ctx, System(), func(ctx context.Context, tx *Tx) (err error) {
		n, err = step(ctx, tx)
		return err
	})
	return n, err
}

func expireQuotes(ctx context.Context, tx *Tx) (int, error) {
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

func expirePolicies(ctx context.Context, tx *Tx) (int, error) {
	var rows []*policyRow
	err := lockBatch(tx.NewSelect().Model(&rows).Where("p.status = ?", PolicyActive).Where("p.expires_at <= ?", tx.now), sweepSetBatchSize).Scan(ctx)
	if err != nil {
		return 0, fmt.Errorf("find expired policies: %w", err)
	}
	return len(rows), tx.transitionPolicies(ctx, rows, PolicyExpired)
}

// archivePolicies archives policies past their reporting window without open claims.
func archivePolicies(ctx context.Context, tx *Tx) (int, error) {
	var rows []*policyRow
	err := lockBatch(tx.NewSelect().Model(&rows).Where("p.status in (?)", bun.List([]PolicyStatus{PolicyExhausted, PolicyExpired, PolicyCancelled})).
		Where("p.reportable_until <= ?", tx.now).
		Where("not exists (select from claims c where c.policy_id = p.id and c.partner = p.partner and c.status in ('opened', 'deferred', 'approved'))"), sweepSetBatchSize).Scan(ctx)
	if err != nil {
		return 0, fmt.Errorf("find policies to archive: %w", err)
	}
	return len(rows), tx.transitionPolicies(ctx, rows, PolicyArchived)
}

// transitionPolicies changes the status of policies in one set.
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

// reviewDeferredClaims adjudicates claims again whose source did not provide the
// awaited data by the stated time, and states the next time. It leaves claims that wait
// for an operator unchanged.
func reviewDeferredClaims(ctx context.Context, tx *Tx) (int, error) {
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
	err = tx.appendTimeline(row, EventClaimUpdated, &event, "The source's values are not final yet; the claim was reviewed and still waits.", map[string]any{"next_review_at": row.NextReviewAt})
	if err != nil {
		return err
	}
	return tx.saveTimelinePosition(ctx, row)
}

// idempotencyRetention is how long a stored response can be repeated.
const idempotencyRetention = 30 * 24 * time.Hour

// purgeIdempotencyKeys deletes expired idempotency keys.
func purgeIdempotencyKeys(ctx context.Context, tx *Tx) (int, error) {
	res, err := tx.NewRaw(`delete from idempotency_keys where (owner, operation, key) in (
		select owner, operation, key from idempotency_keys where created_at < ? limit ? for update skip locked)`, tx.now.Add(-idempotencyRetention), sweepBatchSize).Exec(ctx)
	if err != nil {
		return 0, fmt.Errorf("forget idempotent answers: %w", err)
	}
	n, err := res.RowsAffected()
	return int(n), err
}
