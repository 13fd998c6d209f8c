package adjudication_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

func TestNoClaimOpensAfterReportingWindow(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	waiting := modeltest.ObserveQuake(b, "us1", "6.4", trigger.Preliminary)
	b.AdvanceClock(2 * 365 * 24 * time.Hour)
	b.Sweep()
	require.Equal(t, "expired", b.Policy(policy.ID).Status, "an open claim keeps it from the archive")

	late := modeltest.Quake("us2", waiting.OccurredAt.Add(time.Hour), modeltest.Epicentre, "7.0")
	b.Observe(late)
	b.RunJobs()
	require.Equal(t, "us1", b.OnlyClaim(policy).Occurrence.SourceEventID)
	_, _, err := b.Service.Adjudication.Open(t.Context(), b.Acme, modeltest.NewSourceEventClaim(policy, "usgs", "us2"))
	require.Equal(t, apperr.CodePolicyNotInForce, modeltest.DomainError(t, err).Code)

	waiting.Stage = trigger.Final
	b.Observe(waiting)
	b.RunJobs()
	require.Equal(t, "approved", b.OnlyClaim(policy).Status, "a claim reported in time is decided")
}

func TestRevisionWithoutVersionIsAccepted(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	report := modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4")
	report.Stage, report.Revision = trigger.Preliminary, new(int64(3))
	b.Observe(report)
	b.RunJobs()
	first := b.OnlyClaim(policy)

	report.Measures = map[string]wire.Measure{"magnitude": {Value: "6.6", Unit: "mw"}}
	b.Observe(report)
	b.RunJobs()
	second := b.OnlyClaim(policy)
	require.Equal(t, "deferred", second.Status)
	require.Equal(t, "6.6", second.Determination.Index.Value)
	require.NotEqual(t, first.Determination.SourceVersion, second.Determination.SourceVersion)
	require.Equal(t, first.Version+1, second.Version)
	require.Equal(t, []string{"trigger.observed", "claim.opened", "claim.deferred", "claim.updated"}, b.TimelineKinds(second.ID))
}

func TestDeferredClaimForPaidOccurrenceIsDeclined(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	waiting := modeltest.ObserveQuake(b, "us1", "6.4", trigger.Preliminary)
	modeltest.ObserveQuake(b, "tw1", "6.4", trigger.Final)
	require.Equal(t, "deferred", b.Claims(policy)[0].Status)
	require.Equal(t, "approved", b.Claims(policy)[1].Status)

	waiting.Aliases = []string{"tw1"}
	b.Observe(waiting)
	b.RunJobs()
	claims := b.Claims(policy)
	require.Equal(t, "declined", claims[0].Status)
	require.Equal(t, []string{"duplicate_event"}, claims[0].Decision.ReasonCodes)
	require.Equal(t, "approved", claims[1].Status)
	require.Equal(t, *modeltest.NewUSD(8_000_000), b.Policy(policy.ID).LimitRemaining)
}

func TestDeferredClaimIsReviewedDaily(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	modeltest.ObserveQuake(b, "us1", "6.4", trigger.Preliminary)
	claim := b.OnlyClaim(policy)
	for range 3 {
		due := *claim.Decision.NextReviewAt
		b.AdvanceClock(24 * time.Hour)
		for range 2 { // a review is due once
			b.Sweep()
			b.RunJobs()
		}
		reviewed := b.OnlyClaim(policy)
		require.Equal(t, "deferred", reviewed.Status)
		require.Equal(t, claim.Version+1, reviewed.Version)
		require.WithinDuration(t, due.Add(24*time.Hour), *reviewed.Decision.NextReviewAt, time.Hour)
		claim = reviewed
	}
	require.Equal(t, []string{
		"trigger.observed", "claim.opened", "claim.deferred", "claim.updated", "claim.updated", "claim.updated",
	}, b.TimelineKinds(claim.ID))
}

func TestRepeatedEvaluationDoesNotLockDecidedPolicies(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	shaken, flooded := b.QuoteAndBind("quake-circle", nil), b.QuoteAndBind("rain-excess", modeltest.Context{"days": 1})
	b.AdvanceClock(6 * 24 * time.Hour)
	modeltest.ObserveQuake(b, "us1", "6.4", trigger.Final)
	modeltest.ObserveRain(b, flooded, flooded.EffectiveAt.Truncate(24*time.Hour).AddDate(0, 0, 1), "180", "0", "0", "0")
	job := occurrence.EvaluateOccurrences{Occurrences: []string{b.OnlyClaim(shaken).Occurrence.ID, b.OnlyClaim(flooded).Occurrence.ID}}

	before := policyRowVersions(t, b)
	require.NoError(t, b.Service.Adjudication.Evaluate(t.Context(), job))
	require.Equal(t, before, policyRowVersions(t, b))
}

// policyRowVersions returns the transactions that last wrote or locked each policy: a row
// lock leaves its transaction in xmax.
func policyRowVersions(t *testing.T, b *modeltest.Bundle) (marks []string) {
	t.Helper()
	require.NoError(t, b.DB.Bun.NewRaw("select xmin || '/' || xmax from policies order by id").Scan(t.Context(), &marks))
	require.NotEmpty(t, marks)
	return marks
}
