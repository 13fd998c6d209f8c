package model

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/hazard"
)

// sweepSize is how many rows one transaction of a sweep moves.
const sweepSize = 200

// Sweep moves everything that is due: quotes and policies that expire, policies
// to archive, payouts whose job got lost, files that nothing tells of. It may run any
// number of times and in any number of processes.
func (s *Service) Sweep(ctx context.Context) error {
	return errors.Join(
		s.drain(ctx, (*unit).expireQuotes),
		s.drain(ctx, (*unit).expirePolicies),
		s.drain(ctx, (*unit).archivePolicies),
		s.drain(ctx, (*unit).revivePayouts),
		s.drain(ctx, (*unit).resumePayouts),
		s.drain(ctx, (*unit).requeueAccountChecks),
		s.drain(ctx, (*unit).reviewClaims),
		s.drain(ctx, (*unit).forgetAnswers),
		s.drain(ctx, (*unit).forgetDeliveries),
		s.drain(ctx, (*unit).forgetSecrets),
		s.drain(ctx, (*unit).giveUpFiles),
		s.drain(ctx, (*unit).checkpoint),
		s.drain(ctx, (*unit).matchLines),
	)
}

// drain repeats a step until it finds less than a full batch.
func (s *Service) drain(ctx context.Context, step func(*unit, context.Context) (int, error)) error {
	for {
		var n int
		err := s.change(ctx, System(), func(ctx context.Context, u *unit) (err error) {
			n, err = step(u, ctx)
			return err
		})
		if err != nil || n < sweepSize {
			return err
		}
	}
}

// due locks a batch of rows that nobody else works on.
func due(q *bun.SelectQuery) *bun.SelectQuery {
	return q.Limit(sweepSize).For("NO KEY UPDATE SKIP LOCKED")
}

func (u *unit) expireQuotes(ctx context.Context) (int, error) {
	var rows []*quoteRow
	err := due(u.NewSelect().Model(&rows).Where("q.status = ?", QuotePriced).Where("q.expires_at <= ?", u.now)).Scan(ctx)
	if err != nil {
		return 0, fmt.Errorf("find expired quotes: %w", err)
	}
	for _, row := range rows {
		u.since(&row.header)
		event, err := move(ctx, u, row, QuoteArrows, &row.Status, QuoteExpired)
		if err != nil {
			return 0, err
		}
		if _, err := u.record(event, &row.header, nounQuote, row.public()); err != nil {
			return 0, err
		}
	}
	return len(rows), nil
}

func (u *unit) expirePolicies(ctx context.Context) (int, error) {
	var rows []*policyRow
	err := due(u.NewSelect().Model(&rows).Where("p.status = ?", PolicyActive).Where("p.expires_at <= ?", u.now)).Scan(ctx)
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
		Where("not exists (select from claims c where c.policy_id = p.id and c.partner = p.partner and c.status in ('opened', 'deferred', 'approved'))")).Scan(ctx)
	if err != nil {
		return 0, fmt.Errorf("find policies to archive: %w", err)
	}
	return len(rows), u.movePolicies(ctx, rows, PolicyArchived)
}

func (u *unit) movePolicies(ctx context.Context, rows []*policyRow, to PolicyStatus, columns ...string) error {
	if len(rows) == 0 {
		return nil
	}
	claims, err := claimsOf(ctx, u, policyIDs(rows))
	if err != nil {
		return err
	}
	for _, row := range rows {
		u.since(&row.header)
		event, err := move(ctx, u, row, PolicyArrows, &row.Status, to, columns...)
		if err != nil {
			return err
		}
		if _, err := u.record(event, &row.header, nounPolicy, row.public(u.now, claims[row.ID])); err != nil {
			return err
		}
	}
	return nil
}

// revivePayouts asks again for payouts that are overdue: their job was lost, or
// its worker died. Each is asked for once a lease, so that alarms do not pile up
// while nobody works them.
func (u *unit) revivePayouts(ctx context.Context) (int, error) {
	var rows []struct {
		ID      uuid.UUID
		Partner string
	}
	err := u.NewRaw(`update payouts set revived_at = ?0 where (id, partner) in (
			select id, partner from payouts where next_attempt_at < ?1 and coalesce(revived_at, '-infinity') < ?2
				and status in ('pending', 'releasing', 'reconciling')
			order by next_attempt_at limit ?3 for no key update skip locked)
		returning id, partner`, u.now, u.now.Add(-releaseLease/2), u.now.Add(-releaseLease), sweepSize).Scan(ctx, &rows)
	if err != nil {
		return 0, fmt.Errorf("find overdue payouts: %w", err)
	}
	for _, row := range rows {
		u.enqueue(ReleasePayout{Partner: row.Partner, ID: nounPayout.id(row.ID)})
	}
	return len(rows), nil
}

// reviewClaims judges claims again whose source did not settle what they wait
// for by the time that was named, and names the next time. What waits for a human
// stays as the human left it.
func (u *unit) reviewClaims(ctx context.Context) (int, error) {
	var rows []*claimRow
	err := due(u.NewSelect().Model(&rows).Where("c.status = ?", ClaimDeferred).Where("c.next_review_at <= ?", u.now).
		Where("c.reason_codes = array[?]", ReasonSourceProvisional)).Scan(ctx)
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
		if station, _, ok := stationDay(row.SourceEventID); ok && row.Kind == hazard.StationDay {
			u.enqueue(EvaluateStations{Scope: row.Scope, Source: row.Source, Stations: []string{station}})
			continue
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
