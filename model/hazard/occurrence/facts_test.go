package occurrence_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// row returns the row of an observation that was recorded some minutes after checkedAt.
func row(t *testing.T, in wire.ObservationInput, recorded int) occurrence.ObservationRow {
	t.Helper()
	made, err := occurrence.NewObservation("", in, checkedAt.Add(time.Duration(recorded)*time.Minute))
	require.NoError(t, err)
	return *made
}

// quakeRow is a report of us1 whose magnitude identifies the report.
func quakeRow(t *testing.T, stage trigger.Stage, revision int64, recorded int, magnitude string) occurrence.ObservationRow {
	t.Helper()
	in := modeltest.Quake("us1", checkedAt, modeltest.Epicentre, magnitude)
	in.Stage = stage
	if revision >= 0 {
		in.Revision = &revision
	}
	return row(t, in, recorded)
}

func TestFinalThenNewestReportOfAQuakeCounts(t *testing.T) {
	t.Parallel()
	const p, f = trigger.Preliminary, trigger.Final
	for name, tc := range map[string]struct {
		counts, other occurrence.ObservationRow
	}{
		"final before a newer preliminary one":    {quakeRow(t, f, 0, 0, "7"), quakeRow(t, p, 9, 9, "5")},
		"the higher revision before a later one":  {quakeRow(t, f, 2, 0, "7"), quakeRow(t, f, 1, 9, "5")},
		"revision 0 before none":                  {quakeRow(t, f, 0, 0, "7"), quakeRow(t, f, -1, 9, "5")},
		"the later of equal revisions":            {quakeRow(t, f, 2, 9, "7"), quakeRow(t, f, 2, 0, "5")},
		"the later of two preliminary ones":       {quakeRow(t, p, -1, 9, "7"), quakeRow(t, p, -1, 0, "5")},
		"any standing one before a retracted one": {quakeRow(t, p, 0, 0, "7"), quakeRow(t, trigger.Retracted, 9, 9, "5")},
	} {
		for _, order := range [][]occurrence.ObservationRow{{tc.counts, tc.other}, {tc.other, tc.counts}} {
			of := order[0].NewOccurrence(uuid.New())
			facts := of.ToFacts(order)
			require.Equal(t, "7", facts.Quake.Magnitude.String(), name)
			require.Equal(t, tc.counts.Stage, string(facts.Stage), name)
			require.Equal(t, "10", facts.Quake.DepthKM.String(), name)
			require.Equal(t, modeltest.Epicentre, facts.Quake.Where, name)
			require.Equal(t, "mw", facts.Unit, name)
		}
	}
}

func TestFactsWithRetractedReportsAreKeptApart(t *testing.T) {
	t.Parallel()
	standing, gone := quakeRow(t, trigger.Preliminary, -1, 0, "5"), quakeRow(t, trigger.Retracted, -1, 9, "7")
	of := standing.NewOccurrence(uuid.New())
	require.Equal(t, "5", of.ToFacts([]occurrence.ObservationRow{standing}).Quake.Magnitude.String())
	require.Nil(t, of.FactsWithRetracted, "nothing was retracted")
	reports := []occurrence.ObservationRow{gone}
	require.Nil(t, of.ToFacts(reports).Quake)
	require.Equal(t, "7", of.FactsWithRetracted.Quake.Magnitude.String())
	require.Equal(t, gone.ID, reports[0].ID, "the argument is not changed")
	require.True(t, (&occurrence.OccurrenceRow{Stage: trigger.Retracted}).IsRetracted())
	require.False(t, of.IsRetracted())
}

func TestFactsOfAStormAreItsStandingFixes(t *testing.T) {
	t.Parallel()
	fix := modeltest.Fix("AL01", checkedAt, modeltest.Miami, "80")
	low := changed(fix, func(in *wire.ObservationInput) {
		in.OccurredAt, in.Measures = checkedAt.Add(time.Hour), measures("pressure", "940", "hPa")
	})
	gone := changed(fix, func(in *wire.ObservationInput) {
		in.OccurredAt, in.Stage = checkedAt.Add(-time.Hour), trigger.Retracted
	})
	fixes := []occurrence.ObservationRow{row(t, gone, 0), row(t, fix, 0), row(t, low, 0)}
	of := fixes[0].NewOccurrence(uuid.New())
	of.SourceVersion = "3"
	facts := of.ToFacts(fixes)
	require.Equal(t, "AL01", facts.Storm.ID)
	require.Equal(t, "3", facts.SourceVersion)
	require.Equal(t, "nhc", facts.Source)
	require.Equal(t, []hazard.Fix{
		{At: checkedAt, Where: modeltest.Miami, WindKN: facts.Storm.Fixes[0].WindKN},
		{At: checkedAt.Add(time.Hour), Where: modeltest.Miami, PressureHPA: facts.Storm.Fixes[1].PressureHPA},
	}, facts.Storm.Fixes)
	require.Equal(t, "80", facts.Storm.Fixes[0].WindKN.String())
	require.Equal(t, "940", facts.Storm.Fixes[1].PressureHPA.String())
	require.Len(t, of.FactsWithRetracted.Storm.Fixes, 3)
	require.Nil(t, of.ToFacts(fixes[:1]).Storm, "a storm without a standing fix has no track")
}

func TestObservationRowsHaveMicrosecondsAndTheDayOfAStation(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", 9*3600)
	at := time.Date(2026, 3, 1, 5, 6, 7, 123456789, zone)
	quake := row(t, modeltest.Quake("us1", at, modeltest.Epicentre, "5"), 0)
	require.Equal(t, at.UTC().Truncate(time.Microsecond), quake.OccurredAt)
	require.Equal(t, "earthquake:us1", quake.NaturalKey)
	require.Nil(t, quake.Day)
	require.Nil(t, quake.Station)
	day := row(t, modeltest.StationDay("Seattle", at, "5"), 0)
	require.Equal(t, time.Date(2026, 2, 28, 0, 0, 0, 0, time.UTC), *day.Day, "the UTC day")
	require.Equal(t, "Seattle", *day.Station)
	require.Equal(t, "station_day:Seattle/2026-02-28", day.NaturalKey)
	fix := row(t, modeltest.Fix("AL01", at, modeltest.Miami, "5"), 0)
	require.Equal(t, "storm_fix:AL01@2026-02-28T20:06:07.123456Z", fix.NaturalKey)
	later := changed(modeltest.Fix("AL01", at, modeltest.Miami, "5"), func(in *wire.ObservationInput) { in.OccurredAt = at.Add(100 * time.Nanosecond) })
	require.Equal(t, fix.Digest, row(t, later, 5).Digest, "less than a microsecond is no difference")
}

func TestParseStationDaySplitsAtTheLastSlash(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{"Seattle/2026-02-28": "Seattle", "a/b/2026-02-28": "a/b", "é/2026-02-28": "é"} {
		station, day, ok := occurrence.ParseStationDay(id)
		require.True(t, ok, id)
		require.Equal(t, want, station)
		require.Equal(t, time.Date(2026, 2, 28, 0, 0, 0, 0, time.UTC), day)
	}
	for _, id := range []string{"", "/", "/2026-02-28", "Seattle", "Seattle/", "Seattle/2026-02-30", "Seattle/2026-2-28", "Seattle/2026-02-28T00:00:00Z"} {
		_, _, ok := occurrence.ParseStationDay(id)
		require.False(t, ok, id)
	}
}
