package occurrence_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard/occurrence"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

func TestRehearsedRainMovesTheDevelopmentClock(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithShippedProducts())
	policy := b.QuoteAndBind("rain-excess", nil)
	theirs := b.ActingAs(b.Globex).QuoteAndBind("rain-excess", nil)
	first := modeltest.FirstWholeDay(policy.EffectiveAt.AddDate(0, 0, 7))
	series := modeltest.RainSpell(policy, first, "50", "60", "70", "60")
	results, err := b.Service.Occurrences.RecordObservations(t.Context(), b.Acme, series, true)
	require.NoError(t, err)
	for _, result := range results {
		require.Equal(t, occurrence.ResultCreated, result.Result, "%v", result.Errors)
	}
	require.WithinDuration(t, first.AddDate(0, 0, len(series)), b.Now(), time.Minute, "to the end of the last day")
	b.RunJobs()
	claim := b.OnlyClaim(policy)
	require.Equal(t, "approved", claim.Status)
	require.Equal(t, "240", claim.Determination.Index.Value)
	require.Empty(t, b.ActingAs(b.Globex).Claims(theirs), "only its partner's policies see a rehearsal")

	was := b.Now()
	_, err = b.Service.Occurrences.RecordObservations(t.Context(), b.Acme, series, true)
	require.NoError(t, err)
	require.WithinDuration(t, was, b.Now(), time.Minute, "it never goes back")
}

func TestDayThatIsWrongOrTooFarAheadMovesNoClock(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("rain-excess", nil)
	was := b.Now()
	tomorrow := was.Truncate(24*time.Hour).AddDate(0, 0, 1)
	far, negative := modeltest.StationDay(policy.Cover.Place.Station, tomorrow.AddDate(0, 0, 401), "5"), modeltest.StationDay(policy.Cover.Place.Station, tomorrow, "-5")
	quake := modeltest.Quake("us1", tomorrow, modeltest.Epicentre, "6.4")
	results, err := b.Service.Occurrences.RecordObservations(t.Context(), b.Acme, []wire.ObservationInput{far, negative, quake}, true)
	require.NoError(t, err)
	for _, result := range results {
		require.Equal(t, occurrence.ResultRejected, result.Result)
	}
	require.WithinDuration(t, was, b.Now(), time.Minute)
	_, _, err = b.Service.Occurrences.RecordObservation(t.Context(), b.Source, modeltest.StationDay(policy.Cover.Place.Station, tomorrow, "5"), false)
	require.Equal(t, "future", modeltest.DomainError(t, err).Fields[0].Code, "what a source reports must have happened")
	require.WithinDuration(t, was, b.Now(), time.Minute)
	_, created, err := b.Service.Occurrences.RecordObservation(t.Context(), b.Acme, modeltest.StationDay(policy.Cover.Place.Station, tomorrow, "5"), true)
	require.NoError(t, err)
	require.True(t, created, "one day alone may be rehearsed")
	require.WithinDuration(t, tomorrow.AddDate(0, 0, 1), b.Now(), time.Minute)
}

func TestRehearsedDaysMoveTheClockByABoundedShiftInAll(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	station := b.QuoteAndBind("rain-excess", nil).Cover.Place.Station
	real := b.Now().Truncate(24 * time.Hour)
	rehearse := func(days int) wire.ObservationResult {
		results, err := b.Service.Occurrences.RecordObservations(t.Context(), b.Acme, []wire.ObservationInput{modeltest.StationDay(station, real.AddDate(0, 0, days), "0")}, true)
		require.NoError(t, err)
		return results[0]
	}
	for _, day := range []int{200, 398} {
		require.Equal(t, occurrence.ResultCreated, rehearse(day).Result)
		require.WithinDuration(t, real.AddDate(0, 0, day+1), b.Now(), time.Minute)
	}
	refused := rehearse(402)
	require.Equal(t, occurrence.ResultRejected, refused.Result, "the shift is measured from the real time, not from the moved clock")
	require.Equal(t, "future", refused.Errors[0].Code)
	require.Contains(t, refused.Errors[0].Detail, "400 days ahead of the real time")
	require.WithinDuration(t, real.AddDate(0, 0, 399), b.Now(), time.Minute)
}

func TestServerWithoutARehearsalClockRefusesFutureDays(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.FixedClock())
	station, was := b.QuoteAndBind("rain-excess", nil).Cover.Place.Station, b.Now()
	_, _, err := b.Service.Occurrences.RecordObservation(t.Context(), b.Acme, modeltest.StationDay(station, was.Truncate(24*time.Hour).AddDate(0, 0, 1), "5"), true)
	refused := modeltest.DomainError(t, err)
	require.Equal(t, "future", refused.Fields[0].Code)
	require.Contains(t, refused.Fields[0].Detail, "does not follow rehearsed days")
	require.WithinDuration(t, was, b.Now(), time.Minute)
	_, created, err := b.Service.Occurrences.RecordObservation(t.Context(), b.Acme, modeltest.StationDay(station, was.Truncate(24*time.Hour).AddDate(0, 0, -1), "5"), true)
	require.NoError(t, err)
	require.True(t, created, "days that have passed are rehearsed")
}

func TestMarkForRehearsalsKeepsTheClock(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	station, tomorrow := b.QuoteAndBind("rain-excess", nil).Cover.Place.Station, b.Now().Truncate(24*time.Hour).AddDate(0, 0, 1)
	_, _, err := b.Service.Occurrences.RecordObservation(t.Context(), b.Acme, modeltest.StationDay(station, tomorrow, "5"), true)
	require.NoError(t, err)
	require.NoError(t, b.Service.MarkForRehearsals(t.Context()))
	require.WithinDuration(t, tomorrow.AddDate(0, 0, 1), b.Now(), time.Minute)
}
