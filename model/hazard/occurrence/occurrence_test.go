package occurrence_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims/adjudication"
	"parapet/model/hazard"
	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/money"
	"parapet/model/underwriting"
	"parapet/model/wire"
)

func TestSecondMatchingPassFindsPoliciesBeingBound(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	quote := b.Quote("quake-circle", nil)

	// The bind has read its start time but not committed: another transaction holds the
	// index entry that it needs.
	binding := b.BlockReference("ref-1")
	bound := make(chan *wire.Policy, 1)
	go func() {
		policy, err := b.Service.Policies.Bind(context.WithoutCancel(t.Context()), b.Acme, underwriting.BindRequest{QuoteID: quote.ID, PartnerReference: new("ref-1")})
		if err != nil {
			t.Error(err)
		}
		bound <- policy
	}()
	binding.AwaitWaiter()
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	job, ok := b.TakeJob().(occurrence.EvaluateOccurrences)
	require.True(t, ok)
	require.NoError(t, b.Service.Adjudication.Evaluate(t.Context(), job))
	second, ok := b.LastJob().(occurrence.EvaluateOccurrences)
	require.True(t, ok)
	require.NotEmpty(t, second.After)
	require.ErrorIs(t, b.Service.Adjudication.Evaluate(t.Context(), second), adjudication.ErrBarrierPending, "the bind is still running")
	binding.Release()
	policy := <-bound
	require.Empty(t, b.Claims(policy), "the first pass did not see it")
	b.RunJobs()
	require.Equal(t, "approved", b.OnlyClaim(policy).Status)
}

func TestARevisionBelowTheThresholdBeforeTheDecision(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	report := modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4")
	b.Observe(report)
	report.Measures["magnitude"] = wire.Measure{Value: "5.9", Unit: "mw"}
	b.Observe(report)
	b.RunJobs()
	require.Empty(t, b.Claims(policy))
	require.Equal(t, 1, b.CountRows()["observation_revisions"], "the source's first report is stored")
}

func TestApprovedAmountIsNotReducedByRevision(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	report := modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4")
	b.Observe(report)
	b.RunJobs()
	report.Measures["magnitude"] = wire.Measure{Value: "5.9", Unit: "mw"}
	b.Observe(report)
	b.RunJobs()
	require.Equal(t, "approved", b.OnlyClaim(policy).Status)
	require.Equal(t, "6.4", b.OnlyClaim(policy).Determination.Index.Value)
}

func TestOlderRevisionChangesNothing(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	report := modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4")
	report.Revision = new(int64(7))
	b.Observe(report)
	report.Revision = new(int64(6))
	report.Measures = map[string]wire.Measure{"magnitude": {Value: "7.4", Unit: "mw"}}
	require.Equal(t, occurrence.ResultUnchanged, b.Observe(report)[0].Result)
	report.Revision = new(int64(8))
	require.Equal(t, occurrence.ResultRevised, b.Observe(report)[0].Result)
}

func TestAllAliasesLinkToOneOccurrence(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	at := b.Now()
	first, other := modeltest.Quake("us1", at, modeltest.Epicentre, "6.4"), modeltest.Quake("tw1", at, modeltest.Epicentre, "6.4")
	first.Stage, other.Stage = trigger.Preliminary, trigger.Preliminary
	b.Observe(first, other)
	b.RunJobs()
	require.Len(t, b.Claims(policy), 2, "two names, two occurrences")

	joined := modeltest.Quake("us1", at, modeltest.Epicentre, "6.4")
	joined.Aliases = []string{"us1", "tw1"}
	b.Observe(joined)
	b.RunJobs()
	claims := b.Claims(policy)
	require.Equal(t, "approved", claims[0].Status)
	require.NotEqual(t, "approved", claims[1].Status)
	require.Equal(t, money.New(8_000_000, "USD"), b.Policy(policy.ID).LimitRemaining, "one event is paid once")
	b.AdvanceClock(24 * time.Hour)
	b.Sweep()
	b.RunJobs()
	require.Equal(t, "declined", b.Claims(policy)[1].Status, "at the latest at its review")
	_, created, err := b.Service.Adjudication.Open(t.Context(), b.Acme, adjudication.ClaimRequest{PolicyID: policy.ID, SourceEvent: &adjudication.SourceEvent{Source: "usgs", ID: "tw1"}})
	require.NoError(t, err)
	require.False(t, created)
}

func TestADeferredClaimOfAMergedOccurrenceIsDecided(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	far := modeltest.Quake("us0", b.Now(), hazard.Point{Latitude: -20, Longitude: 40}, "5.0")
	b.Observe(far)
	b.RunJobs()
	policy := b.QuoteAndBind("quake-circle", nil)
	report := modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4")
	report.Stage = trigger.Preliminary
	b.Observe(report)
	b.RunJobs()
	require.Equal(t, "deferred", b.OnlyClaim(policy).Status)
	report.Stage, report.Aliases = trigger.Final, []string{"us0"}
	report.Measures = map[string]wire.Measure{"magnitude": {Value: "5.8", Unit: "mw"}}
	b.Observe(report)
	b.RunJobs()
	require.Equal(t, "declined", b.OnlyClaim(policy).Status)
}

func TestTwoReportsOfOneBatchThatAreOneEvent(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	at := b.Now()
	third := modeltest.Quake("c", at, modeltest.Epicentre, "6.4")
	third.Aliases = []string{"a", "b"}
	b.Observe(modeltest.Quake("a", at, modeltest.Epicentre, "6.3"), modeltest.Quake("b", at, modeltest.Epicentre, "6.2"), third)
	b.RunJobs()
	require.Equal(t, "approved", b.OnlyClaim(policy).Status)
	var open int
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select count(*) from occurrences where merged_into is null").Scan(&open))
	require.Equal(t, 1, open)
}

func TestSameQuakeFromAnotherSourceIsDeferred(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	b.PublishMeasured("quake-circle", "", 999) // every source decides
	policy := b.QuoteAndBind("quake-circle", nil)
	at := b.Now()
	b.AdvanceClock(3 * time.Second)
	b.Observe(modeltest.Quake("us1", at, modeltest.Epicentre, "6.4"))
	b.RunJobs()
	second := modeltest.Quake("emsc1", at.Add(3*time.Second), modeltest.Epicentre, "6.5")
	second.Source = "emsc"
	b.Observe(second)
	b.RunJobs()
	claims := b.Claims(policy)
	require.Len(t, claims, 2)
	require.Equal(t, "deferred", claims[1].Status)
	require.Equal(t, []string{"duplicate_event"}, claims[1].Decision.ReasonCodes)
	require.Equal(t, money.New(8_000_000, "USD"), b.Policy(policy.ID).LimitRemaining)
}

func TestTwoStormsExhaustALimit(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("cyclone-circle", modeltest.Context{"limit": map[string]any{"amount": 3_800_000, "currency": "USD"}})
	miami := hazard.Point{Latitude: 25.7617, Longitude: -80.1918}
	b.Observe(modeltest.Fix("AL01", b.Now(), miami, "83"))
	b.RunJobs()
	b.AdvanceClock(30 * 24 * time.Hour)
	b.Observe(modeltest.Fix("AL02", b.Now(), miami, "113"))
	b.RunJobs()
	claims := b.Claims(policy)
	require.Len(t, claims, 2)
	require.Equal(t, money.New(1_520_000, "USD"), *claims[0].Amount)
	require.Equal(t, money.New(3_040_000, "USD"), claims[1].Determination.Amount)
	require.Equal(t, money.New(2_280_000, "USD"), *claims[1].Amount, "what is left")
	require.Equal(t, []string{"threshold_met", "limit_exhausted"}, claims[1].Decision.ReasonCodes)
	policy = b.Policy(policy.ID)
	require.Equal(t, "exhausted", policy.Status)
	require.Zero(t, policy.LimitRemaining.Amount)
	require.Equal(t, []string{
		"quote.created", "quote.bound", "policy.activated",
		"claim.opened", "claim.approved", "policy.updated", "payout.created", "payout.blocked",
		"claim.opened", "claim.approved", "policy.exhausted", "payout.created", "payout.blocked",
	}, b.Events())

	b.AdvanceClock(30 * 24 * time.Hour)
	b.Observe(modeltest.Fix("AL03", b.Now(), miami, "113"))
	b.RunJobs()
	third := b.Claims(policy)[2]
	require.Equal(t, "declined", third.Status)
	require.Equal(t, []string{"threshold_met", "limit_exhausted"}, third.Decision.ReasonCodes)
}

func TestAPlaceAcrossTheDateLine(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	east := b.QuoteAndBind("quake-circle", modeltest.Context{"location": map[string]float64{"latitude": -17, "longitude": 179.9}})
	west := b.QuoteAndBind("quake-circle", modeltest.Context{"location": map[string]float64{"latitude": -17, "longitude": -179.9}})
	b.Observe(
		modeltest.Quake("a", b.Now(), hazard.Point{Latitude: -17, Longitude: -179.95}, "6.4"),
		modeltest.Quake("b", b.Now(), hazard.Point{Latitude: -17, Longitude: 179.95}, "6.4"),
	)
	b.RunJobs()
	require.Len(t, b.Claims(east), 2)
	require.Len(t, b.Claims(west), 2)
}

func TestSandboxObservationMatchesOnlyCallersPolicies(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	mine, theirs := b.QuoteAndBind("quake-circle", nil), b.ActingAs(b.Globex).QuoteAndBind("quake-circle", nil)
	_, created, err := b.Service.Occurrences.RecordObservation(t.Context(), b.Acme, modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"), true)
	require.NoError(t, err)
	require.True(t, created)
	b.RunJobs()
	require.Equal(t, "approved", b.OnlyClaim(mine).Status)
	require.Empty(t, b.ActingAs(b.Globex).Claims(theirs))

	real := modeltest.New(t, modeltest.InProduction())
	_, _, err = real.Service.Occurrences.RecordObservation(t.Context(), real.Acme, modeltest.Quake("us1", real.Now(), modeltest.Epicentre, "6.4"), true)
	require.Equal(t, apperr.CodeNotFound, modeltest.DomainError(t, err).Code)
}
