package adjudication_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/modeltest"
	"parapet/model/money"
	"parapet/model/wire"
)

// epicentre is the place of the M 6.4 of 6 February 2018: 22 km from the insured centre
// at Hualien, the default of quake-circle.
var ()

func TestQuakeOpensApprovesAndReserves(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	b.Observe(modeltest.Quake("us1000chhc", b.Now(), modeltest.Epicentre, "6.4"))
	b.RunJobs()

	claim := b.OnlyClaim(policy)
	require.Equal(t, "approved", claim.Status)
	require.Equal(t, "trigger", claim.Origin)
	require.Equal(t, "us1000chhc", claim.Occurrence.SourceEventID)
	require.Equal(t, wire.Measure{Value: "6.4", Unit: "mw"}, *claim.Determination.Index)
	require.Equal(t, wire.Measure{Value: "6.0", Unit: "mw"}, claim.Determination.Threshold)
	require.InDelta(t, 22, *claim.Determination.DistanceKM, 0.1)
	require.Equal(t, "0.2", claim.Determination.Factor)
	require.Equal(t, "final", claim.Determination.Stage)
	require.Equal(t, policy.TermsHash, claim.Determination.TermsHash)
	require.Equal(t, money.New(2_000_000, "USD"), *claim.Amount)
	require.Equal(t, []string{"threshold_met"}, claim.Decision.ReasonCodes)
	require.Len(t, claim.Payouts, 1)
	require.Equal(t, "blocked", claim.Payouts[0].Status)
	require.Equal(t, "payout_method_missing", *claim.Payouts[0].BlockedReason)
	require.Equal(t, money.New(8_000_000, "USD"), b.Policy(policy.ID).LimitRemaining)
	require.Equal(t, []string{"trigger.observed", "claim.opened", "claim.approved", "payout.created", "payout.blocked"}, b.TimelineKinds(claim.ID))
}

func TestTheSameBatchAgainChangesNoRow(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	b.QuoteAndBind("quake-circle", nil)
	b.QuoteAndBind("quake-circle", modeltest.Context{"location": map[string]float64{"latitude": 24.1, "longitude": 121.6}})
	at := b.Now()
	batch := []wire.ObservationInput{
		modeltest.Quake("us1000chhc", at, modeltest.Epicentre, "6.4"),
		modeltest.Quake("us1000chhd", at, modeltest.Epicentre, "4.9"),
		modeltest.Fix("AL142018", at, hazard.Point{Latitude: 30, Longitude: -85.5}, "135"),
		modeltest.StationDay("Seattle", at.Truncate(24*time.Hour), "12"),
	}
	b.Observe(batch...)
	b.RunJobs()
	before := b.CountRows()
	for range 2 {
		for _, result := range b.Observe(batch...) {
			require.Equal(t, occurrence.ResultUnchanged, result.Result)
		}
		b.RunJobs()
	}
	require.Equal(t, before, b.CountRows())
}

func TestCoverBoundAfterTheOccurrenceDoesNotMatch(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	quote := b.Quote("quake-circle", nil)
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	policy := b.Bind(quote)
	b.RunJobs()
	require.Empty(t, b.Claims(policy))
}

func TestPreliminaryValuesWaitForTheFinalOnes(t *testing.T) {
	t.Parallel()
	final := trigger.Final
	for name, tc := range map[string]struct {
		revised  string
		status   string
		reasons  []string
		amount   *money.Money
		timeline []string
	}{
		"final above pays by the final value": {
			"6.6", "approved",
			[]string{"threshold_met"},
			modeltest.NewUSD(5_000_000),
			[]string{"trigger.observed", "claim.opened", "claim.deferred", "claim.approved", "payout.created", "payout.blocked"},
		},
		"final below declines": {
			"5.9", "declined",
			[]string{"threshold_not_met"},
			nil,
			[]string{"trigger.observed", "claim.opened", "claim.deferred", "claim.declined"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := modeltest.New(t)
			policy := b.QuoteAndBind("quake-circle", nil)
			report := modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4")
			report.Stage = trigger.Preliminary
			b.Observe(report)
			b.RunJobs()
			claim := b.OnlyClaim(policy)
			require.Equal(t, "deferred", claim.Status)
			require.Equal(t, []string{"source_preliminary"}, claim.Decision.ReasonCodes)
			require.NotNil(t, claim.Decision.NextReviewAt)
			require.Equal(t, "preliminary", claim.Determination.Stage)
			require.Nil(t, claim.Amount)
			require.Equal(t, policy.Limit, b.Policy(policy.ID).LimitRemaining)

			report.Stage = final
			report.Measures = map[string]wire.Measure{"magnitude": {Value: tc.revised, Unit: "mw"}}
			require.Equal(t, occurrence.ResultRevised, b.Observe(report)[0].Result)
			b.RunJobs()
			claim = b.OnlyClaim(policy)
			require.Equal(t, tc.status, claim.Status)
			require.Equal(t, tc.reasons, claim.Decision.ReasonCodes)
			require.Nil(t, claim.Decision.NextReviewAt)
			require.Equal(t, tc.amount, claim.Amount)
			require.Equal(t, tc.revised, claim.Determination.Index.Value)
			require.Equal(t, tc.timeline, b.TimelineKinds(claim.ID))
		})
	}
}

func TestChangeOfOnePolicyDecidesNoReportingWindowOfAnother(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	changed, other := b.QuoteAndBind("quake-circle", nil), b.QuoteAndBind("quake-circle", modeltest.Context{"term": "P30D"})
	_, err := b.DB.Bun.NewRaw("update policies set updated_at = (select min(reportable_until) from policies) where expires_at > (select min(expires_at) from policies)").Exec(t.Context())
	require.NoError(t, err)
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	b.RunJobs()
	require.Equal(t, "approved", b.OnlyClaim(changed).Status)
	require.Equal(t, "approved", b.OnlyClaim(other).Status)
}
