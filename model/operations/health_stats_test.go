package operations_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims"
	"parapet/model/claims/adjudication"
	"parapet/model/events/webhooks"
	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/operations"
	"parapet/model/payouts"
	"parapet/model/payouts/release"
)

func TestEveryHealthStatIsNonZeroWhenProvoked(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	quiet, err := b.Service.Operations.HealthStats(t.Context(), b.Operator)
	require.NoError(t, err)
	quiet.SinceInvariantCheck = 0 // the checks do not run in this test
	require.Equal(t, operations.HealthStats{}, *quiet, "an idle service has no alarms")

	policy := b.QuoteAndBind("quake-circle", nil)
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	b.RunJobs()
	url := "https://example.com/hooks"
	endpoint, err := b.Service.Webhooks.CreateEndpoint(t.Context(), b.Acme, webhooks.EndpointRequest{URL: &url})
	require.NoError(t, err)
	require.NoError(t, b.Service.Occurrences.SavePoll(t.Context(), occurrence.FeedPoll{Source: "usgs", URL: "https://example.com/feed", Failures: 3}, time.Minute))
	asked := modeltest.OpenApprovalClaim(t, b, policy, nil)
	b.Quote("rain-excess", nil)
	_, err = b.DB.Pool.Exec(t.Context(), `insert into deliveries (id, partner, created_at, updated_at, endpoint_id, event_id, sequence, subject_id, status, attempts_in_round, attempts)
			select gen_random_uuid(), partner, now(), now(), id, gen_random_uuid(), 1, gen_random_uuid(), 'failed', 10, '[]' from webhook_endpoints;
		update webhook_progress set failures = 10;
		insert into payouts select (jsonb_populate_record(p, jsonb_build_object('id', gen_random_uuid(), 'claim_sequence', null, 'debt_digest', left(md5(random()::text), 16), 'status', 'pending', 'installment', 9, 'blocked_reason', null))).* from payouts p;
		update claims set status = 'deferred', next_review_at = now() where status = 'approved'`)
	require.NoError(t, err)
	require.NoError(t, b.Service.ShiftClock(t.Context(), 25*time.Hour)) // the relay does not run meanwhile
	v, err := b.Service.Operations.HealthStats(t.Context(), b.Operator)
	require.NoError(t, err)
	require.GreaterOrEqual(t, v.OldestUnsent, 25*time.Hour)
	require.GreaterOrEqual(t, v.SequencingLag, 25*time.Hour)
	require.Positive(t, v.Unsequenced)
	require.EqualValues(t, 1, v.FailedDeliveries)
	require.EqualValues(t, 1, v.FailingEndpoints)
	require.GreaterOrEqual(t, v.OldestUndecided, 25*time.Hour)
	require.EqualValues(t, 1, v.ReviewsOverdue)
	require.EqualValues(t, 1, v.ExpiryOverdue, "a quote before its sweep")
	require.Len(t, v.Feeds, 1)
	require.GreaterOrEqual(t, v.Feeds[0].Age, 25*time.Hour)
	require.EqualValues(t, 3, v.Feeds[0].Failures)
	require.Len(t, v.Unsettled, 1)
	require.Equal(t, claims.PayoutBlocked, v.Unsettled[0].Status)
	require.EqualValues(t, 2_000_000, v.Unsettled[0].Amount)
	require.Equal(t, policy.Limit.Currency, v.Unsettled[0].Currency)
	require.GreaterOrEqual(t, v.Unsettled[0].Oldest, 25*time.Hour)

	_, err = b.DB.Pool.Exec(t.Context(), "update webhook_endpoints set status = 'disabled', disabled_reason = 'It answered 410 Gone.' where partner_reference is null")
	require.NoError(t, err)
	v, err = b.Service.Operations.HealthStats(t.Context(), b.Operator)
	require.NoError(t, err)
	require.EqualValues(t, 1, v.DisabledEndpoints, endpoint.ID)
	_, err = b.Service.Adjudication.Decide(t.Context(), b.Operator, adjudication.DecisionRequest{ClaimID: asked.ID, Outcome: claims.ClaimDeclined})
	require.NoError(t, err)
	require.Zero(t, modeltest.Must(b.Service.Operations.HealthStats(t.Context(), b.Operator)).OldestUndecided)
	_, err = b.Service.Operations.HealthStats(t.Context(), b.Acme)
	require.Equal(t, apperr.CodeInsufficientScope, apperr.CodeOf(err))
}

func TestUnsettledPayoutsAreCountedByReason(t *testing.T) {
	t.Parallel()
	for reason, answer := range map[string]payouts.RailAnswer{"": modeltest.Unknown, "rail_mismatch": modeltest.Mismatched, "rail_rejected": modeltest.Refused} {
		b, _, payout := modeltest.NewPayoutWithAnswer(t, answer)
		b.AdvanceClock(time.Hour)
		doubt := modeltest.Must(b.Service.Operations.HealthStats(t.Context(), b.Operator)).Unsettled
		require.Len(t, doubt, 1, reason)
		require.Equal(t, reason, doubt[0].Reason)
		require.Equal(t, payout.Amount.Amount, doubt[0].Amount)
		require.EqualValues(t, 1, doubt[0].Count)
		require.GreaterOrEqual(t, doubt[0].Oldest, time.Hour)
	}
}

// The time in doubt does not include the payout's waiting time before its first attempt.
func TestUnsettledAgeStartsAtFirstAttempt(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	b.AdvanceClock(50 * time.Hour)
	b.Rail.Answer = func(*release.Release) payouts.RailAnswer { return modeltest.Unknown }
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunJobs()
	oldest := func(status claims.PayoutStatus) time.Duration {
		doubt := modeltest.Must(b.Service.Operations.HealthStats(t.Context(), b.Operator)).Unsettled
		require.Len(t, doubt, 1)
		require.Equal(t, status, doubt[0].Status)
		return doubt[0].Oldest
	}
	require.Less(t, oldest(claims.PayoutReconciling), time.Minute, "it had no account")
	for range 3 {
		b.AdvanceClock(time.Hour)
		b.Sweep()
		b.RunJobs()
	}
	require.GreaterOrEqual(t, oldest(claims.PayoutReconciling), 3*time.Hour, "independent of the number of inquiries")
	require.Less(t, oldest(claims.PayoutReconciling), 4*time.Hour)
	_, err := modeltest.ResolvePayout(t, b, modeltest.OnlyPayout(t, b, claim), claims.PayoutBlocked, "", false)
	require.NoError(t, err)
	require.Less(t, oldest(claims.PayoutBlocked), time.Minute)
}

func TestUnconfirmedPayoutsAndExceptionsHaveAge(t *testing.T) {
	t.Parallel()
	b, _, payout := modeltest.NewPayoutWithAnswer(t, modeltest.Accepted)
	b.AdvanceClock(50 * time.Hour)
	v := modeltest.Must(b.Service.Operations.HealthStats(t.Context(), b.Operator))
	require.Len(t, v.Unconfirmed, 1)
	require.Equal(t, modeltest.RailName, v.Unconfirmed[0].Rail)
	require.GreaterOrEqual(t, v.Unconfirmed[0].Oldest, 50*time.Hour)
	require.Empty(t, v.OpenExceptions)

	modeltest.Reconcile(t, b, "r", modeltest.ReportLine(b, payout, "settled"), modeltest.ReportLine(b, payout, "settled"))
	b.AdvanceClock(time.Hour)
	v = modeltest.Must(b.Service.Operations.HealthStats(t.Context(), b.Operator))
	require.Empty(t, v.Unconfirmed)
	require.Len(t, v.OpenExceptions, 1)
	require.Equal(t, payouts.ResultDuplicate, v.OpenExceptions[0].Kind)
	require.EqualValues(t, 1, v.OpenExceptions[0].Count)
	require.GreaterOrEqual(t, v.OpenExceptions[0].Oldest, time.Hour)
}

// A cooling-off period, and an operator's long hold, do not count as delay.
func TestOldestUnsentStartsWhenPayoutIsDue(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	late := func() time.Duration {
		return modeltest.Must(b.Service.Operations.HealthStats(t.Context(), b.Operator)).OldestUnsent
	}
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunAccountChecks()
	payout := modeltest.OnlyPayout(t, b, claim)
	_, err := modeltest.HoldPayout(t, b, payout, claims.BlockedOperator)
	require.NoError(t, err)
	b.AdvanceClock(50 * time.Hour)
	_, err = modeltest.LiftHold(t, b, payout)
	require.NoError(t, err)
	require.Less(t, late(), time.Minute, "it was held")
	b.RecordPayoutMethod(modeltest.BritishIBAN(claim.ID))
	b.RunAccountChecks()
	b.AdvanceClock(23 * time.Hour)
	require.Zero(t, late(), "its account was changed")
	b.AdvanceClock(2 * time.Hour)
	require.GreaterOrEqual(t, late(), time.Hour-time.Minute)
	require.Less(t, late(), 2*time.Hour)
}

func TestUnsettledQueryUsesIndex(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	b.RecordPayoutMethod(modeltest.IBANMethod(modeltest.NewApprovedClaim(b).ID))
	b.RunJobs()
	_, err := b.DB.Pool.Exec(t.Context(), `begin; set local session_replication_role = replica; -- payouts without claims
		insert into payouts select n.* from (select to_jsonb(p) as j from payouts p) as r, generate_series(1, 20000) i,
			jsonb_populate_record(null::payouts, r.j || jsonb_build_object('id', gen_random_uuid(), 'claim_id', gen_random_uuid(), 'debt_digest', left(md5(random()::text), 16), 'installment', i)) n;
		commit; analyze payouts`)
	require.NoError(t, err)
	plan, err := b.Service.Operations.ExplainUnsettled(t.Context())
	require.NoError(t, err)
	require.Contains(t, plan, "payouts_unsettled_idx")
	require.NotContains(t, plan, "Seq Scan on payouts")
}
