package adjudication_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims"
	"parapet/model/claims/adjudication"
	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/money"
	"parapet/model/payouts"
	"parapet/model/payouts/reconciliation"
	"parapet/model/wire"
)

// paris has few earthquakes: a large circle can be insured there.
var paris = hazard.Point{Latitude: 48.86, Longitude: 2.35}

// northOf returns a point on the same meridian.
func northOf(p hazard.Point, km float64) hazard.Point {
	return hazard.Point{Latitude: p.Latitude + km/111.195, Longitude: p.Longitude}
}

// requireDeferredDuplicate checks that the second of two claims waits for an operator.
func requireDeferredDuplicate(t *testing.T, b *modeltest.Bundle, policy *wire.Policy) {
	t.Helper()
	claims := b.Claims(policy)
	require.Len(t, claims, 2)
	require.Equal(t, "approved", claims[0].Status)
	require.Equal(t, "deferred", claims[1].Status)
	require.Equal(t, []string{"duplicate_event"}, claims[1].Decision.ReasonCodes)
	require.NotNil(t, claims[1].Decision.NextReviewAt)
}

func TestQuakesThatMayBeOneEventPayOnce(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		source   string
		later    time.Duration
		km       float64
		deferred bool
	}{
		"two ids of one source":         {"usgs", 2 * time.Second, 2, true},
		"two sources":                   {"emsc", 2 * time.Second, 2, true},
		"at the bounds":                 {"usgs", 60 * time.Second, 99.9, true},
		"more than sixty seconds later": {"usgs", 60*time.Second + time.Millisecond, 2, false},
		"further than 100 km":           {"usgs", 2 * time.Second, 100.1, false},
		"another source, further":       {"emsc", 2 * time.Second, 100.1, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := modeltest.New(t)
			b.PublishMeasured("quake-circle", "", 999) // every source decides
			policy := b.QuoteAndBind("quake-circle", modeltest.Context{"radius_km": 200, "location": paris})
			at := b.Now()
			b.AdvanceClock(10 * time.Minute)
			b.Observe(modeltest.Quake("us1", at, paris, "6.4"))
			b.RunJobs()
			second := modeltest.Quake("ci2", at.Add(tc.later), northOf(paris, tc.km), "6.4")
			second.Source = tc.source
			b.Observe(second)
			b.RunJobs()
			if tc.deferred {
				requireDeferredDuplicate(t, b, policy)
				return
			}
			require.Equal(t, "approved", b.Claims(policy)[1].Status)
		})
	}
}

func TestStormsThatMayBeOneEventPayOnce(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		source   string
		later    time.Duration
		km       float64
		deferred bool
	}{
		"two sources at the bounds":   {"jtwc", 6 * time.Hour, 149.9, true},
		"more than six hours later":   {"jtwc", 6*time.Hour + time.Second, 10, false},
		"further than 150 km":         {"jtwc", time.Hour, 150.1, false},
		"two storm ids of one source": {"nhc", time.Hour, 10, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := modeltest.New(t)
			b.PublishMeasured("cyclone-circle", "", 999) // every source decides
			policy := b.QuoteAndBind("cyclone-circle", modeltest.Context{"radius_km": 300})
			at := b.Now()
			b.AdvanceClock(48 * time.Hour)
			b.Observe(modeltest.Fix("AL01", at, modeltest.Miami, "83"))
			b.RunJobs()
			second := modeltest.Fix("AL02", at.Add(tc.later), northOf(modeltest.Miami, tc.km), "83")
			second.Source = tc.source
			b.Observe(second)
			b.RunJobs()
			if tc.deferred {
				requireDeferredDuplicate(t, b, policy)
				return
			}
			require.Equal(t, "approved", b.Claims(policy)[1].Status)
		})
	}
}

func TestDaysOfTwoSourcesAtAStationPayOnce(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		apart    int
		deferred bool
	}{"a shared day": {1, true}, "no shared day": {2, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := modeltest.New(t)
			b.PublishMeasured("rain-excess", "", 999) // every source decides
			policy := b.QuoteAndBind("rain-excess", modeltest.Context{"days": 2})
			today := b.Now().Truncate(24 * time.Hour)
			b.AdvanceClock(20 * 24 * time.Hour)
			station := policy.Cover.Place.Station
			rain := func(source string, first int) {
				for i, mm := range []string{"250", "250", "0", "0", "0"} {
					day := modeltest.StationDay(station, today.AddDate(0, 0, first+i), mm)
					day.Source = source
					b.Observe(day)
				}
				b.RunJobs()
			}
			rain("ghcn", 10)
			rain("noaa", 10+tc.apart)
			if tc.deferred {
				requireDeferredDuplicate(t, b, policy)
				return
			}
			require.NotEqual(t, []string{"duplicate_event"}, b.Claims(policy)[1].Decision.ReasonCodes)
		})
	}
}

func TestRelocatedQuakeIsComparedAtEarlierPositions(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	at := b.Now()
	b.AdvanceClock(time.Minute)
	first := modeltest.Quake("us1", at, modeltest.Epicentre, "6.4")
	b.Observe(first)
	b.RunJobs()
	far := northOf(modeltest.Epicentre, 300)
	first.Location = &far
	b.Observe(first)
	b.RunJobs()
	b.Observe(modeltest.Quake("us2", at, modeltest.Epicentre, "6.4"))
	b.RunJobs()
	requireDeferredDuplicate(t, b, policy)
}

func TestAnOperatorDecidesAPossibleDuplicate(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	at := b.Now()
	b.AdvanceClock(time.Minute)
	b.Observe(modeltest.Quake("us1", at, modeltest.Epicentre, "6.4"))
	b.RunJobs()
	b.Observe(modeltest.Quake("us2", at.Add(2*time.Second), modeltest.Epicentre, "6.4"))
	b.RunJobs()
	b.AdvanceClock(48 * time.Hour)
	b.Sweep()
	b.RunJobs()
	requireDeferredDuplicate(t, b, policy)
	require.Positive(t, modeltest.Must(b.Service.Operations.HealthStats(t.Context(), b.Operator)).ReviewsOverdue, "the metric shows it")
	_, err := b.Service.Adjudication.Decide(t.Context(), b.Operator, adjudication.DecisionRequest{ClaimID: b.Claims(policy)[1].ID, Outcome: claims.ClaimApproved})
	require.NoError(t, err)
	require.Equal(t, money.New(6_000_000, "USD"), b.Policy(policy.ID).LimitRemaining)
}

func TestAPossibleDuplicateIsDeclinedWhenItsSourceMergesTheTwo(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	at := b.Now()
	b.AdvanceClock(time.Minute)
	quake := modeltest.Quake("us1", at, modeltest.Epicentre, "6.4")
	b.Observe(quake)
	b.RunJobs()
	b.Observe(modeltest.Quake("us2", at.Add(2*time.Second), modeltest.Epicentre, "6.4"))
	b.RunJobs()
	requireDeferredDuplicate(t, b, policy)
	quake.Aliases = []string{"us2"}
	b.Observe(quake)
	b.RunJobs()
	claims := b.Claims(policy)
	require.Equal(t, "approved", claims[0].Status)
	require.Equal(t, "declined", claims[1].Status)
	require.Equal(t, []string{"duplicate_event"}, claims[1].Decision.ReasonCodes)
	require.Empty(t, modeltest.Must(b.Service.Reconciliation.ListExceptions(t.Context(), b.Operator, false, store.PageRequest{})).Data, "it was paid once")
}

func TestAllWaitingClaimsOfMergedQuakesAreDecided(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	modeltest.ObserveQuake(b, "us1", "6.4", trigger.Preliminary)
	quake := modeltest.ObserveQuake(b, "us2", "6.4", trigger.Preliminary)
	for _, claim := range b.Claims(policy) {
		require.Equal(t, []string{"source_preliminary"}, claim.Decision.ReasonCodes)
	}
	quake.Stage, quake.Aliases = trigger.Final, []string{"us1"}
	b.Observe(quake)
	b.RunJobs()
	claims := b.Claims(policy)
	require.Equal(t, "approved", claims[0].Status)
	require.Equal(t, "declined", claims[1].Status)
	require.Equal(t, []string{"duplicate_event"}, claims[1].Decision.ReasonCodes)
	require.Equal(t, *modeltest.NewUSD(8_000_000), b.Policy(policy.ID).LimitRemaining)
}

func TestAMergedStormOwesMoreAlthoughAnotherClaimWaits(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("cyclone-circle", nil)
	at := b.Now()
	b.AdvanceClock(modeltest.FixInterval)
	b.Observe(modeltest.Fix("AL01", at, modeltest.Miami, "70"))
	other := modeltest.Fix("AL02", at, modeltest.Miami, "70")
	other.Stage = trigger.Preliminary
	b.Observe(other)
	b.RunJobs()
	require.Equal(t, "deferred", b.Claims(policy)[1].Status)
	other.Stage = trigger.Final
	joined := modeltest.Fix("AL01", at.Add(time.Hour), modeltest.Miami, "140")
	joined.Aliases = []string{"AL02"}
	b.Observe(other, joined)
	b.RunJobs()
	claims := b.Claims(policy)
	require.Equal(t, *modeltest.NewUSD(10_000_000), *claims[0].Amount)
	require.Equal(t, "declined", claims[1].Status)
}

func TestALaterMergeOfTwoPaidClaimsRaisesAnException(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	b.RecordPayoutMethod(modeltest.PolicyIBANMethod(policy.ID))
	at := b.Now()
	b.AdvanceClock(10 * time.Minute)
	b.RunJobs()
	for i, id := range []string{"us1", "us2"} {
		b.Observe(modeltest.Quake(id, at.Add(time.Duration(i)*2*time.Minute), modeltest.Epicentre, "6.4"))
		b.RunJobs()
	}
	joined := modeltest.Quake("us1", at, modeltest.Epicentre, "6.4")
	joined.Aliases = []string{"us2"}
	b.Observe(joined)
	b.RunJobs()

	exceptions := modeltest.Must(b.Service.Reconciliation.ListExceptions(t.Context(), b.Operator, false, store.PageRequest{})).Data
	require.Len(t, exceptions, 1)
	claims := b.Claims(policy)
	require.Equal(t, payouts.ExceptionPaidTwice, exceptions[0].Kind)
	require.Equal(t, claims[1].Payouts[0].ID, *exceptions[0].PayoutID)
	require.Equal(t, claims[0].Payouts[0].ID, *exceptions[0].RelatedPayoutID)
	require.Nil(t, exceptions[0].ReportID)
	require.Equal(t, "released", claims[1].Payouts[0].Status, "what is released is not clawed back")
	stats := modeltest.Must(b.Service.Operations.HealthStats(t.Context(), b.Operator))
	require.Equal(t, payouts.ExceptionPaidTwice, stats.OpenExceptions[0].Kind)

	_, err := b.Service.Reconciliation.CloseException(t.Context(), b.Operator, reconciliation.CloseExceptionRequest{ID: exceptions[0].ID, Reason: "The partner paid it back."})
	require.NoError(t, err)
	joined.Measures["magnitude"] = wire.Measure{Value: "6.45", Unit: "mw"} // which owes no more
	b.Observe(joined)
	b.RunJobs()
	require.Empty(t, modeltest.Must(b.Service.Reconciliation.ListExceptions(t.Context(), b.Operator, false, store.PageRequest{})).Data, "it is reported once")
}

func TestLaterMergeHoldsUnreleasedPayouts(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	at := b.Now()
	b.AdvanceClock(10 * time.Minute)
	b.Observe(modeltest.Quake("us1", at, modeltest.Epicentre, "6.4"), modeltest.Quake("us2", at.Add(2*time.Minute), modeltest.Epicentre, "6.4"))
	b.RunJobs()
	joined := modeltest.Quake("us2", at.Add(2*time.Minute), modeltest.Epicentre, "6.4")
	joined.Aliases = []string{"us1"}
	b.Observe(joined)
	b.RunJobs()
	held := func() (held []string) {
		for _, claim := range b.Claims(policy) {
			held = append(held, *claim.Payouts[0].BlockedReason)
		}
		return held
	}
	require.ElementsMatch(t, []string{"payout_method_missing", "compliance_hold"}, held())
	b.RecordPayoutMethod(modeltest.PolicyIBANMethod(policy.ID))
	b.RunJobs()
	var released int
	for _, claim := range b.Claims(policy) {
		if claim.Payouts[0].Status == "released" {
			released++
		}
	}
	require.Equal(t, 1, released)
}

func TestMergedStormsGrowByWhatBothWereGranted(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("cyclone-circle", nil)
	at := b.Now()
	b.AdvanceClock(modeltest.FixInterval)
	b.Observe(modeltest.Fix("AL01", at, modeltest.Miami, "70"), modeltest.Fix("AL02", at, modeltest.Miami, "70"))
	b.RunJobs()
	require.Equal(t, *modeltest.NewUSD(6_000_000), b.Policy(policy.ID).LimitRemaining)
	joined := modeltest.Fix("AL01", b.Now(), modeltest.Miami, "90")
	joined.Aliases = []string{"AL02"}
	b.Observe(joined)
	b.RunJobs()
	require.Equal(t, *modeltest.NewUSD(6_000_000), b.Policy(policy.ID).LimitRemaining, "4,000,000 are owed and 4,000,000 were granted")
	joined.OccurredAt, joined.Measures = at.Add(time.Hour), map[string]wire.Measure{"wind": {Value: "140", Unit: "kn"}}
	b.Observe(joined)
	b.RunJobs()
	require.Zero(t, b.Policy(policy.ID).LimitRemaining.Amount)
	var owed int64
	for _, claim := range b.Claims(policy) {
		owed += claim.Amount.Amount
	}
	require.Equal(t, int64(10_000_000), owed, "what one such storm owes")
}

// TestMergedStormThatGrowsTwiceOwesTheWholeAmount grows it after the merge, and again: the
// first part counts for the whole storm.
func TestMergedStormThatGrowsTwiceOwesTheWholeAmount(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("cyclone-circle", nil)
	at := b.Now()
	b.AdvanceClock(6 * modeltest.FixInterval)
	b.Observe(modeltest.Fix("AL01", at, modeltest.Miami, "70"), modeltest.Fix("AL02", at, modeltest.Miami, "70"))
	b.RunJobs()
	for i, step := range []struct {
		wind string
		left int64
	}{{"100", 4_000_000}, {"140", 0}} {
		joined := modeltest.Fix("AL01", at.Add(time.Duration(i+1)*time.Hour), modeltest.Miami, step.wind)
		joined.Aliases = []string{"AL02"}
		b.Observe(joined)
		b.RunJobs()
		require.Equal(t, step.left, b.Policy(policy.ID).LimitRemaining.Amount, step.wind)
	}
}
