package model_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/money"
	"parapet/model/wire"
)

func TestMatcherAndPartnerRaceForOneClaim(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	job, ok := b.TakeJob().(occurrence.EvaluateOccurrences)
	require.True(t, ok)
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			if err := b.Service.Adjudication.Evaluate(t.Context(), job); err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			if _, _, err := b.Service.Adjudication.Open(t.Context(), b.Acme, modeltest.NewSourceEventClaim(policy, "usgs", "us1")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.Equal(t, money.New(2_000_000, "USD"), *b.OnlyClaim(policy).Amount)
}

func TestManyQuakesNeverPayMoreThanTheLimit(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	var quakes []wire.ObservationInput
	for _, id := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		b.AdvanceClock(2 * time.Minute)
		quakes = append(quakes, modeltest.Quake(id, b.Now(), modeltest.Epicentre, "6.5")) // half the limit each
	}
	var jobs []occurrence.EvaluateOccurrences
	for _, quake := range quakes {
		b.Observe(quake)
		job, ok := b.TakeJob().(occurrence.EvaluateOccurrences)
		require.True(t, ok)
		jobs = append(jobs, job)
	}
	var all sync.WaitGroup
	for _, job := range jobs {
		all.Go(func() {
			if err := b.Service.Adjudication.Evaluate(t.Context(), job); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	var paid int64
	states := map[string]int{}
	for _, claim := range b.Claims(policy) {
		states[claim.Status]++
		if claim.Amount != nil {
			paid += claim.Amount.Amount
		}
	}
	require.Equal(t, map[string]int{"approved": 2, "declined": 6}, states)
	require.Equal(t, policy.Limit.Amount, paid)
	require.Equal(t, "exhausted", b.Policy(policy.ID).Status)
}

func TestSourcesReportAtOnce(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	at := b.Now()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			in := []wire.ObservationInput{modeltest.Quake("us1", at, modeltest.Epicentre, "6.4"), modeltest.Fix("AL01", at, modeltest.Hualien, "80")}
			if _, err := b.Service.Occurrences.RecordObservations(t.Context(), b.Source, in, false); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	b.RunJobs()
	require.Equal(t, 2, b.CountRows()["occurrences"])
	require.Equal(t, 2, b.CountRows()["observations"])
	require.Equal(t, "approved", b.OnlyClaim(policy).Status)
}

func TestAmountsAboveTheAutomaticOneWaitForApproval(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", modeltest.Context{"limit": map[string]any{"amount": 100_000_000, "currency": "USD"}})
	method := modeltest.PolicyIBANMethod(policy.ID)
	b.RecordPayoutMethod(method)
	b.RunJobs()
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	b.RunJobs()
	payout := modeltest.OnlyPayout(t, b, b.OnlyClaim(policy))
	require.Equal(t, "approval_required", *payout.BlockedReason)
	require.Empty(t, b.Rail.Orders)
}

func TestADeclinedClaimTakesNoPayoutMethod(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "7.4"))
	b.RunJobs()
	b.AdvanceClock(2 * time.Minute)
	b.Observe(modeltest.Quake("us2", b.Now(), modeltest.Epicentre, "7.4"))
	b.RunJobs()
	declined := b.Claims(policy)[1]
	_, err := b.Service.Payouts.RecordMethod(t.Context(), b.Acme, modeltest.IBANMethod(declined.ID))
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code)
	euro := modeltest.IBANMethod(b.Claims(policy)[0].ID)
	euro.Currency = "EUR"
	_, err = b.Service.Payouts.RecordMethod(t.Context(), b.Acme, euro)
	require.Equal(t, []string{"/currency"}, modeltest.FieldPointers(modeltest.DomainError(t, err)))
	_, err = b.Service.Payouts.RecordMethod(t.Context(), b.Globex, modeltest.IBANMethod(declined.ID))
	require.Equal(t, apperr.CodeNotFound, modeltest.DomainError(t, err).Code)
}

func TestAccountNumberIsNeverStoredInPlainText(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	method := b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	require.Equal(t, method.Fingerprint, b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID)).Fingerprint, "equal accounts look equal")
	b.RunJobs()
	for table := range b.CountRows() {
		var leaked int
		require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select count(*) from "+table+" r where r::text like '%DE89370400440532013000%' or r::text like '%370400440532013000%'").Scan(&leaked))
		require.Zero(t, leaked, table)
	}
}
