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
	sweepSize    = 200
	sweepSetSize = 2000
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

// sweepTurn is how many transactions one turn of a sweep has at most.
const sweepTurn = 50

// sweepStep is one transaction of a kind of due work; it returns how many rows it moved,
// size when there may be more.
type sweepStep struct {
	work DueWork
	size int
	move func(*unit, context.Context) (int, error)
}

var sweepSteps = []sweepStep{
	{"payouts_in_flight", sweepSize, (*unit).requeuePayoutsInFlight},
	{"pending_payouts", sweepSize, (*unit).requeuePendingPayouts},
	{workStoppedPayouts, sweepSize, (*unit).resumePayouts},
	{"accounts", sweepSize, (*unit).requeueAccountChecks},
	{"quotes", sweepSetSize, (*unit).expireQuotes},
	{"policies", sweepSetSize, (*unit).expirePolicies},
	{"archive", sweepSetSize, (*unit).archivePolicies},
	{"reviews", sweepSize, (*unit).reviewClaims},
	{workReportLines, sweepSize, nil}, // see matchReports
	{"checkpoints", sweepSize, (*unit).checkpoint},
	{"answers", sweepSize, (*unit).forgetAnswers},
	{"deliveries", sweepSize, (*unit).forgetDeliveries},
	{"secrets", sweepSize, (*unit).forgetSecrets},
	{"files", sweepSize, (*unit).giveUpFiles},
}

// DueWorks lists the kinds of due work.
func DueWorks() []DueWork {
	works := make([]DueWork, len(sweepSteps))
	for i, step := range sweepSteps {
		works[i] = step.work
	}
	return works
}

// Sweep moves everything that is due: quotes and policies that expire, policies
// to archive, payouts whose job got lost, files that nothing tells of. It may run any
// number of times and in any number of processes.
func (s *Service) Sweep(ctx context.Context) (err error) {
	for _, step := range sweepSteps {
		switch step.work {
		case workReportLines:
			err = errors.Join(err, s.matchReports(ctx, allTurns))
			continue
		case workStoppedPayouts:
			err = errors.Join(err, s.checkResumption(ctx))
		}
		err = errors.Join(err, s.drain(ctx, step.size, step.move))
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
		return s.matchReports(ctx, sweepTurn)
	case workStoppedPayouts:
		if err := s.checkResumption(ctx); err != nil {
			return err
		}
	}
	for range sweepTurn {
		n, err := s.sweepOnce(ctx, func(u *unit, ctx context.Context) (int, error) {
			if alone, err := u.sweepsAlone(ctx, work); err != nil || !alone {
				return 0, err
			}
			return step.move(u, ctx)
		})
		if err != nil || n < step.size {
			return err
		}
	}
	return nil
}

// sweepsAlone takes the lock of a kind of due work until the transaction ends.
func (u *unit) sweepsAlone(ctx context.Context, work DueWork) (alone bool, err error) {
	err = u.NewRaw("select pg_try_advisory_xact_lock(hashtext('sweep'), hashtext(?))", work).Scan(ctx, &alone)
	return alone, err
}

// drain repeats a step until it finds less than a full batch.
func (s *Service) drain(ctx context.Context, size int, step func(*unit, context.Context) (int, error)) error {
	for {
		if n, err := s.sweepOnce(ctx, step); err != nil || n < size {
			return err
		}
	}
}

func (s *Service) sweepOnce(ctx context.Context, step func(*unit, context.Context) (int, error)) (n int, err error) {
	err = s.change(ctx, System(), func(ctx context.Context, u *unit) (err error) {
		n, err = step(u, ctx)
		return err
	})
	return n, err
}

// due locks a batch of at most size rows that nobody else works on.
func due(q *bun.SelectQuery, size int) *bun.SelectQuery {
	return q.Limit(int64(size)).For("NO KEY UPDATE SKIP LOCKED")
}

func (u *unit) expireQuotes(ctx context.Context) (int, error) {
	var rows []*quoteRow
	err := due(u.NewSelect().Model(&rows).Where("q.status = ?", QuotePriced).Where("q.expires_at <= ?", u.now), sweepSetSize).Scan(ctx)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	set := newTransitions(u, "quotes", len(rows))
	for _, row := range rows {
		u.since(&row.header)
	}
	for _, row := range rows {
		event, err := moveInSet(set, &row.header, QuoteArrows, &row.Status, QuoteExpired)
		if err != nil {
			return 0, err
		}
		if _, err := u.record(event, &row.header, nounQuote, row.public()); err != nil {
			return 0, err
		}
	}
	set.queue()
	return len(rows), nil
}

func (u *unit) expirePolicies(ctx context.Context) (int, error) {
	var rows []*policyRow
	err := due(u.NewSelect().Model(&rows).Where("p.status = ?", PolicyActive).Where("p.expires_at <= ?", u.now), sweepSetSize).Scan(ctx)
	if err != nil {
		return 0, fmt.Errorf("find expired policies: %w", err)
	}
	return len(rows), u.movePolicies(ctx, rows, PolicyExpired)
}

// archivePolicies puts away policies past their reporting window with nothing
// open. What is open keeps its policy in reach.
func (u *unit) archivePolicies(ctx context.Context) (int, error) {
	var rows []*policyRow
	err := due(u.NewSelect().Model(&rows).Where("p.status in (?)", bun.List([]PolicyStatus{PolicyExhausted, PolicyExpired, PolicyCancelled})).
		Where("p.reportable_until <= ?", u.now).
		Where("not exists (select from claims c where c.policy_id = p.id and c.partner = p.partner and c.status in ('opened', 'deferred', 'approved'))"), sweepSetSize).Scan(ctx)
	if err != nil {
		return 0, fmt.Errorf("find policies to archive: %w", err)
	}
	return len(rows), u.movePolicies(ctx, rows, PolicyArchived)
}

// movePolicies moves policies to one state, in one set.
func (u *unit) movePolicies(ctx context.Context, rows []*policyRow, to PolicyStatus) error {
	if len(rows) == 0 {
		return nil
	}
	claims, err := claimsOf(ctx, u, policyIDs(rows))
	if err != nil {
		return err
	}
	set := newTransitions(u, "policies", len(rows))
	for _, row := range rows {
		u.since(&row.header)
	}
	for _, row := range rows {
		event, err := moveInSet(set, &row.header, PolicyArrows, &row.Status, to)
		if err != nil {
			return err
		}
		if _, err := u.record(event, &row.header, nounPolicy, row.public(u.now, claims[row.ID])); err != nil {
			return err
		}
	}
	set.queue()
	return nil
}

// reviewClaims judges claims again whose source did not settle what they wait
// for by the time that was named, and names the next time. What waits for a human
// stays as the human left it.
func (u *unit) reviewClaims(ctx context.Context) (int, error) {
	var rows []*claimRow
	err := due(u.NewSelect().Model(&rows).Where("c.status = ?", ClaimDeferred).Where("c.next_review_at <= ?", u.now).
		Where("c.reason_codes = array[?]", ReasonSourceProvisional), sweepSize).Scan(ctx)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	var ids []uuid.UUID
	for _, row := range rows {
		ids = append(ids, *row.OccurrenceID)
		if err := u.postpone(ctx, row); err != nil {
			return 0, err
		}
	}
	var happened []occurrenceRow
	if err := u.NewSelect().Model(&happened).Where("id in (?)", bun.List(ids)).Scan(ctx); err != nil {
		return 0, fmt.Errorf("read occurrences to review: %w", err)
	}
	for _, row := range happened {
		id := row.ID
		if row.MergedInto != nil {
			id = *row.MergedInto
		}
		u.enqueue(EvaluateOccurrences{Occurrences: []string{nounOccurrence.id(id)}})
	}
	return len(rows), nil
}

func (u *unit) postpone(ctx context.Context, row *claimRow) error {
	u.sinceTold(row)
	row.NextReviewAt = new(u.now.Add(reviewAfter))
	parts, err := u.partsOf(ctx, row)
	if err != nil {
		return err
	}
	if err := u.save(ctx, row, "next_review_at"); err != nil {
		return err
	}
	event, err := u.record(EventClaimUpdated, &row.header, nounClaim, row.public(parts))
	if err != nil {
		return err
	}
	err = u.tell(row, EventClaimUpdated, &event, "The source has not settled its values; the claim is judged again and goes on waiting.", map[string]any{"next_review_at": row.NextReviewAt})
	if err != nil {
		return err
	}
	return u.told(ctx, row)
}

// keepAnswers is how long an idempotent answer can be had again.
const keepAnswers = 30 * 24 * time.Hour

// forgetAnswers removes idempotency keys that are past their time.
func (u *unit) forgetAnswers(ctx context.Context) (int, error) {
	res, err := u.NewRaw(`delete from idempotency_keys where (owner, operation, key) in (
		select owner, operation, key from idempotency_keys where created_at < ? limit ? for update skip locked)`, u.now.Add(-keepAnswers), sweepSize).Exec(ctx)
	if err != nil {
		return 0, fmt.Errorf("forget idempotent answers: %w", err)
	}
	n, err := res.RowsAffected()
	return int(n), err
}
