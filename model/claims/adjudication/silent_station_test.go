package adjudication_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
	"parapet/model/quoting/product"
	"parapet/model/receipts/receipt"
	"parapet/model/wire"
)

// stationMeasurement returns a measurement by a station's source with short waits.
func stationMeasurement(fallback string) string {
	return fmt.Sprintf(`measurement:
  sources:
    - {source: ghcn, stage: final}
  rule: {kind: first_of}
  wait: P14D
  fallback: %s
  long_stop: P60D
  challenge_window: P30D

`, fallback)
}

// bindPeriods binds a cover of calendar periods, and returns the first of its periods.
func bindPeriods(b *modeltest.Bundle, fallback string, terms modeltest.Context) (*wire.Policy, time.Time, time.Time) {
	b.PublishMeasured("rain-deficit", stationMeasurement(fallback), 1001)
	b.Sweep() // servers sweep from their start on
	policy := b.QuoteAndBind("rain-deficit", terms)
	calendar := policy.Cover.Trigger.Calendar
	first := calendar.FirstFrom(policy.EffectiveAt)
	return policy, first, calendar.Period(first).Last.AddDate(0, 0, 1)
}

// sweepInRealTime moves the clock to a time and does the due work, on a database that is
// none for rehearsals.
func sweepInRealTime(t *testing.T, b *modeltest.Bundle, at time.Time) {
	t.Helper()
	b.AdvanceClock(at.Sub(b.Now()))
	modeltest.ExecSQL(t, b, "update clock set is_rehearsal = false")
	for range 2 { // the second time nothing is due
		b.Sweep()
		b.RunJobs()
	}
}

// A month of which a station reports nothing opens its claim when it ends, waits by the
// terms, and is decided as soon as the days arrive.
func TestSilentMonthOpensItsClaimAtItsEnd(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy, first, end := bindPeriods(b, "next_rank", nil)
	sweepInRealTime(t, b, end.Add(-time.Minute))
	require.Empty(t, b.Claims(policy))
	sweepInRealTime(t, b, end.Add(time.Minute))
	claim := b.OnlyClaim(policy)
	require.NoError(t, b.Service.Measured.Attach(t.Context(), b.Acme, claim))
	require.Equal(t, []string{"deferred", "evidence_needed"}, append([]string{claim.Status}, claim.Decision.ReasonCodes...))
	require.Equal(t, policy.Cover.Place.Station+"/"+first.Format(time.DateOnly), claim.Occurrence.SourceEventID)
	require.Equal(t, end.AddDate(0, 0, 14), *claim.MeasurementState.DecisionDueAt)
	require.Equal(t, end.AddDate(0, 0, 14), *claim.Decision.NextReviewAt)
	require.Equal(t, end.AddDate(0, 0, 60), claim.MeasurementState.LongStopAt)
	require.Equal(t, "waiting", claim.MeasurementState.Sources[0].State)
	days := int(end.Sub(first) / (24 * time.Hour))
	missing := fmt.Sprintf("%d days of %s are missing", days, first.Format("January 2006"))
	require.Equal(t, []string{
		fmt.Sprintf("ghcn reported nothing of %s: %s.", claim.Occurrence.SourceEventID, missing),
		fmt.Sprintf("A claim was opened: the period is over, and %s.", missing), fmt.Sprintf("The claim waits: %s.", missing),
	}, summaries(b, claim.ID))

	modeltest.ObserveRain(b, policy, first, month(first, "5")...)
	decided := b.OnlyClaim(policy)
	require.Equal(t, claim.ID, decided.ID)
	require.Equal(t, "approved", decided.Status)
	require.Equal(t, int64(5_000_000), decided.Amount.Amount)
	requireReceiptVerifies(t, b, decided.ID)
}

// requireReceiptVerifies recomputes every decision of a claim from its receipt.
func requireReceiptVerifies(t *testing.T, b *modeltest.Bundle, claim string) {
	t.Helper()
	b.Relay()
	signed, err := b.Service.Receipts.Claim(t.Context(), b.Acme, claim, nil)
	require.NoError(t, err)
	report, err := receipt.VerifyPayload(signed.Payload, receipt.Data{})
	require.NoError(t, err)
	require.Empty(t, report.Differences)
	require.Empty(t, report.Decided, "every decision follows from the terms and the readings")
}

// A station that stays silent leads to the fallback of the terms, and to the long stop.
func TestSilentMonthReachesFallbackAndLongStop(t *testing.T) {
	t.Parallel()
	for fallback, want := range map[string][2]string{
		"operator": {"sources_disagree", "sources_disagree"}, "next_rank": {"evidence_needed", "long_stop_reached"}, "none": {"evidence_needed", "long_stop_reached"},
	} {
		b := modeltest.New(t)
		policy, _, end := bindPeriods(b, fallback, modeltest.Context{"term": "P70D"})
		sweepInRealTime(t, b, end)
		sweepInRealTime(t, b, end.AddDate(0, 0, 14).Add(-time.Minute))
		require.Equal(t, []string{"evidence_needed"}, b.Claims(policy)[0].Decision.ReasonCodes, fallback)
		sweepInRealTime(t, b, end.AddDate(0, 0, 14).Add(time.Minute))
		claim := b.Claims(policy)[0]
		require.Equal(t, []string{want[0]}, claim.Decision.ReasonCodes, fallback)
		if fallback != "operator" {
			require.Equal(t, end.AddDate(0, 0, 60), *claim.Decision.NextReviewAt, "it is not reviewed every day")
		}
		sweepInRealTime(t, b, end.AddDate(0, 0, 60).Add(time.Minute))
		claim = b.Claim(claim.ID)
		require.Equal(t, []string{want[1]}, claim.Decision.ReasonCodes, fallback)
		require.Equal(t, map[bool]string{true: "deferred", false: "declined"}[fallback == "operator"], claim.Status)
		if fallback != "operator" {
			requireReceiptVerifies(t, b, claim.ID)
		}
	}
}

// Days that are missing at the end of a month are missing from its end on, also those of a
// dekad. What was reported in time opens nothing.
func TestPeriodWithMissingDaysOpensAtItsEnd(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	dekads, first, end := bindPeriods(b, "next_rank", modeltest.Context{"calendar": "dekad", "attach": "0.5", "term": "P40D"})
	days := int(end.Sub(first) / (24 * time.Hour))
	b.AdvanceClock(end.Sub(b.Now()) - time.Minute)
	values := slices.Repeat([]string{"0"}, days-2)
	modeltest.ObserveRain(b, dekads, first, values...)
	b.Sweep()
	b.RunJobs()
	require.Empty(t, b.Claims(dekads))
	b.AdvanceClock(2 * time.Minute)
	b.Sweep()
	b.RunJobs()
	claim := b.OnlyClaim(dekads)
	require.Equal(t, []string{"evidence_needed"}, claim.Decision.ReasonCodes)
	require.Contains(t, summaries(b, claim.ID)[1], "the rain known so far would pay, but 2 days of the dekad")
	modeltest.ObserveRain(b, dekads, end.AddDate(0, 0, -2), "0", "11")
	require.Equal(t, []string{"threshold_not_met"}, b.OnlyClaim(dekads).Decision.ReasonCodes)

	next := dekads.Cover.Trigger.Calendar.Period(end)
	b.AdvanceClock(next.Last.AddDate(0, 0, 1).Sub(b.Now()) + time.Minute)
	modeltest.ObserveRain(b, dekads, next.First, append([]string{"10"}, slices.Repeat([]string{"0"}, int(next.Last.Sub(next.First)/(24*time.Hour)))...)...)
	b.Sweep()
	b.RunJobs()
	require.Len(t, b.Claims(dekads), 1, "the next dekad was reported, and it rained enough")
}

// A rehearsal runs ahead of the real time: a month of which it reports nothing did not
// happen. Covers without a measurement keep the rule of their day.
func TestSilentMonthOpensNothing(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy, first, end := bindPeriods(b, "next_rank", nil)
	b.AdvanceClock(end.Sub(b.Now()) + time.Minute)
	b.Sweep()
	b.RunJobs()
	require.Empty(t, b.Claims(policy))
	modeltest.ObserveRain(b, policy, first, month(first, "0")...)
	require.Equal(t, "approved", b.OnlyClaim(policy).Status)

	b = modeltest.New(t)
	plain := b.QuoteAndBind("rain-deficit", modeltest.Context{"term": "P70D"})
	if plain.Cover.Measurement != nil {
		document := modeltest.MeasuredDocument("rain-deficit", "", 1001)
		_, err := product.Parse([]byte(document))
		require.NoError(t, err)
		_, _, err = b.Service.Products.Publish(t.Context(), b.Operator, []byte(document))
		require.NoError(t, err)
		plain = b.QuoteAndBind("rain-deficit", modeltest.Context{"term": "P70D"})
	}
	require.Nil(t, plain.Cover.Measurement)
	b.PublishMeasured("rain-deficit", stationMeasurement("none"), 1002)
	b.Sweep()
	measured := b.QuoteAndBind("rain-deficit", modeltest.Context{"term": "P70D"})
	sweepInRealTime(t, b, measured.Cover.Trigger.Calendar.Period(measured.Cover.Trigger.Calendar.FirstFrom(measured.EffectiveAt)).Last.AddDate(0, 0, 1))
	require.Len(t, b.Claims(measured), 1)
	require.Empty(t, b.Claims(plain))
}
