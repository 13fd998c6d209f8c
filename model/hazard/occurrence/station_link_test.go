package occurrence_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// rainDay is one report of a day in a random series.
type rainDay struct {
	in   wire.ObservationInput
	date time.Time
}

// randomDays returns reports of most days of a series, some preliminary.
func randomDays(random *rand.Rand, source, station string, first time.Time, days int) (reports []rainDay) {
	for i := range days {
		if random.IntN(12) == 0 {
			continue
		}
		day := first.AddDate(0, 0, i)
		in := modeltest.StationDay(station, day, []string{"0", "40", "0.5"}[random.IntN(3)])
		if in.Source = source; random.IntN(6) == 0 {
			in.Stage = trigger.Preliminary
		}
		reports = append(reports, rainDay{in, day})
	}
	return reports
}

// measuredDays returns the days of reports, in order, as the trigger takes them.
func measuredDays(t *testing.T, definition trigger.Definition, reports map[time.Time]wire.ObservationInput) []hazard.Day {
	t.Helper()
	var rows occurrence.StationDays
	for _, in := range reports {
		rows = append(rows, row(t, in, 0))
	}
	slices.SortFunc(rows, func(a, b occurrence.ObservationRow) int { return a.Day.Compare(*b.Day) })
	return rows.MeasuredDays(definition, false)
}

// requireStationOccurrences requires that the recorded occurrences of a source and
// definition are those that the trigger finds in all reported days. Others, which revised
// days left empty, may be recorded; none is named after a day of a found one.
func requireStationOccurrences(t *testing.T, b *modeltest.Bundle, definition trigger.Definition, source string, reports map[time.Time]wire.ObservationInput) {
	t.Helper()
	var rows []*occurrence.OccurrenceRow
	require.NoError(t, b.DB.Bun.NewSelect().Model(&rows).Where("source = ?", source).Where("definition = ?", definition.String()).Where("merged_into is null").OrderExpr("occurred_at").Scan(t.Context()))
	var all []occurrence.LoadedOccurrence
	for _, row := range rows {
		all = append(all, occurrence.LoadedOccurrence{Row: row})
	}
	require.NoError(t, occurrence.LoadStationFacts(t.Context(), b.DB.Bun, all))
	used := map[*occurrence.OccurrenceRow]bool{}
	found := definition.Occurrences(*rows[0].Station, measuredDays(t, definition, reports))
	for _, o := range found {
		stage := trigger.Preliminary
		if o.IsFinal() {
			stage = trigger.Final
		}
		at := slices.IndexFunc(all, func(l occurrence.LoadedOccurrence) bool { return l.Row.DayRun() == o.Run() })
		require.GreaterOrEqual(t, at, 0, "%s: %s to %s", definition, o.First, o.Last)
		require.Equal(t, stage, all[at].Row.Stage)
		require.Equal(t, o, *all[at].Facts.AtStation)
		used[all[at].Row] = true
	}
	require.Len(t, used, len(found))
	for _, row := range rows {
		if _, named, _ := occurrence.ParseStationDay(row.SourceEventID); !used[row] {
			require.False(t, slices.ContainsFunc(found, func(o trigger.StationOccurrence) bool { return o.Run().Contains(named) }), row.SourceEventID)
		}
	}
}

// reportInRandomBatches reports the days in a random order. The last report of a day
// counts.
func reportInRandomBatches(b *modeltest.Bundle, random *rand.Rand, reports []rainDay, known map[time.Time]wire.ObservationInput) {
	random.Shuffle(len(reports), func(i, k int) { reports[i], reports[k] = reports[k], reports[i] })
	for len(reports) > 0 {
		n := min(len(reports), 1+random.IntN(20))
		var batch []wire.ObservationInput
		for _, report := range reports[:n] {
			batch = append(batch, report.in)
			known[report.date] = report.in
		}
		b.Observe(batch...)
		reports = reports[n:]
	}
}

// The occurrences at a station follow from its days, whatever the order in which they were
// reported and revised: spells that grow, meet, split and dry up, and months.
func TestOccurrencesAtAStationFollowFromItsDays(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	spell := b.QuoteAndBind("rain-excess", nil)
	months := b.QuoteAndBind("rain-deficit", modeltest.Context{"station": spell.Cover.Place.Station})
	require.Equal(t, spell.Cover.Place.Station, months.Cover.Place.Station)
	b.AdvanceClock(120 * 24 * time.Hour)
	first := b.Now().Truncate(24*time.Hour).AddDate(0, 0, -80)
	random := rand.New(rand.NewPCG(14, 8))
	for _, source := range []string{"ghcn", "noaa"} {
		known := map[time.Time]wire.ObservationInput{}
		for range 3 { // the first reports, then two revisions of every day
			reportInRandomBatches(b, random, randomDays(random, source, spell.Cover.Place.Station, first, 70), known)
			for _, policy := range []*wire.Policy{spell, months} {
				requireStationOccurrences(t, b, policy.Cover.Trigger.Definition(), source, known)
			}
		}
		before, _, _ := allRows(t, b)
		var again []wire.ObservationInput
		for _, in := range known {
			again = append(again, in)
		}
		for _, result := range b.Observe(again...) {
			require.Equal(t, occurrence.ResultUnchanged, result.Result)
		}
		after, _, _ := allRows(t, b)
		require.Equal(t, before, after)
	}
}

func TestRetractedAndDriedSpellsKeepTheirOccurrence(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	station := b.QuoteAndBind("rain-excess", nil).Cover.Place.Station
	b.AdvanceClock(60 * 24 * time.Hour)
	first := b.Now().Truncate(24*time.Hour).AddDate(0, 0, -30)
	day := func(i int, rain string, stage trigger.Stage) wire.ObservationInput {
		in := modeltest.StationDay(station, first.AddDate(0, 0, i), rain)
		in.Stage = stage
		return in
	}
	stageOf := func() (trigger.Stage, int64) {
		all, _, _ := allRows(t, b)
		require.Len(t, all, 1)
		require.Equal(t, station+"/"+first.Format(time.DateOnly), all[0].SourceEventID)
		return all[0].Stage, all[0].Version
	}
	for i, tc := range []struct {
		days    []wire.ObservationInput
		stage   trigger.Stage
		version int64
	}{
		{[]wire.ObservationInput{day(0, "50", trigger.Final), day(1, "40", trigger.Final)}, trigger.Preliminary, 1},
		{[]wire.ObservationInput{day(2, "0", trigger.Final), day(3, "0", trigger.Final), day(4, "0", trigger.Final)}, trigger.Final, 2},
		{[]wire.ObservationInput{day(0, "0", trigger.Preliminary), day(1, "0", trigger.Final)}, trigger.Preliminary, 3},
		{[]wire.ObservationInput{day(0, "0", trigger.Final)}, trigger.Final, 4},
		{[]wire.ObservationInput{day(9, "0", trigger.Final)}, trigger.Final, 4},
		{[]wire.ObservationInput{day(0, "", trigger.Retracted)}, trigger.Final, 5},
		{[]wire.ObservationInput{day(1, "", trigger.Retracted)}, trigger.Retracted, 6},
		{[]wire.ObservationInput{day(1, "60", trigger.Final)}, trigger.Final, 7},
	} {
		b.Observe(tc.days...)
		stage, version := stageOf()
		require.Equal(t, []any{tc.stage, tc.version}, []any{stage, version}, "step %d", i)
	}
}
