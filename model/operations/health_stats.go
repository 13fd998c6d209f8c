package operations

import (
	"context"
	"fmt"
	"time"

	"parapet/model/claims"
	"parapet/model/claims/adjudication"
	"parapet/model/events/webhooks"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/partition"
	"parapet/model/kernel/store"
	"parapet/model/payouts"
)

// HealthStats are the figures that raise alarms. They cover all partners.
type HealthStats struct {
	Unsettled            []UnsettledStats // payouts that are in doubt or blocked
	Unconfirmed          []RailStats      // payouts that rails accepted and no report has confirmed
	OpenExceptions       []ExceptionStats
	OldestUnsent         time.Duration // the longest time that an unblocked payout past its cooling-off waits
	Unsequenced          int64         // events that wait for the relay, at most maxUnsequencedCounted
	SequencingLag        time.Duration // age of the oldest of them
	FailedDeliveries     int64         // deliveries that are retried only by hand
	FailingEndpoints     int64         // endpoints with recent failures only
	DisabledEndpoints    int64         // endpoints that were disabled because deliveries failed
	Feeds                []FeedStats
	OldestUndecided      time.Duration // age of the oldest claim without a first decision
	OldestAwaitingSource time.Duration // age of the oldest claim that waits for its source's final values
	ReviewsOverdue       int64         // deferred claims whose review is overdue
	ExpiryOverdue        int64         // policies and quotes past their end that no sweep has updated
	Violations           int64         // invariant violations that are not acknowledged
	SinceInvariantCheck  time.Duration // since the oldest of the last checks; since the first partner if there was no check
	MatchingLag          time.Duration // how long the oldest slice of a matching has been due
	MatchingCandidates   int64         // policies that the events whose matching is incomplete may affect
	UndecidedPolicies    int64         // those of them that were not decided
	UndecidablePolicies  int64         // policies whose matching fails alone and is attempted again
	SinceReleaseStop     time.Duration // since the release of payouts was stopped, while it is stopped
	Partitions           partition.Stats
	OrdersExcluded       int64 // accepted orders left out of bank files because they differ from what was accepted
}

// UnsettledStats adds up the payouts of one currency, status and reason.
type UnsettledStats struct {
	Status   claims.PayoutStatus
	Reason   string // blocked_reason; empty unless blocked
	Currency string
	Count    int64
	Amount   int64         // minor units; limited to 64 bits
	Oldest   time.Duration // the longest time since the rail was first called, or since the payout was blocked
}

// RailStats counts the payouts that a rail still has to confirm.
type RailStats struct {
	Rail   string
	Oldest time.Duration // since the rail accepted the oldest of them
}

// ExceptionStats counts the open reconciliation exceptions of one kind.
type ExceptionStats struct {
	Kind   payouts.ReconciliationExceptionKind
	Count  int64
	Oldest time.Duration
}

// FeedStats is the state of one feed.
type FeedStats struct {
	Source, URL string
	Age         time.Duration // since the last poll
	Failures    int64         // in a row
}

// maxUnsequencedCounted is the largest number of waiting events that is counted.
const maxUnsequencedCounted = 1_000_000

const healthStatsQuery = `with clock as materialized (select ` + store.BusinessNowSQL + ` as now)
select
	coalesce(extract(epoch from now - least(
		(select min(next_attempt_at) from payouts where next_attempt_at is not null and next_attempt_at <= now and status = 'pending'),
		(select min(updated_at) from payouts where next_attempt_at is null and status = 'pending'),
		(select min(updated_at) from payouts where next_attempt_at is not null and status = 'releasing'),
		(select min(a.started_at) from payouts po join payout_attempts a on a.payout_id = po.id and a.partner = po.partner and a.outcome = 'not_sent' and a.key like '%.' || po.idempotency_seq
			where po.status = 'pending' and po.attempts > 0 and po.next_attempt_at < now + interval '2 minutes'))), 0)::bigint as oldest_unpaid,
	(select count(*) from (select from event_outbox limit $1) o) as unnumbered,
	coalesce((select extract(epoch from now - e.occurred_at) from (select partner, event_id from event_outbox order by ordinal limit 1) o
		join events e on e.id = o.event_id and e.partner = o.partner), 0)::bigint as sequencing_lag,
	(select count(*) from deliveries where status = 'failed') as failed_deliveries,
	(select count(*) from webhook_progress where active and failures >= $2) as failing,
	(select count(*) from webhook_endpoints where status = 'disabled' and disabled_reason is not null and deleted_at is null) as disabled,
	coalesce((select extract(epoch from now - min(created_at)) from claims where status = 'opened'), 0)::bigint as undecided,
	coalesce((select extract(epoch from now - min(opened_at)) from claims where status = 'deferred' and reason_codes = array['source_preliminary']), 0)::bigint as awaiting_source,
	(select count(*) from claims where status = 'deferred' and next_review_at < now - interval '1 hour') as reviews_overdue,
	(select count(*) from quotes where status = 'priced' and expires_at < now - interval '10 minutes')
		+ (select count(*) from policies where status = 'active' and expires_at < now - interval '10 minutes') as expiry_overdue,
	(select count(*) from invariant_violations where acknowledged_at is null) as violations,
	coalesce(extract(epoch from now - coalesce((select min(checked_at) from invariant_checks), (select min(created_at) from partners))), 0)::bigint as unchecked,
	coalesce((select extract(epoch from now - stopped_at) from release_stops where resumed_at is null), 0)::bigint as stopped,
	(select count(*) from payment_orders where set_aside_at is not null) as orders_aside,
	(select count(*) from matching_slices where done_at is null and attempts >= $3) as undecidable,
	coalesce((select extract(epoch from now - min(due_at)) from matching_slices where done_at is null and attempts < $3), 0)::bigint as matching_lag,
	(select coalesce(sum(mf.candidates), 0)::bigint from matchings ma join matching_figures mf using (occurrence_id, version) where ma.completed_at is null) as matching_candidates,
	(select coalesce(sum(mf.candidates), 0)::bigint from matching_slices ms join matching_figures mf using (occurrence_id, version, number) where ms.done_at is null) as undecided_policies
from clock`

// HealthStats reads the figures with a few statements that use indexes. System and
// operators only.
func (s *Service) HealthStats(ctx context.Context, caller actor.Actor) (*HealthStats, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, err
	}
	v := new(HealthStats)
	var unpaid, lag, undecided, awaiting, unchecked, stopped, matching int64
	err := s.Pool.QueryRow(ctx, healthStatsQuery, maxUnsequencedCounted, webhooks.FailingAfter, adjudication.UndecidableAfter).Scan(&unpaid, &v.Unsequenced, &lag, &v.FailedDeliveries,
		&v.FailingEndpoints, &v.DisabledEndpoints, &undecided, &awaiting, &v.ReviewsOverdue, &v.ExpiryOverdue, &v.Violations, &unchecked, &stopped, &v.OrdersExcluded, &v.UndecidablePolicies, &matching,
		&v.MatchingCandidates, &v.UndecidedPolicies)
	if err != nil {
		return nil, store.TranslateError(fmt.Errorf("read health stats: %w", err))
	}
	v.OldestUnsent, v.SequencingLag = time.Duration(max(0, unpaid))*time.Second, time.Duration(max(0, lag))*time.Second
	v.OldestUndecided, v.OldestAwaitingSource = time.Duration(max(0, undecided))*time.Second, time.Duration(max(0, awaiting))*time.Second
	v.MatchingLag = time.Duration(max(0, matching)) * time.Second
	v.SinceInvariantCheck, v.SinceReleaseStop = time.Duration(max(0, unchecked))*time.Second, time.Duration(stopped)*time.Second
	if v.Partitions, err = partition.LoadStats(ctx, s.Store); err != nil {
		return nil, store.TranslateError(err)
	}
	return v, store.TranslateError(s.loadHealthLists(ctx, v))
}

// unsettledQuery adds up the payouts that are in doubt or blocked.
const unsettledQuery = `select status, coalesce(blocked_reason, '') as reason, currency, count(*) as count,
		least(sum(amount), 9223372036854775807)::bigint as amount, extract(epoch from ` + store.BusinessNowSQL + ` - min(case status when 'blocked' then updated_at
			else coalesce((select min(started_at) from payout_attempts a where a.payout_id = po.id and a.partner = po.partner and a.key like '%.' || po.idempotency_seq), updated_at) end))::bigint as seconds
	from payouts po where status in ('reconciling', 'blocked') group by 1, 2, 3 order by 1, 2, 3`

// loadUnsettled adds up the payouts that are in doubt or blocked.
func (s *Service) loadUnsettled(ctx context.Context) (all []UnsettledStats, err error) {
	var doubts []struct {
		Status        claims.PayoutStatus
		Reason        string
		Currency      string
		Count, Amount int64
		Seconds       int64
	}
	if err := s.QueryPreparedRows(ctx, s.Pool, &doubts, unsettledQuery); err != nil {
		return nil, fmt.Errorf("read money in doubt: %w", err)
	}
	for _, d := range doubts {
		all = append(all, UnsettledStats{d.Status, d.Reason, d.Currency, d.Count, d.Amount, time.Duration(max(0, d.Seconds)) * time.Second})
	}
	return all, nil
}

func (s *Service) loadHealthLists(ctx context.Context, v *HealthStats) (err error) {
	if v.Unsettled, err = s.loadUnsettled(ctx); err != nil {
		return err
	}
	if err := s.loadReportStats(ctx, v); err != nil {
		return err
	}
	var feeds []struct {
		Source, URL       string
		Seconds, Failures int64
	}
	err = s.QueryPreparedRows(ctx, s.Pool, &feeds, `select source, url, coalesce(extract(epoch from `+store.BusinessNowSQL+` - polled_at), 0)::bigint as seconds, failures::bigint as failures
		from feed_polls order by 1, 2`)
	for _, f := range feeds {
		v.Feeds = append(v.Feeds, FeedStats{f.Source, f.URL, time.Duration(f.Seconds) * time.Second, f.Failures})
	}
	return err
}

// loadReportStats reads what reports have not settled. The index gives the oldest payout
// of each rail, independent of their number.
func (s *Service) loadReportStats(ctx context.Context, v *HealthStats) error {
	var rows []struct {
		Name           string
		Count, Seconds int64
	}
	err := s.QueryPreparedRows(ctx, s.Pool, &rows, `with recursive oldest as (
			(select provider, released_at from payouts where status = 'released' order by provider, released_at limit 1)
			union all select n.provider, n.released_at from oldest o cross join lateral (select provider, released_at from payouts
				where status = 'released' and provider > o.provider order by provider, released_at limit 1) n)
		select provider as name, 0::bigint as count, extract(epoch from `+store.BusinessNowSQL+` - released_at)::bigint as seconds from oldest order by 1`)
	if err != nil {
		return fmt.Errorf("read what is unconfirmed: %w", err)
	}
	for _, r := range rows {
		v.Unconfirmed = append(v.Unconfirmed, RailStats{r.Name, time.Duration(max(0, r.Seconds)) * time.Second})
	}
	rows = nil
	err = s.QueryPreparedRows(ctx, s.Pool, &rows, `select kind as name, count(*) as count, extract(epoch from `+store.BusinessNowSQL+` - min(created_at))::bigint as seconds
		from reconciliation_exceptions where closed_at is null group by 1 order by 1`)
	for _, f := range rows {
		v.OpenExceptions = append(v.OpenExceptions, ExceptionStats{f.Name, f.Count, time.Duration(max(0, f.Seconds)) * time.Second})
	}
	return err
}
