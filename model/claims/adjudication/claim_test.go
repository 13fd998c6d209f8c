package adjudication_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"parapet/model/claims/adjudication"
	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/money"
	"parapet/model/payouts"
	"parapet/model/wire"
)

func TestOpenClaimReturnsClaimOpenedByMatching(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	b.RunJobs()
	claim, created, err := b.Service.Adjudication.Open(t.Context(), b.Acme, modeltest.NewSourceEventClaim(policy, "usgs", "us1"))
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, b.OnlyClaim(policy).ID, claim.ID)
}

func TestPartnerOpensClaimBeforeMatching(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	observation := b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))[0].ID
	claim, created, err := b.Service.Adjudication.Open(t.Context(), b.Acme, adjudication.ClaimRequest{
		PolicyID: policy.ID, ObservationID: observation, Description: new("Cracks in the hall."), PartnerReference: new("loss-1"),
		Metadata: map[string]string{"adjuster": "none"},
	})
	require.NoError(t, err)
	require.True(t, created)
	require.Equal(t, "approved", claim.Status)
	require.Equal(t, "loss-1", *claim.PartnerReference)
	require.NotNil(t, claim.MeasurementState)
	claim.MeasurementState = nil // it is computed when a claim is read, and not stored
	b.RunJobs()
	require.Equal(t, claim, b.OnlyClaim(policy), "the matcher finds it and changes nothing")
}

func TestTriggerNotMetErrorHasMissedBy(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	deep := modeltest.Quake("deep", b.Now(), modeltest.Hualien, "6.9")
	deep.Measures["depth"] = wire.Measure{Value: policy.Cover.Trigger.MaximumDepthKM.Add(decimal.NewFromInt(50)).String(), Unit: "km"}
	b.Observe(deep,
		modeltest.Quake("weak", b.Now(), modeltest.Epicentre, "5.9"),
		modeltest.Quake("far", b.Now(), hazard.Point{Latitude: 25.5, Longitude: 121.6}, "7.4"),
	)
	open := func(id string) *apperr.Error {
		_, _, err := b.Service.Adjudication.Open(t.Context(), b.Acme, modeltest.NewSourceEventClaim(policy, "usgs", id))
		return modeltest.DomainError(t, err)
	}
	weak := open("weak")
	require.Equal(t, apperr.CodeTriggerNotMet, weak.Code)
	require.Equal(t, "threshold_not_met", weak.Extra["reason"])
	require.Equal(t, &wire.Measure{Value: "5.9", Unit: "mw"}, weak.Extra["index"])
	require.Equal(t, wire.Measure{Value: "6.0", Unit: "mw"}, weak.Extra["threshold"])
	require.Equal(t, &wire.Measure{Value: "0.1", Unit: "mw"}, weak.Extra["missed_by"])
	far := open("far")
	require.Equal(t, "outside_place", far.Extra["reason"])
	require.InDelta(t, 169, *far.Extra["distance_km"].(*float64), 1)
	require.Equal(t, &wire.Measure{Value: fmt.Sprintf("%.2f", *far.Extra["distance_km"].(*float64)-50), Unit: "km"}, far.Extra["missed_by"], "outside the circle of 50 km")
	below := open("deep")
	require.Equal(t, &wire.Measure{Value: "50", Unit: "km"}, below.Extra["missed_by"])
	require.Contains(t, below.Detail, "it was "+deep.Measures["depth"].Value+" km deep")
	require.Equal(t, apperr.CodeNotFound, open("unknown").Code)
	require.Zero(t, b.CountRows()["claims"])
}

// TestClaimOfTheSecondOfBindingNamesTheMoments reports an earthquake in whole seconds, in
// the second in which the policy was bound.
func TestClaimOfTheSecondOfBindingNamesTheMoments(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	before := policy.EffectiveAt.Add(-time.Microsecond)
	b.Observe(modeltest.Quake("us1", before, modeltest.Epicentre, "6.4"))
	_, _, err := b.Service.Adjudication.Open(t.Context(), b.Acme, modeltest.NewSourceEventClaim(policy, "usgs", "us1"))
	require.Equal(t, "outside_period", modeltest.DomainError(t, err).Extra["reason"])
	require.ErrorContains(t, err, fmt.Sprintf("The trigger is not met: it happened outside the period of cover, from %s to %s: at %s.",
		policy.EffectiveAt.Format(trigger.TimeFormat), policy.ExpiresAt.Format(trigger.TimeFormat), before.Format(trigger.TimeFormat)))
}

func TestClaimOnOtherPartnersPolicyIsNotFound(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.ActingAs(b.Globex).QuoteAndBind("quake-circle", nil)
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	_, _, err := b.Service.Adjudication.Open(t.Context(), b.Acme, modeltest.NewSourceEventClaim(policy, "usgs", "us1"))
	foreign := modeltest.DomainError(t, err)
	require.Equal(t, apperr.CodeNotFound, foreign.Code)
	_, _, err = b.Service.Adjudication.Open(t.Context(), b.Acme, adjudication.ClaimRequest{PolicyID: "pol_01kajw6p5qfn1t7zbjy0yse3hv"})
	require.Equal(t, foreign, modeltest.DomainError(t, err))
}

func TestApprovalClaimWaitsForOperator(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	asked := money.New(125_000, "USD")
	for _, requested := range []*money.Money{&asked, nil} {
		claim, created, err := b.Service.Adjudication.Open(t.Context(), b.Acme, adjudication.ClaimRequest{PolicyID: policy.ID, RequestedAmount: requested})
		require.NoError(t, err)
		require.True(t, created)
		require.Equal(t, "opened", claim.Status)
		require.Equal(t, "approval", claim.Origin)
		require.Equal(t, requested, claim.RequestedAmount)
		require.Nil(t, claim.Occurrence)
		require.Nil(t, claim.Determination)
		require.Nil(t, claim.Decision)
		require.Equal(t, []string{"claim.opened"}, b.TimelineKinds(claim.ID))
	}
	require.Equal(t, policy.Limit, b.Policy(policy.ID).LimitRemaining, "nothing is reserved before a decision")
}

func TestOpenClaimNeedsCoverAndRemainingLimit(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	code := func(in adjudication.ClaimRequest) apperr.Code {
		_, _, err := b.Service.Adjudication.Open(t.Context(), b.Acme, in)
		return modeltest.DomainError(t, err).Code
	}
	full := b.QuoteAndBind("quake-circle", nil)
	later := b.QuoteAndBind("quake-circle", modeltest.Context{"starts_at": b.Now().Add(300 * 24 * time.Hour).Format(time.RFC3339)})
	short := b.QuoteAndBind("quake-circle", modeltest.Context{"term": "P30D"})
	require.Equal(t, apperr.CodePolicyNotInForce, code(adjudication.ClaimRequest{PolicyID: later.ID}))
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "7.4"))
	b.RunJobs()
	require.Equal(t, apperr.CodeLimitExhausted, code(adjudication.ClaimRequest{PolicyID: full.ID}))
	b.Observe(modeltest.Quake("us2", b.Now(), modeltest.Epicentre, "7.4"))
	require.Equal(t, apperr.CodeLimitExhausted, code(modeltest.NewSourceEventClaim(full, "usgs", "us2")))
	b.AdvanceClock(31 * 24 * time.Hour)
	require.Equal(t, apperr.CodePolicyNotInForce, code(adjudication.ClaimRequest{PolicyID: short.ID}), "occurred_at is missing")
	b.AdvanceClock(100 * 24 * time.Hour)
	require.Equal(t, apperr.CodePolicyNotInForce, code(adjudication.ClaimRequest{PolicyID: short.ID, OccurredAt: &short.EffectiveAt}), "the reporting window is over")
}

func TestLateClaimForOccurrenceInCoverIsAccepted(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", modeltest.Context{"term": "P30D"})
	at := b.Now()
	b.AdvanceClock(60 * 24 * time.Hour)
	b.Sweep()
	b.Observe(modeltest.Quake("us1", at, modeltest.Epicentre, "6.4"))
	b.RunJobs()
	require.Equal(t, "expired", b.Policy(policy.ID).Status)
	require.Equal(t, "approved", b.OnlyClaim(policy).Status)
}

func TestEmptyIDIsNotFound(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	_, _, err := b.Service.Adjudication.Open(t.Context(), b.Acme, adjudication.ClaimRequest{PolicyID: policy.ID, ObservationID: new("")})
	require.Equal(t, apperr.CodeNotFound, modeltest.DomainError(t, err).Code, "it is not an approval claim")
	for _, in := range []payouts.MethodRequest{modeltest.IBANMethod(""), modeltest.PolicyIBANMethod("")} {
		_, err = b.Service.Payouts.RecordMethod(t.Context(), b.Acme, in)
		require.Equal(t, apperr.CodeNotFound, modeltest.DomainError(t, err).Code)
	}
	require.Empty(t, b.Claims(policy))
}
