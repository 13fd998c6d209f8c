package trigger

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
)

var (
	mayFirst        = Period{From: utcDate(2015, 5, 1), To: utcDate(2015, 6, 1)}
	spellDefinition = wetSpells{wetMM: mustDecimal("1"), dryDays: 3}
	excessCover     = rainCover(AtLeast, Payout{Shape: Lump, Threshold: decimalPtr(mustDecimal("60"))})
	monthDefinition = rainCover(AtMost, Payout{Shape: Lump, Threshold: decimalPtr(mustDecimal("2.0"))})
)

// dayRunsOf formats occurrences as first-last, by the day of the month.
func dayRunsOf(occurrences []StationOccurrence) []string {
	texts := []string{}
	for _, o := range occurrences {
		texts = append(texts, o.First.Format("02")+"-"+o.Last.Format("02"))
	}
	return texts
}

func TestWetSpells(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		days []hazard.Day
		want []string
	}{
		"none":                         {rainOccurrence(mayFirst.From, "0", "0.9", "-", "0.99"), []string{}},
		"wet_mm is wet":                {rainOccurrence(mayFirst.From, "0", "1", "1.0", "0"), []string{"02-03"}},
		"two dry days are part of it":  {rainOccurrence(mayFirst.From, "5", "0", "0", "5"), []string{"01-04"}},
		"three dry days end it":        {rainOccurrence(mayFirst.From, "5", "0", "0", "0", "5"), []string{"01-01", "05-05"}},
		"a missing day ends it":        {rainOccurrence(mayFirst.From, "5", "5", "-", "5"), []string{"01-02", "04-04"}},
		"so does one among dry days":   {rainOccurrence(mayFirst.From, "5", "0", "-", "5"), []string{"01-01", "04-04"}},
		"it ends with a wet day":       {rainOccurrence(mayFirst.From, "5", "5", "0", "0"), []string{"01-02"}},
		"to the end of what is known":  {rainOccurrence(mayFirst.From, "0", "5", "5"), []string{"02-03"}},
		"dry days do not add up":       {rainOccurrence(mayFirst.From, "5", "0", "0", "5", "0", "0", "5"), []string{"01-07"}},
		"a missing day begins nothing": {rainOccurrence(mayFirst.From, "-", "-", "5"), []string{"03-03"}},
	} {
		got := spellDefinition.Occurrences("Seattle", test.days)
		require.Equal(t, test.want, dayRunsOf(got), name)
		for _, o := range got {
			require.Zero(t, o.Missing(), name)
			require.LessOrEqual(t, len(o.After), 3, name)
		}
	}
}

func TestCalendarPeriods(t *testing.T) {
	t.Parallel()
	days := rainOccurrence(utcDate(2024, 2, 9), "1", "2", "3", "-", "5")
	months := calendarPeriods{calendar: Month}.Occurrences("Seattle", days)
	require.Equal(t, []string{"01-29"}, dayRunsOf(months))
	require.Equal(t, 25, months[0].Missing())
	require.Empty(t, months[0].After)
	dekads := calendarPeriods{calendar: Dekad}.Occurrences("Seattle", days)
	require.Equal(t, []string{"01-10", "11-20"}, dayRunsOf(dekads))
	require.Equal(t, utcDate(2024, 2, 11), dekads[0].After[0].Date, "the source went on behind the first")
	third := calendarPeriods{calendar: Dekad}.Occurrences("Seattle", rainOccurrence(utcDate(2024, 2, 29), "1", "2"))
	require.Equal(t, []string{"21-29", "01-10"}, dayRunsOf(third))
}

func TestDefinitionIsReadBackAsWritten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Definition{
		"month": calendarPeriods{calendar: Month}, "dekad": calendarPeriods{calendar: Dekad}, "spell/1/3": spellDefinition, "spell/0.5/2": wetSpells{wetMM: mustDecimal("0.5"), dryDays: 2},
	} {
		got, ok := ParseDefinition(text)
		require.True(t, ok, text)
		require.Equal(t, text, got.String())
		require.Equal(t, want.String(), got.String())
	}
	for _, text := range []string{"", "window", "week", "spell", "spell/1", "spell/x/3", "spell/1/x", "spell/1/0", "month/1/3"} {
		_, ok := ParseDefinition(text)
		require.False(t, ok, text)
	}
	require.Equal(t, "spell/1/3", excessCover.Trigger.Definition().String())
	require.Equal(t, "spell/1/3", Trigger{Kind: Rainfall, Direction: AtLeast, Days: 10}.Definition().String(), "of a cover bound without a definition")
	require.Equal(t, "month", Trigger{Kind: Rainfall, Direction: AtMost, Days: 30}.Definition().String(), "of a cover bound without a definition")
	require.Nil(t, quakeCover().Trigger.Definition(), "an earthquake happens at no station")
	one := spellDefinition
	one.wetMM = mustDecimal("1.00")
	require.Equal(t, spellDefinition.String(), one.String(), "1.00 mm are 1 mm")
}

func TestCalendarFirstFrom(t *testing.T) {
	t.Parallel()
	require.Equal(t, utcDate(2030, 2, 1), Month.FirstFrom(utcDate(2030, 1, 8)))
	require.Equal(t, utcDate(2030, 1, 1), Month.FirstFrom(utcDate(2030, 1, 1)))
	require.Equal(t, utcDate(2030, 2, 1), Month.FirstFrom(utcDate(2030, 1, 1).Add(time.Second)))
	require.Equal(t, utcDate(2030, 1, 11), Dekad.FirstFrom(utcDate(2030, 1, 8)))
	require.Equal(t, utcDate(2030, 3, 1), Dekad.FirstFrom(utcDate(2030, 2, 22)))
}

func TestDayRunsOverlapWhenTheyShareADay(t *testing.T) {
	t.Parallel()
	run := func(first, last int) DayRun { return DayRun{utcDate(2015, 5, first), utcDate(2015, 5, last)} }
	require.True(t, run(1, 3).Overlaps(run(3, 5)))
	require.True(t, run(3, 5).Overlaps(run(1, 3)))
	require.False(t, run(1, 3).Overlaps(run(4, 5)))
	require.False(t, run(4, 5).Overlaps(run(1, 3)))
	require.True(t, run(1, 3).Contains(utcDate(2015, 5, 3)))
	require.False(t, run(1, 3).Contains(utcDate(2015, 5, 4)))
}

func BenchmarkOccurrences(b *testing.B) {
	station, _ := hazard.Shipped().Station(hazard.Shipped().StationNames()[0])
	for b.Loop() {
		spellDefinition.Occurrences(station.Name, station.Days)
	}
}
