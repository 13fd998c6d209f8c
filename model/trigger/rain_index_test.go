package trigger

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
)

// judgeRain judges the only occurrence that days make.
func judgeRain(t *testing.T, c Cover, p Period, payableFrom time.Time, days []hazard.Day, paid ...DayRun) Determination {
	t.Helper()
	all := c.Trigger.Definition().Occurrences("Seattle", days)
	require.Len(t, all, 1)
	all[0].Paid = paid
	return Evaluate(c, p, payableFrom, Occurrence{Rain: &all[0], Stage: Final})
}

func TestSpellIndexIsTheLargestSumOfItsDaysInTheCover(t *testing.T) {
	t.Parallel()
	noon := 12 * time.Hour
	day := func(n int) time.Time { return date(2015, 5, n) }
	for name, test := range map[string]struct {
		days   []hazard.Day
		period Period
		from   time.Time
		paid   []DayRun
		reason Reason
		index  string
		last   int
	}{
		"below":                    {rain(may.From, "20", "20", "19.9"), may, may.From, nil, ThresholdNotMet, "59.9", 3},
		"at the boundary":          {rain(may.From, "20", "20", "20.0"), may, may.From, nil, ThresholdMet, "60", 3},
		"fewer days than three":    {rain(may.From, "60"), may, may.From, nil, ThresholdMet, "60", 1},
		"the three wettest":        {rain(may.From, "20", "20", "20", "30", "5", "40"), may, may.From, nil, ThresholdMet, "75", 6},
		"the first of equals":      {rain(may.From, "20", "20", "20", "20", "20"), may, may.From, nil, ThresholdMet, "60", 3},
		"drier days between":       {rain(may.From, "30", "0", "30", "0", "0", "50"), may, may.From, nil, ThresholdMet, "60", 3},
		"days before the cover":    {rain(day(1), "50", "30", "20", "9"), Period{day(2), may.To}, day(2), nil, ThresholdNotMet, "59", 4},
		"a day that begins before": {rain(day(1), "50", "30", "20", "9"), Period{day(1).Add(noon), may.To}, day(1), nil, ThresholdNotMet, "59", 4},
		"a day that ends after":    {rain(day(1), "30", "20", "50"), Period{may.From, day(3).Add(noon)}, may.From, nil, ThresholdNotMet, "50", 2},
		"cover ends at midnight":   {rain(day(1), "30", "20", "10"), Period{may.From, day(4)}, may.From, nil, ThresholdMet, "60", 3},
		"waiting":                  {rain(day(1), "50", "30", "20", "9"), may, day(2), nil, ThresholdNotMet, "59", 4},
		"waiting to noon":          {rain(day(1), "50", "30", "20", "9"), may, day(1).Add(noon), nil, ThresholdNotMet, "59", 4},
		"wholly in the waiting":    {rain(day(1), "50", "30"), may, day(5), nil, WaitingPeriod, "80", 2},
		"wholly before the cover":  {rain(day(1), "50", "30"), Period{day(5), may.To}, day(5), nil, OutsidePeriod, "80", 2},
		"days that were paid":      {rain(day(1), "50", "30", "20", "39"), may, may.From, []DayRun{{day(1), day(2)}}, ThresholdNotMet, "59", 4},
		"paid days between":        {rain(day(1), "40", "30", "40"), may, may.From, []DayRun{{day(2), day(2)}}, ThresholdNotMet, "40", 1},
		"every day was paid":       {rain(day(1), "40", "30", "40"), may, may.From, []DayRun{{day(1), day(3)}}, ThresholdNotMet, "0", 3},
	} {
		d := judgeRain(t, excess, test.period, test.from, test.days, test.paid...)
		require.Equal(t, test.reason, d.Reason, name)
		require.True(t, dec(test.index).Equal(*d.Index), "%s: %s", name, d.Index)
		require.Equal(t, day(test.last), d.OccurredAt, name)
		require.Nil(t, d.DistanceKM, name)
		if d.Met {
			require.Equal(t, day(test.last), d.LastDay, name)
			require.Equal(t, int64(10_000_00), d.Amount, name)
		}
	}
}

func TestRainOfAnotherStationOrDefinitionIsOutsideThePlace(t *testing.T) {
	t.Parallel()
	all := spell.Occurrences("New York", rain(may.From, "60"))
	require.Equal(t, OutsidePlace, Evaluate(excess, may, may.From, Occurrence{Rain: &all[0]}).Reason)
	months := Definition{Calendar: Month}.Occurrences("Seattle", rain(may.From, "60"))
	require.Equal(t, OutsidePlace, Evaluate(excess, may, may.From, Occurrence{Rain: &months[0]}).Reason)
}

func TestRevisedAwaySpellHasTheIndexZero(t *testing.T) {
	t.Parallel()
	gone := RainOccurrence{Station: "Seattle", Definition: spell, First: date(2015, 5, 3), Last: date(2015, 5, 4), After: rain(date(2015, 5, 3), "0", "0")}
	d := Evaluate(excess, may, may.From, Occurrence{Rain: &gone})
	require.Equal(t, ThresholdNotMet, d.Reason)
	require.Equal(t, "0", d.Index.String())
	require.Equal(t, Final, d.Stage)
	gone.After[0].Preliminary = true
	require.Equal(t, Preliminary, Evaluate(excess, may, may.From, Occurrence{Rain: &gone}).Stage)
}

// preliminary marks days by their place in the list.
func preliminary(days []hazard.Day, which ...int) []hazard.Day {
	for _, i := range which {
		days[i].Preliminary = true
	}
	return days
}

func TestSpellIsSettledByFinalDrierDaysOrTheEndOfCover(t *testing.T) {
	t.Parallel()
	short := Period{may.From, date(2015, 5, 3)}
	for name, test := range map[string]struct {
		days   []hazard.Day
		period Period
		want   Stage
	}{
		"it still rains":                  {rain(may.From, "60"), may, Preliminary},
		"two dry days":                    {rain(may.From, "60", "0", "0"), may, Preliminary},
		"three dry days":                  {rain(may.From, "60", "0", "0", "0"), may, Final},
		"a preliminary wet day":           {preliminary(rain(may.From, "60", "0", "0", "0"), 0), may, Preliminary},
		"a preliminary dry day":           {preliminary(rain(may.From, "60", "0", "0", "0"), 3), may, Preliminary},
		"a fourth one does not matter":    {preliminary(rain(may.From, "60", "0", "0", "0", "0"), 4), may, Final},
		"a missing day":                   {rain(may.From, "60", "-"), may, Preliminary},
		"two days behind a missing one":   {rain(may.From, "60", "-", "0", "0"), may, Preliminary},
		"three days behind a missing one": {rain(may.From, "60", "-", "0", "0", "0"), may, Final},
		"cover has ended":                 {rain(may.From, "60", "5"), short, Final},
		"cover ends tomorrow":             {rain(may.From, "60"), short, Preliminary},
		"cover ends with a dry day":       {rain(may.From, "60", "0"), short, Final},
		"which is preliminary":            {preliminary(rain(may.From, "60", "0"), 1), short, Preliminary},
		"rain behind the cover":           {preliminary(rain(may.From, "60", "5", "70"), 2), short, Final},
		"a preliminary day in the cover":  {preliminary(rain(may.From, "60", "5"), 1), short, Preliminary},
	} {
		d := judgeRain(t, excess, test.period, may.From, test.days)
		require.True(t, d.Met, name)
		require.Equal(t, test.want, d.Stage, name)
	}
	waiting := preliminary(rain(may.From, "5", "60", "0", "0", "0"), 0)
	require.Equal(t, Final, judgeRain(t, excess, may, date(2015, 5, 2), waiting).Stage, "a day of the waiting period does not count")
}

// aMonth is May 2015 with a first day, dry afterwards.
func aMonth(first string, more ...string) []hazard.Day {
	values := make([]string, 31)
	for i := range values {
		values[i] = "0"
	}
	values[0] = first
	return rain(may.From, append(values, more...)...)
}

func TestDeficitIsJudgedWhenEveryDayIsFinalAndInTheCover(t *testing.T) {
	t.Parallel()
	without := func(days []hazard.Day, i int) []hazard.Day { return append(days[:i:i], days[i+1:]...) }
	all := Period{date(2015, 4, 1), date(2015, 7, 1)}
	for name, test := range map[string]struct {
		days   []hazard.Day
		period Period
		from   time.Time
		reason Reason
		stage  Stage
	}{
		"met":                            {aMonth("2"), all, all.From, ThresholdMet, Final},
		"exactly the month":              {aMonth("2"), may, may.From, ThresholdMet, Final},
		"not met":                        {aMonth("2.1"), all, all.From, ThresholdNotMet, Final},
		"cover begins on the first":      {aMonth("2"), Period{may.From.Add(time.Second), all.To}, all.From, OutsidePeriod, Final},
		"cover ends on the last":         {aMonth("2"), Period{all.From, may.To.Add(-time.Second)}, all.From, OutsidePeriod, Final},
		"waiting":                        {aMonth("2"), all, may.From.Add(time.Second), WaitingPeriod, Final},
		"a preliminary day":              {preliminary(aMonth("2"), 30), all, all.From, SourcePreliminary, Preliminary},
		"a preliminary day, too wet":     {preliminary(aMonth("9"), 30), all, all.From, ThresholdNotMet, Preliminary},
		"days to come":                   {aMonth("2")[:30], all, all.From, SourcePreliminary, Preliminary},
		"days to come, too wet":          {aMonth("9")[:30], all, all.From, ThresholdNotMet, Preliminary},
		"a missing day, not over":        {without(aMonth("2")[:30], 7), all, all.From, SourcePreliminary, Preliminary},
		"over with a missing day":        {without(aMonth("2"), 30), all, all.From, SourcePreliminary, Preliminary},
		"over without the last day, wet": {without(aMonth("9"), 7), all, all.From, ThresholdNotMet, Preliminary},
	} {
		d := judgeRain(t, dryMonths, test.period, test.from, test.days)
		require.Equal(t, test.reason, d.Reason, name)
		require.Equal(t, test.stage, d.Stage, name)
		require.Equal(t, test.reason == ThresholdMet, d.Met, name)
		require.Equal(t, d.Met, d.Amount > 0, name)
		require.Equal(t, date(2015, 5, 31), d.OccurredAt, name)
	}
	june := without(aMonth("2", "0"), 7)
	may := Definition{Calendar: Month}.Occurrences("Seattle", june)[0]
	d := Evaluate(dryMonths, all, all.From, Occurrence{Rain: &may})
	require.Equal(t, EvidenceNeeded, d.Reason, "the source went on behind the month")
	require.False(t, d.Met)
	require.Zero(t, d.Amount)
	may.Days[0].Preliminary = true
	require.Equal(t, SourcePreliminary, Evaluate(dryMonths, all, all.From, Occurrence{Rain: &may}).Reason)
	whole := Definition{Calendar: Month}.Occurrences("Seattle", aMonth("0"))[0]
	whole.Paid = []DayRun{{date(2015, 5, 31), date(2015, 6, 3)}}
	require.Equal(t, OutsidePeriod, Evaluate(dryMonths, all, all.From, Occurrence{Rain: &whole}).Reason, "a day was paid already")
}

// More cover never pays less: a longer sum, a lower attachment, a longer cover.
func TestMoreRainCoverNeverPaysLess(t *testing.T) {
	t.Parallel()
	station, _ := hazard.Shipped().Station(hazard.Shipped().StationNames()[0])
	year := station.Days[0].Date.Year()
	short := Period{date(year, 3, 5), date(year, 11, 7)}
	long := Period{date(year, 2, 1), date(year, 12, 24)}
	for _, o := range spell.Occurrences("Seattle", station.Days[:366]) {
		smaller := rainCover(AtLeast, linear)
		longer, cheaper := smaller, rainCover(AtLeast, Payout{Shape: Linear, Attach: ptr(dec("80")), Exhaust: linear.Exhaust})
		longer.Trigger.Days = 5
		judged := Evaluate(smaller, short, short.From, Occurrence{Rain: &o})
		require.GreaterOrEqual(t, Evaluate(longer, short, short.From, Occurrence{Rain: &o}).Amount, judged.Amount)
		require.GreaterOrEqual(t, Evaluate(cheaper, short, short.From, Occurrence{Rain: &o}).Amount, judged.Amount)
		require.GreaterOrEqual(t, Evaluate(smaller, long, long.From, Occurrence{Rain: &o}).Amount, judged.Amount)
	}
}
