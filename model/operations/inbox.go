package operations

import (
	"context"
	"fmt"
	"strings"

	"parapet/model/claims"
	"parapet/model/events/webhooks"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/optional"
	"parapet/model/kernel/store"
	"parapet/model/money"
)

// Inbox counts what waits for an operator, each up to store.MaxTotal.
type Inbox struct {
	Approvals, ClaimsToDecide, Challenges, ReconciliationExceptions, FailingEndpoints int
	ReleaseStops, ViolatedInvariants, StaleSources, FailingJobs                       int
	Unsettled                                                                         []UnsettledPayouts
}

// UnsettledPayouts adds up payouts in doubt or blocked, as UnsettledStats does.
type UnsettledPayouts struct {
	Status        string
	BlockedReason *string
	Count         int64
	Amount        money.Money
	OldestSeconds int64
}

// inboxQuery counts what waits; each source of rows has an index or few rows.
var inboxQuery = func() string {
	count := func(rows string) string {
		return fmt.Sprintf("(select count(*) from (select from %s limit %d) as counted)", rows, store.MaxTotal)
	}
	return "select " + strings.Join([]string{
		count("payouts where status = 'blocked' and blocked_reason = 'approval_required'"),
		count("claims c where " + strings.ReplaceAll(claims.ToDecideSQL, "!", "c")),
		count("claim_challenges where status = 'open'"),
		count("reconciliation_exceptions where closed_at is null"),
		count("webhook_endpoints w where " + strings.ReplaceAll(webhooks.FailingSQL, "!", "w")),
		count("release_stops where resumed_at is null"),
		"(select count(distinct name) from invariant_violations where acknowledged_at is null)",
		count("sources s where s.enabled and exists (select from feed_polls f where f.source = s.name and f.failures > 0 and f.next_poll_at > " + store.BusinessNowSQL + " - interval '1 hour')"),
	}, ", ")
}()

// CountInbox counts what waits for an operator. Operators only.
func (s *Service) CountInbox(ctx context.Context, caller actor.Actor) (*Inbox, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, err
	}
	in := &Inbox{Unsettled: []UnsettledPayouts{}}
	err := s.Pool.QueryRow(ctx, inboxQuery).Scan(&in.Approvals, &in.ClaimsToDecide, &in.Challenges, &in.ReconciliationExceptions, &in.FailingEndpoints, &in.ReleaseStops, &in.ViolatedInvariants, &in.StaleSources)
	if err != nil {
		return nil, store.TranslateError(fmt.Errorf("count the inbox: %w", err))
	}
	stats, err := s.loadUnsettled(ctx)
	if err != nil {
		return nil, store.TranslateError(err)
	}
	for _, u := range stats {
		in.Unsettled = append(in.Unsettled, UnsettledPayouts{string(u.Status), optional.NonZero(u.Reason), u.Count, money.New(u.Amount, u.Currency), int64(u.Oldest.Seconds())})
	}
	if s.jobs != nil {
		failing, err := s.jobs.Failing(ctx)
		if err != nil {
			return nil, store.TranslateError(err)
		}
		in.FailingJobs = len(failing)
	}
	return in, nil
}
