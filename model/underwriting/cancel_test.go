package underwriting_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims/adjudication"
	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/underwriting"
	"parapet/model/wire"
)

func TestCancelledPolicyPaysEarlierOccurrences(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	before := b.Now()
	waiting := modeltest.ObserveQuake(b, "us1", "6.4", trigger.Preliminary)
	cancelled, err := b.Service.Policies.Cancel(t.Context(), b.Operator, modeltest.NewCancellation(policy))
	require.NoError(t, err)
	require.Equal(t, cancelled, b.Policy(policy.ID))
	require.Equal(t, "cancelled", cancelled.Status)
	require.Equal(t, "ended", cancelled.CoverPhase)
	require.WithinRange(t, *cancelled.CancelledAt, waiting.OccurredAt, b.Now())
	require.Equal(t, "policy.cancelled", b.Events()[len(b.Events())-1])

	modeltest.ObserveQuake(b, "us2", "7.4", trigger.Final)
	require.Equal(t, "us1", b.OnlyClaim(policy).Occurrence.SourceEventID, "what happens after is not covered")
	modeltest.ReportFinal(b, waiting, "6.4")
	require.Equal(t, *modeltest.NewUSD(2_000_000), *b.OnlyClaim(policy).Amount)
	b.Observe(modeltest.Quake("us3", before, modeltest.Epicentre, "6.4"))
	b.RunJobs()
	require.Len(t, b.Claims(policy), 2, "reported late, happened in time")

	_, err = b.Service.Policies.Cancel(t.Context(), b.Operator, modeltest.NewCancellation(policy))
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code)
	require.Equal(t, "It is cancelled already.", modeltest.DomainError(t, err).Detail)
	_, _, err = b.Service.Adjudication.Open(t.Context(), b.Acme, adjudication.ClaimRequest{PolicyID: policy.ID})
	require.Equal(t, apperr.CodePolicyNotInForce, modeltest.DomainError(t, err).Code)
}

func TestOperatorCancelsPolicyBeforeCoverBegins(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	for _, product := range []string{"quake-circle", "rain-excess", "rain-deficit", "cyclone-circle"} {
		policy := b.QuoteAndBind(product, modeltest.Context{"starts_at": b.Now().AddDate(0, 0, 2).Format(time.RFC3339)})
		cancelled, err := b.Service.Policies.Cancel(t.Context(), b.Operator, modeltest.NewCancellation(policy))
		require.NoError(t, err)
		require.True(t, cancelled.CancelledAt.Before(cancelled.EffectiveAt))
		require.Equal(t, "ended", cancelled.CoverPhase)
	}
	b.AdvanceClock(4 * 24 * time.Hour)
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "7.4"), modeltest.Fix("AL01", b.Now(), modeltest.Miami, "140"))
	b.RunJobs()
	require.Zero(t, b.CountRows()["claims"])
}

// A partner cancels a policy before its cover begins and owes nothing for it.
func TestPartnerCancelsPolicyBeforeCoverBegins(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	begun := b.QuoteAndBind("quake-circle", nil)
	policy := b.QuoteAndBind("quake-circle", modeltest.Context{"starts_at": b.Now().AddDate(0, 0, 2).Format(time.RFC3339)})
	own := underwriting.CancellationRequest{PolicyID: policy.ID}
	_, err := b.Service.Policies.Cancel(t.Context(), b.Globex, own)
	require.Equal(t, apperr.CodeNotFound, modeltest.DomainError(t, err).Code)
	_, err = b.Service.Policies.Cancel(t.Context(), b.Acme, underwriting.CancellationRequest{PolicyID: begun.ID})
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code)
	require.Contains(t, modeltest.DomainError(t, err).Detail, "began at")
	_, err = b.Service.Policies.Cancel(t.Context(), b.Acme, modeltest.NewCancellation(policy))
	require.Equal(t, []string{"/reason"}, modeltest.FieldPointers(modeltest.DomainError(t, err)), "only operators give a reason")
	_, err = b.Service.Policies.Cancel(t.Context(), b.Operator, own)
	require.Equal(t, []string{"/reason"}, modeltest.FieldPointers(modeltest.DomainError(t, err)), "operators must give a reason")

	cancelled, err := b.Service.Policies.Cancel(t.Context(), b.Acme, own)
	require.NoError(t, err)
	require.Equal(t, "cancelled", cancelled.Status)
	_, err = b.Service.Policies.Cancel(t.Context(), b.Acme, own)
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code)
	var entries, sum, gross int
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select count(*), sum(amount), sum(abs(amount)) from ledger_entries where policy_id = $1", modeltest.DatabaseID(policy)).Scan(&entries, &sum, &gross))
	require.Equal(t, 8, entries, "premium and commission, written and reversed")
	require.Zero(t, sum)
	var left int
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), `select count(*) from (select account from ledger_entries where policy_id = $1
		group by account having sum(amount) <> 0) as a`, modeltest.DatabaseID(policy)).Scan(&left))
	require.Zero(t, left)
	require.Equal(t, "policy.cancelled", b.Events()[len(b.Events())-1])
}

func TestCancellationKeepsDayOfDeferredClaimCovered(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("rain-excess", modeltest.Context{"days": 1})
	b.AdvanceClock(3 * 24 * time.Hour)
	today := b.Now().Truncate(24 * time.Hour)
	wet := modeltest.StationDay(policy.Cover.Place.Station, today, "180")
	wet.Stage = trigger.Preliminary
	b.Observe(wet)
	b.RunJobs()
	_, _, err := b.Service.Adjudication.Open(t.Context(), b.Acme, modeltest.NewSourceEventClaim(policy, wet.Source, wet.SourceEventID))
	require.NoError(t, err)
	require.Equal(t, "deferred", b.OnlyClaim(policy).Status)
	cancelled, err := b.Service.Policies.Cancel(t.Context(), b.Operator, modeltest.NewCancellation(policy))
	require.NoError(t, err)
	require.Equal(t, today.AddDate(0, 0, 1), *cancelled.CancelledAt, "the claimed day is covered to its end")
	wet.Stage = trigger.Final
	b.Observe(wet, modeltest.StationDay(policy.Cover.Place.Station, today.AddDate(0, 0, -1), "1"))
	b.RunJobs()
	require.Equal(t, "approved", b.OnlyClaim(policy).Status)
}

func TestOnlyActivePolicyCanBeCancelled(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	exhausted, over := b.QuoteAndBind("quake-circle", nil), b.QuoteAndBind("rain-excess", modeltest.Context{"term": "P30D"})
	modeltest.ObserveQuake(b, "us1", "7.4", trigger.Final)
	b.AdvanceClock(31 * 24 * time.Hour)
	for _, policy := range []*wire.Policy{exhausted, over} {
		_, err := b.Service.Policies.Cancel(t.Context(), b.Operator, modeltest.NewCancellation(policy))
		require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code)
	}
	require.Equal(t, "active", b.Policy(over.ID).Status, "its end has passed before the sweep")
	in := modeltest.NewCancellation(over)
	in.Reason = new("")
	_, err := b.Service.Policies.Cancel(t.Context(), b.Operator, in)
	require.Equal(t, []string{"/reason"}, modeltest.FieldPointers(modeltest.DomainError(t, err)))
}

func TestConcurrentCancelAndMatch(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithConnections(12))
	policy := b.QuoteAndBind("quake-circle", nil)
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	job, ok := b.TakeJob().(occurrence.EvaluateOccurrences)
	require.True(t, ok)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := b.Service.Adjudication.Evaluate(t.Context(), job); err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			_, err := b.Service.Policies.Cancel(t.Context(), b.Operator, modeltest.NewCancellation(policy))
			if err != nil && apperr.CodeOf(err) != apperr.CodeStateConflict {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.Equal(t, "cancelled", b.Policy(policy.ID).Status)
	require.Equal(t, "approved", b.OnlyClaim(policy).Status, "the event was before the cancellation")
}
