package trigger

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/money"
)

// heatCover counts the hot days of a summer: 1 day pays nothing, 5 days pay everything.
func heatCover() Cover {
	return Cover{
		Limit: money.New(10_000_00, "USD"), Term: "P1Y", Place: Place{Kind: AtStation, Station: "Seattle"},
		Trigger: Trigger{
			Kind: Temperature, Index: hotDays, Unit: "days", Direction: AtLeast, DecidesOn: Final,
			DegreesC: decimalPtr(mustDecimal("32")), SeasonFrom: new("06-01"), SeasonTo: new("08-31"),
		},
		Payout: Payout{Shape: Linear, Attach: decimalPtr(mustDecimal("1")), Exhaust: decimalPtr(mustDecimal("5"))},
	}
}

// temperatures returns consecutive days from a date; "-" omits one.
func temperatures(d Definition, from time.Time, celsius ...string) []hazard.Day {
	var days []hazard.Day
	for i, value := range celsius {
		if value != "-" {
			days = append(days, d.NewDay(from.AddDate(0, 0, i), mustDecimal(value)))
		}
	}
	return days
}

func evaluateSeason(t *testing.T, c Cover, p Period, payableFrom time.Time, days []hazard.Day, paid ...DayRun) Determination {
	t.Helper()
	all := c.Trigger.Definition().Occurrences("Seattle", days)
	require.Len(t, all, 1)
	all[0].Paid = paid
	return Evaluate(c, p, payableFrom, Occurrence{AtStation: &all[0], Stage: Final})
}

func TestSeasonCountsHotDaysOfTheCover(t *testing.T) {
	t.Parallel()
	june := func(n int) time.Time { return utcDate(2015, 6, n) }
	year := Period{utcDate(2015, 1, 1), utcDate(2016, 1, 1)}
	hot := temperatures(heatCover().Trigger.Definition(), june(1), "32", "31.9", "-", "33", "32.0", "20")
	for name, test := range map[string]struct {
		period      Period
		payableFrom time.Time
		paid        []DayRun
		reason      Reason
		index       string
		first, last int
	}{
		"at the boundary":      {year, year.From, nil, ThresholdMet, "3", 1, 5},
		"begins in the season": {Period{june(2), year.To}, june(2), nil, ThresholdMet, "2", 4, 5},
		"a part of a day":      {Period{june(1).Add(time.Hour), year.To}, june(1), nil, ThresholdMet, "2", 4, 5},
		"ends in the season":   {Period{year.From, june(5)}, year.From, nil, ThresholdMet, "2", 1, 4},
		"waiting":              {year, june(5), nil, ThresholdNotMet, "1", 5, 5},
		"all waiting":          {year, june(30), nil, WaitingPeriod, "3", 1, 5},
		"ended before":         {Period{year.From, june(1)}, year.From, nil, OutsidePeriod, "3", 1, 5},
		"days paid elsewhere":  {year, year.From, []DayRun{{june(4), june(4)}}, ThresholdMet, "2", 1, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := evaluateSeason(t, heatCover(), test.period, test.payableFrom, hot, test.paid...)
			require.Equal(t, test.reason, d.Reason)
			require.Equal(t, test.index, d.Index.String())
			require.Equal(t, []time.Time{june(test.first), june(test.last), june(test.last)}, []time.Time{d.FirstDay, d.LastDay, d.OccurredAt})
			require.Equal(t, Final, d.Stage)
		})
	}
	d := evaluateSeason(t, heatCover(), year, year.From, hot)
	require.Equal(t, "0.5", d.Factor.String())
	require.Equal(t, int64(5_000_00), d.Amount)
}

func TestSeasonCountsColdDaysByTheLowestTemperature(t *testing.T) {
	t.Parallel()
	cover := heatCover()
	cover.Trigger.Index, cover.Trigger.DegreesC = coldDays, decimalPtr(mustDecimal("-20"))
	cover.Trigger.SeasonFrom, cover.Trigger.SeasonTo = new("12-01"), new("02-28")
	definition := cover.Trigger.Definition()
	days := temperatures(definition, utcDate(2014, 12, 30), "-20", "-19.9", "-25", "-20.1")
	d := evaluateSeason(t, cover, Period{utcDate(2014, 1, 1), utcDate(2016, 1, 1)}, utcDate(2014, 1, 1), days)
	require.Equal(t, "3", d.Index.String(), "one winter crosses new year")
	two := definition.Occurrences("Seattle", append(days, temperatures(definition, utcDate(2015, 11, 30), "-30", "-30")...))
	require.Equal(t, []string{"01-28", "01-28"}, dayRunsOf(two), "30 November is in no season")
	require.Equal(t, utcDate(2015, 12, 1), two[1].First)
	require.Equal(t, utcDate(2016, 2, 28), two[1].Last)
}

func TestSeasonIsFinalWhenItsHotDaysAre(t *testing.T) {
	t.Parallel()
	year := Period{utcDate(2015, 1, 1), utcDate(2016, 1, 1)}
	days := temperatures(heatCover().Trigger.Definition(), utcDate(2015, 6, 1), "33", "33", "20")
	days[2].Preliminary = true
	d := evaluateSeason(t, heatCover(), year, year.From, days)
	require.Equal(t, Final, d.Stage, "the preliminary day can only add to the count")
	days[1].Preliminary = true
	d = evaluateSeason(t, heatCover(), year, year.From, days)
	require.Equal(t, Preliminary, d.Stage)
	require.True(t, d.Met)
	season := heatCover().Trigger.Definition().Occurrences("Seattle", days)[0]
	require.False(t, season.IsFinal())
	require.False(t, season.IsOver())
	require.True(t, Occurrence{AtStation: &season}.Grows())
	require.Equal(t, "2", season.Definition.LargestIndex(season, 0).String())
	after := temperatures(season.Definition, utcDate(2015, 9, 1), "33")
	season = season.Definition.Occurrences("Seattle", append(days, after...))[0]
	require.True(t, season.IsOver())
}

func TestSeasonDefinitionIsReadBackAsWritten(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"hot_days/32/06-01/08-31", "cold_days/-20.5/12-01/02-28"} {
		d, ok := ParseDefinition(text)
		require.True(t, ok, text)
		require.Equal(t, text, d.String())
	}
	require.Equal(t, "hot_days/32/06-01/08-31", heatCover().Trigger.Definition().String())
	for _, text := range []string{"hot_days", "hot_days/32/06-01", "hot_days/x/06-01/08-31", "hot_days/32/06-31/08-31", "hot_days/32/06-01/02-29", "warm_days/32/06-01/08-31"} {
		_, ok := ParseDefinition(text)
		require.False(t, ok, text)
	}
}

func TestSeasonFirstDay(t *testing.T) {
	t.Parallel()
	d := heatCover().Trigger.Definition()
	require.Equal(t, utcDate(2030, 6, 1), d.FirstDay(utcDate(2030, 1, 1), utcDate(2030, 1, 8)))
	require.Equal(t, utcDate(2030, 7, 8), d.FirstDay(utcDate(2030, 7, 1), utcDate(2030, 7, 7).Add(time.Hour)))
	require.Equal(t, utcDate(2031, 6, 1), d.FirstDay(utcDate(2030, 8, 31), utcDate(2030, 9, 1)))
}

func TestTemperatureNeedsItsMembers(t *testing.T) {
	t.Parallel()
	require.NoError(t, heatCover().Validate())
	for says, change := range map[string]func(*Trigger){
		"index \"wet_days\" is neither": func(tr *Trigger) { tr.Index = "wet_days" },
		"needs degrees_c":               func(tr *Trigger) { tr.DegreesC = nil },
		"needs season_from":             func(tr *Trigger) { tr.SeasonFrom = new("06-31") },
		"season_to, month and day":      func(tr *Trigger) { tr.SeasonTo = nil },
		"counted at_least":              func(tr *Trigger) { tr.Direction = AtMost },
	} {
		cover := heatCover()
		change(&cover.Trigger)
		require.ErrorContains(t, cover.Validate(), says)
		require.Nil(t, cover.Trigger.Definition(), "%s: terms that are not valid define nothing", says)
		require.False(t, IsMeasured(cover.Trigger.Definition())(hazard.Day{}))
	}
}
