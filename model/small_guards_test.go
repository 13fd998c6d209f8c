package model_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/trigger"
)

func TestSecondAnswerOfAnAccountCheckChangesNothing(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := owed(b)
	method := b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunAccountChecks()
	before := b.CountRows()
	require.NoError(t, b.Service.RecordVerification(t.Context(), "acme", method.ID, modeltest.RailName, "AC04", false))
	require.Equal(t, before, b.CountRows())
	b.RunJobs()
	require.Equal(t, "released", only(t, b, claim).Status)
}

func TestEndpointIsDeletedAtTheRequiredVersionOnly(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	endpoint := must(b.Service.CreateWebhookEndpoint(t.Context(), b.Acme, model.WebhookEndpointRequest{URL: new("https://example.com/hooks")}))
	caller := b.Acme
	caller.Precondition = actor.RequireVersion(endpoint.ID, endpoint.Version+1)
	require.Equal(t, apperr.CodeVersionMismatch, apperr.CodeOf(b.Service.DeleteWebhookEndpoint(t.Context(), caller, endpoint.ID)))
	caller.Precondition = actor.RequireVersion(endpoint.ID, endpoint.Version)
	require.NoError(t, b.Service.DeleteWebhookEndpoint(t.Context(), caller, endpoint.ID))
}

func TestQuoteShowsTheMoratoriumThatEndsLast(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	for _, days := range []int{2, 9, 5} {
		must(b.Service.DeclareMoratorium(t.Context(), b.Operator, model.MoratoriumRequest{EndsAt: b.Now().AddDate(0, 0, days).Truncate(time.Second), Reason: "A storm is on its way."}))
	}
	shown := refusal(t, b, "quake-circle", nil)
	require.NotNil(t, shown)
	require.WithinDuration(t, b.Now().AddDate(0, 0, 9), shown.EndsAt, time.Minute)
}

func TestReplayIsRepeatedWithoutNamingItsEvent(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	replay := func(event string) error {
		_, _, err := b.Service.ReplayShift(t.Context(), "usgs", "digest", event, func(time.Time) (time.Duration, error) { return time.Hour, nil })
		return err
	}
	require.NoError(t, replay("us1"))
	require.NoError(t, replay(""))
	require.NoError(t, replay("us1"))
	require.Equal(t, apperr.CodeStateConflict, apperr.CodeOf(replay("us2")))
}

func TestProductionReplaysIntoRehearsalDatabasesOnly(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.InProduction())
	replay := func() error {
		_, _, err := b.Service.ReplayShift(t.Context(), "usgs", "digest", "us1", func(time.Time) (time.Duration, error) { return time.Hour, nil })
		return err
	}
	require.Equal(t, apperr.CodeStateConflict, apperr.CodeOf(replay()))
	execSQL(t, b, "update clock set is_rehearsal = true")
	require.NoError(t, replay())
}

func TestMissingPayoutIsDescribedWithItsOrder(t *testing.T) {
	t.Parallel()
	b, _, payout := newPayoutWithAnswer(t, modeltest.Accepted)
	b.AdvanceClock(10 * day)
	must(b.Service.OpenMissingExceptions(t.Context(), modeltest.RailName, day, 60*day))
	found := must(b.Service.ListReconciliationExceptions(t.Context(), b.Operator, false, store.PageRequest{})).Data
	require.Len(t, found, 1)
	require.Equal(t, []string{b.RailKey(payout.ID, 1), "iban ····3000"}, []string{*found[0].Key, *found[0].Account})
	require.Equal(t, payout.Amount, *found[0].Amount)
}

func TestDeferredClaimIsNotWrittenWithoutNews(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	observeQuake(b, "us1", "6.4", trigger.Preliminary)
	before := b.OnlyClaim(policy)
	require.Equal(t, "deferred", before.Status)
	require.NoError(t, b.Service.Evaluate(t.Context(), store.EvaluateOccurrences{Occurrences: []string{before.Occurrence.ID}}))
	b.RunJobs()
	require.Equal(t, before, b.OnlyClaim(policy))
}

// TestDecisionIsNotDatedBeforeTheClaimsLastEntry lets the last timeline entry be of a
// server whose clock is ahead.
func TestDecisionIsNotDatedBeforeTheClaimsLastEntry(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	waiting := observeQuake(b, "us1", "6.4", trigger.Preliminary)
	var ahead time.Time
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "update claims set timeline_updated_at = timeline_updated_at + interval '1 minute' returning timeline_updated_at").Scan(&ahead))
	waiting.Stage = trigger.Final
	b.Observe(waiting)
	b.RunJobs()
	claim := b.OnlyClaim(policy)
	require.Equal(t, "approved", claim.Status)
	require.False(t, claim.UpdatedAt.Before(ahead), "decided at %s, the last entry is of %s", claim.UpdatedAt, ahead)
}

// TestAdoptedReplacementShowsTheAccountThatWasPaid reports a replacement as paid that this
// database never sent and that shows no account.
func TestAdoptedReplacementShowsTheAccountThatWasPaid(t *testing.T) {
	t.Parallel()
	b, claim, payout := newPayoutWithAnswer(t, modeltest.Accepted)
	reconcile(t, b, "returned", dated(line(b, payout, "returned"), 1, "back"))
	replacement := b.Claim(claim.ID).Payouts[1]
	require.Nil(t, replacement.PayoutMethodID)
	require.Equal(t, map[string]int{"reconciled": 1}, reconcile(t, b, "settled", dated(line(b, replacement, "settled"), 2, "paid")).Results)
	require.Equal(t, payout.PayoutMethodID, b.Claim(claim.ID).Payouts[1].PayoutMethodID)
}
