package trigger

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
)

// evaluateRainOn evaluates the only occurrence of the days.
func evaluateRainOn(t *testing.T, c Cover, p Period, payableFrom time.Time, days []hazard.Day, paid ...DayRun) Determination {
	t.Helper()
	all := c.Trigger.Definition().Occurrences("Seattle", days)
	require.Len(t, all, 1)
	all[0].Paid = paid
	return Evaluate(c, p, payableFrom, Occurrence{AtStation: &all[0], Stage: Final})
}

func TestSpellIndexIsTheLargestSumOfItsDaysInTheCover(t *testing.T) {
	t.Parallel()
	noon := 12 * time.Hour
	day := func(n int) time.Time { return utcDate(2015, 5, n) }
	for name, test := range map[string]struct {
		days   []hazard.Day
		period Period
		from   time.Time
		paid   []DayRun
		reason Reason
		index  string
		last   int
	}{
		"below":                    {rainOccurrence(mayFirst.From, "20", "20", "19.9"), mayFirst, mayFirst.From, nil, ThresholdNotMet, "59.9", 3},
		"at the boundary":          {rainOccurrence(mayFirst.From, "20", "20", "20.0"), mayFirst, mayFirst.From, nil, ThresholdMet, "60", 3},
		"fewer days than three":    {rainOccurrence(mayFirst.From, "60"), mayFirst, mayFirst.From, nil, ThresholdMet, "60", 1},
		"the three wettest":        {rainOccurrence(mayFirst.From, "20", "20", "20", "30", "5", "40"), mayFirst, mayFirst.From, nil, ThresholdMet, "75", 6},
		"the first of equals":      {rainOccurrence(mayFirst.From, "20", "20", "20", "20", "20"), mayFirst, mayFirst.From, nil, ThresholdMet, "60", 3},
		"drier days between":       {rainOccurrence(mayFirst.From, "30", "0", "30", "0", "0", "50"), mayFirst, mayFirst.From, nil, ThresholdMet, "60", 3},
		"days before the cover":    {rainOccurrence(day(1), "50", "30", "20", "9"), Period{day(2), mayFirst.To}, day(2), nil, ThresholdNotMet, "59", 4},
		"a day that begins before": {rainOccurrence(day(1), "50", "30", "20", "9"), Period{day(1).Add(noon), mayFirst.To}, day(1), nil, ThresholdNotMet, "59", 4},
		"a day that ends after":    {rainOccurrence(day(1), "30", "20", "50"), Period{mayFirst.From, day(3).Add(noon)}, mayFirst.From, nil, ThresholdNotMet, "50", 2},
		"cover ends at midnight":   {rainOccurrence(day(1), "30", "20", "10"), Period{mayFirst.From, day(4)}, mayFirst.From, nil, ThresholdMet, "60", 3},
		"waiting":                  {rainOccurrence(day(1), "50", "30", "20", "9"), mayFirst, day(2), nil, ThresholdNotMet, "59", 4},
		"waiting to noon":          {rainOccurrence(day(1), "50", "30", "20", "9"), mayFirst, day(1).Add(noon), nil, ThresholdNotMet, "59", 4},
		"wholly in the waiting":    {rainOccurrence(day(1), "50", "30"), mayFirst, day(5), nil, WaitingPeriod, "80", 2},
		"wholly before the cover":  {rainOccurrence(day(1), "50", "30"), Period{day(5), mayFirst.To}, day(5), nil, OutsidePeriod, "80", 2},
		"days that were paid":      {rainOccurrence(day(1), "50", "30", "20", "39"), mayFirst, mayFirst.From, []DayRun{{day(1), day(2)}}, ThresholdNotMet, "59", 4},
		"paid days between":        {rainOccurrence(day(1), "40", "30", "40"), mayFirst, mayFirst.From, []DayRun{{day(2), day(2)}}, ThresholdNotMet, "40", 1},
		"every day was paid":       {rainOccurrence(day(1), "40", "30", "40"), mayFirst, mayFirst.From, []DayRun{{day(1), day(3)}}, ThresholdNotMet, "0", 3},
	} {
		d := evaluateRainOn(t, excessCover, test.period, test.from, test.days, test.paid...)
		require.Equal(t, test.reason, d.Reason, name)
		require.True(t, mustDecimal(test.index).Equal(*d.Index), "%s: %s", name, d.Index)
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
	all := spellDefinition.Occurrences("New York", rainOccurrence(mayFirst.From, "60"))
	require.Equal(t, OutsidePlace, Evaluate(excessCover, mayFirst, mayFirst.From, Occurrence{AtStation: &all[0]}).Reason)
	months := calendarPeriods{calendar: Month}.Occurrences("Seattle", rainOccurrence(mayFirst.From, "60"))
	require.Equal(t, OutsidePlace, Evaluate(excessCover, mayFirst, mayFirst.From, Occurrence{AtStation: &months[0]}).Reason)
}

func TestSpellRevisedToDryHasIndexZero(t *testing.T) {
	t.Parallel()
	gone := StationOccurrence{Station: "Seattle", Definition: spellDefinition, First: utcDate(2015, 5, 3), Last: utcDate(2015, 5, 4), After: rainOccurrence(utcDate(2015, 5, 3), "0", "0")}
	d := Evaluate(excessCover, mayFirst, mayFirst.From, Occurrence{AtStation: &gone})
	require.Equal(t, ThresholdNotMet, d.Reason)
	require.Equal(t, "0", d.Index.String())
	require.Equal(t, Final, d.Stage)
	gone.After[0].Preliminary = true
	require.Equal(t, Preliminary, Evaluate(excessCover, mayFirst, mayFirst.From, Occurrence{AtStation: &gone}).Stage)
}

// markPreliminary marks days by their position in the list.
func markPreliminary(days []hazard.Day, which ...int) []hazard.Day {
	for _, i := range which {
		days[i].Preliminary = true
	}
	return days
}

func TestSpellIsFinalAfterDryDaysOrEndOfCover(t *testing.T) {
	t.Parallel()
	short := Period{mayFirst.From, utcDate(2015, 5, 3)}
	for name, test := range map[string]struct {
		days   []hazard.Day
		period Period
		want   Stage
	}{
		"it still rains":                  {rainOccurrence(mayFirst.From, "60"), mayFirst, Preliminary},
		"two dry days":                    {rainOccurrence(mayFirst.From, "60", "0", "0"), mayFirst, Preliminary},
		"three dry days":                  {rainOccurrence(mayFirst.From, "60", "0", "0", "0"), mayFirst, Final},
		"a preliminary wet day":           {markPreliminary(rainOccurrence(mayFirst.From, "60", "0", "0", "0"), 0), mayFirst, Preliminary},
		"a preliminary dry day":           {markPreliminary(rainOccurrence(mayFirst.From, "60", "0", "0", "0"), 3), mayFirst, Preliminary},
		"a fourth one does not matter":    {markPreliminary(rainOccurrence(mayFirst.From, "60", "0", "0", "0", "0"), 4), mayFirst, Final},
		"a missing day":                   {rainOccurrence(mayFirst.From, "60", "-"), mayFirst, Preliminary},
		"two days behind a missing one":   {rainOccurrence(mayFirst.From, "60", "-", "0", "0"), mayFirst, Preliminary},
		"three days behind a missing one": {rainOccurrence(mayFirst.From, "60", "-", "0", "0", "0"), mayFirst, Final},
		"cover has ended":                 {rainOccurrence(mayFirst.From, "60", "5"), short, Final},
		"cover ends tomorrow":             {rainOccurrence(mayFirst.From, "60"), short, Preliminary},
		"cover ends with a dry day":       {rainOccurrence(mayFirst.From, "60", "0"), short, Final},
		"which is preliminary":            {markPreliminary(rainOccurrence(mayFirst.From, "60", "0"), 1), short, Preliminary},
		"rain behind the cover":           {markPreliminary(rainOccurrence(mayFirst.From, "60", "5", "70"), 2), short, Final},
		"a preliminary day in the cover":  {markPreliminary(rainOccurrence(mayFirst.From, "60", "5"), 1), short, Preliminary},
	} {
		d := evaluateRainOn(t, excessCover, test.period, mayFirst.From, test.days)
		require.True(t, d.Met, name)
		require.Equal(t, test.want, d.Stage, name)
	}
	waiting := markPreliminary(rainOccurrence(mayFirst.From, "5", "60", "0", "0", "0"), 0)
	require.Equal(t, Final, evaluateRainOn(t, excessCover, mayFirst, utcDate(2015, 5, 2), waiting).Stage, "a day of the waiting period does not count")
}

// monthOfRain returns May 2015 with the given first days, dry afterwards.
func monthOfRain(first string, more ...string) []hazard.Day {
	values := make([]string, 31)
	for i := range values {
		values[i] = "0"
	}
	values[0] = first
	return rainOccurrence(mayFirst.From, append(values, more...)...)
}

func TestDeficitIsDecidedWhenEveryDayIsFinal(t *testing.T) {
	t.Parallel()
	without := func(days []hazard.Day, i int) []hazard.Day { return append(days[:i:i], days[i+1:]...) }
	all := Period{utcDate(2015, 4, 1), utcDate(2015, 7, 1)}
	for name, test := range map[string]struct {
		days   []hazard.Day
		period Period
		from   time.Time
		reason Reason
		stage  Stage
	}{
		"met":                            {monthOfRain("2"), all, all.From, ThresholdMet, Final},
		"exactly the month":              {monthOfRain("2"), mayFirst, mayFirst.From, ThresholdMet, Final},
		"not met":                        {monthOfRain("2.1"), all, all.From, ThresholdNotMet, Final},
		"cover begins on the first":      {monthOfRain("2"), Period{mayFirst.From.Add(time.Second), all.To}, all.From, OutsidePeriod, Final},
		"cover ends on the last":         {monthOfRain("2"), Period{all.From, mayFirst.To.Add(-time.Second)}, all.From, OutsidePeriod, Final},
		"waiting":                        {monthOfRain("2"), all, mayFirst.From.Add(time.Second), WaitingPeriod, Final},
		"a preliminary day":              {markPreliminary(monthOfRain("2"), 30), all, all.From, SourcePreliminary, Preliminary},
		"a preliminary day, too wet":     {markPreliminary(monthOfRain("9"), 30), all, all.From, ThresholdNotMet, Preliminary},
		"days to come":                   {monthOfRain("2")[:30], all, all.From, SourcePreliminary, Preliminary},
		"days to come, too wet":          {monthOfRain("9")[:30], all, all.From, ThresholdNotMet, Preliminary},
		"a missing day, not over":        {without(monthOfRain("2")[:30], 7), all, all.From, SourcePreliminary, Preliminary},
		"over with a missing day":        {without(monthOfRain("2"), 30), all, all.From, SourcePreliminary, Preliminary},
		"over without the last day, wet": {without(monthOfRain("9"), 7), all, all.From, ThresholdNotMet, Preliminary},
	} {
		d := evaluateRainOn(t, monthDefinition, test.period, test.from, test.days)
		require.Equal(t, test.reason, d.Reason, name)
		require.Equal(t, test.stage, d.Stage, name)
		require.Equal(t, test.reason == ThresholdMet, d.Met, name)
		require.Equal(t, d.Met, d.Amount > 0, name)
		require.Equal(t, utcDate(2015, 5, 31), d.OccurredAt, name)
	}
	june := without(monthOfRain("2", "0"), 7)
	may := calendarPeriods{calendar: Month}.Occurrences("Seattle", june)[0]
	d := Evaluate(monthDefinition, all, all.From, Occurrence{AtStation: &may})
	require.Equal(t, EvidenceNeeded, d.Reason, "the source went on behind the month")
	measured := monthDefinition
	measured.Measurement = &Measurement{Sources: []MeasurementSource{{"ghcn", Final}}}
	for name, test := range map[string]struct {
		cover  Cover
		days   []hazard.Day
		reason Reason
	}{
		"no day":                  {measured, nil, EvidenceNeeded},
		"days are missing":        {measured, without(monthOfRain("1"), 7), EvidenceNeeded},
		"it rained enough":        {measured, without(monthOfRain("9"), 7), ThresholdNotMet},
		"complete":                {measured, monthOfRain("1"), ThresholdMet},
		"without the measurement": {monthDefinition, nil, SourcePreliminary},
	} {
		ended := may
		ended.Days, ended.After, ended.Ended = test.days, nil, true
		d := Evaluate(test.cover, all, all.From, Occurrence{Source: "ghcn", AtStation: &ended})
		require.Equal(t, test.reason, d.Reason, name)
		require.Equal(t, test.reason == ThresholdMet, d.Met, name)
		require.True(t, ended.IsOver(), name)
	}
	require.False(t, d.Met)
	require.Zero(t, d.Amount)
	may.Days[0].Preliminary = true
	require.Equal(t, SourcePreliminary, Evaluate(monthDefinition, all, all.From, Occurrence{AtStation: &may}).Reason)
	whole := calendarPeriods{calendar: Month}.Occurrences("Seattle", monthOfRain("0"))[0]
	whole.Paid = []DayRun{{utcDate(2015, 5, 31), utcDate(2015, 6, 3)}}
	require.Equal(t, OutsidePeriod, Evaluate(monthDefinition, all, all.From, Occurrence{AtStation: &whole}).Reason, "a day was paid already")
}

// More cover never pays less: a longer sum, a lower attachment or a longer cover.
func TestMoreRainCoverNeverPaysLess(t *testing.T) {
	t.Parallel()
	station, _ := hazard.Shipped().Station(hazard.Shipped().StationNames()[0])
	year := station.Days[0].Date.Year()
	short := Period{utcDate(year, 3, 5), utcDate(year, 11, 7)}
	long := Period{utcDate(year, 2, 1), utcDate(year, 12, 24)}
	for _, o := range spellDefinition.Occurrences("Seattle", station.Days[:366]) {
		smaller := rainCover(AtLeast, linearPayout)
		longer, cheaper := smaller, rainCover(AtLeast, Payout{Shape: Linear, Attach: decimalPtr(mustDecimal("80")), Exhaust: linearPayout.Exhaust})
		longer.Trigger.Days = 5
		judged := Evaluate(smaller, short, short.From, Occurrence{AtStation: &o})
		require.GreaterOrEqual(t, Evaluate(longer, short, short.From, Occurrence{AtStation: &o}).Amount, judged.Amount)
		require.GreaterOrEqual(t, Evaluate(cheaper, short, short.From, Occurrence{AtStation: &o}).Amount, judged.Amount)
		require.GreaterOrEqual(t, Evaluate(smaller, long, long.From, Occurrence{AtStation: &o}).Amount, judged.Amount)
	}
}
