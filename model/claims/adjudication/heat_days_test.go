package adjudication_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard/trigger"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// heated returns a cover that pays half of the limit for the second hot day and all of it
// for the third, and the first day of the season that counts. The clock is after the
// season.
func heated(b *modeltest.Bundle) (policy *wire.Policy, first time.Time) {
	year := b.Now().Year() + 1
	starts := time.Date(year, time.May, 20, 0, 0, 0, 0, time.UTC)
	if starts.Sub(b.Now()) > 360*24*time.Hour {
		starts = starts.AddDate(-1, 0, 0)
	}
	policy = b.QuoteAndBind("heat-days", modeltest.Context{"starts_at": starts.Format(time.RFC3339), "term": "P24D", "attach": "1", "exhaust": "3"})
	b.AdvanceClock(starts.AddDate(0, 0, 40).Sub(b.Now()))
	return policy, time.Date(starts.Year(), time.June, 1, 0, 0, 0, 0, time.UTC)
}

// hotDay is a report of a highest temperature.
func hotDay(policy *wire.Policy, day time.Time, celsius string, stage trigger.Stage) wire.ObservationInput {
	in := modeltest.StationDay(policy.Cover.Place.Station, day, "0")
	in.Measures, in.Stage = map[string]wire.Measure{"temperature_max": {Value: celsius, Unit: "degC"}}, stage
	return in
}

func TestTwoHotDaysPayAndAThirdPaysMoreOfTheSameClaim(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy, first := heated(b)
	require.Equal(t, "Milwaukee", policy.Cover.Place.Station)
	b.Observe(hotDay(policy, first, "32", trigger.Final), hotDay(policy, first.AddDate(0, 0, 1), "31.9", trigger.Final))
	b.RunJobs()
	require.Empty(t, b.Claims(policy), "one hot day is the attachment")
	b.Observe(hotDay(policy, first.AddDate(0, 0, 5), "34.5", trigger.Final))
	b.RunJobs()
	claim := b.OnlyClaim(policy)
	require.Equal(t, "approved", claim.Status)
	require.Equal(t, wire.Measure{Value: "2", Unit: "days"}, *claim.Determination.Index)
	require.Equal(t, policy.Cover.Limit.Amount/2, claim.Amount.Amount)
	require.Equal(t, "Milwaukee/"+first.Format(time.DateOnly), claim.Occurrence.SourceEventID)
	require.Len(t, claim.Payouts, 1)
	require.Contains(t, summaries(b, claim.ID)[0], "2 hot days")
	b.Observe(hotDay(policy, first.AddDate(0, 0, 8), "33", trigger.Final))
	b.RunJobs()
	claim = b.OnlyClaim(policy)
	require.Equal(t, policy.Cover.Limit.Amount, claim.Amount.Amount, "the season grew")
	require.Len(t, claim.Payouts, 2)
	b.Observe(hotDay(policy, first.AddDate(0, 0, 9), "33", trigger.Final))
	b.RunJobs()
	require.Len(t, b.OnlyClaim(policy).Payouts, 2, "nothing pays more than the limit")
}

func TestClaimOfAGrowingSeasonIsNotDeclinedBeforeItsEnd(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy, first := heated(b)
	b.Observe(hotDay(policy, first, "33", trigger.Final), hotDay(policy, first.AddDate(0, 0, 1), "33", trigger.Preliminary))
	b.RunJobs()
	require.Equal(t, []string{"source_preliminary"}, b.OnlyClaim(policy).Decision.ReasonCodes)
	b.Observe(hotDay(policy, first.AddDate(0, 0, 1), "31", trigger.Final))
	b.RunJobs()
	require.Equal(t, "deferred", b.OnlyClaim(policy).Status, "another hot day may be reported")
	b.Observe(hotDay(policy, first.AddDate(0, 0, 2), "33", trigger.Final))
	b.RunJobs()
	require.Equal(t, "approved", b.OnlyClaim(policy).Status)
}
