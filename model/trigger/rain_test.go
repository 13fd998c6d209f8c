package trigger

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
)

var (
	may      = Period{From: date(2015, 5, 1), To: date(2015, 6, 1)}
	flood    = rollingCover(AtLeast, 3, Payout{Shape: Lump, Threshold: ptr(dec("60"))})
	dryMonth = rollingCover(AtMost, 3, Payout{Shape: Lump, Threshold: ptr(dec("2.0"))})
)

// rollingCover is a cover as it was sold before wet spells and calendars.
func rollingCover(direction Direction, days int, payout Payout) Cover {
	c := rainCover(direction, payout)
	c.Trigger.Days, c.Trigger.WetMM, c.Trigger.DryDays, c.Trigger.Calendar = days, nil, 0, ""
	return c
}

// lasts names windows by the day of the month they end on.
func lasts(windows []Window) []int {
	days := []int{}
	for _, window := range windows {
		days = append(days, window.Last().Day())
	}
	return days
}

func TestWindowsOfExcess(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		days   []hazard.Day
		period Period
		from   time.Time
		want   []int
	}{
		"none":                    {rain(may.From, "10", "20", "29.9", "5"), may, may.From, []int{}},
		"at the boundary":         {rain(may.From, "10", "20", "30.0"), may, may.From, []int{3}},
		"sliding finds the first": {rain(may.From, "0", "10", "20", "30", "40"), may, may.From, []int{4}},
		"days never count twice":  {rain(may.From, "0", "10", "20", "30", "40", "19", "0"), may, may.From, []int{4}},
		"the next starts behind":  {rain(may.From, "0", "10", "20", "30", "40", "20", "0"), may, may.From, []int{4, 7}},
		"a gap breaks the run":    {rain(may.From, "30", "30", "-", "30", "20", "10"), may, may.From, []int{6}},
		"in any order":            {append(rain(date(2015, 5, 3), "30"), rain(may.From, "10", "20")...), may, may.From, []int{3}},
		"before the cover":        {rain(date(2015, 4, 30), "30", "20", "10", "9"), may, may.From, []int{}},
		"cover starts at noon":    {rain(may.From, "30", "20", "10", "30"), Period{may.From.Add(12 * time.Hour), may.To}, may.From, []int{4}},
		"cover ends at noon":      {rain(may.From, "30", "20", "10"), Period{may.From, date(2015, 5, 3).Add(12 * time.Hour)}, may.From, []int{}},
		"cover ends at midnight":  {rain(may.From, "30", "20", "10"), Period{may.From, date(2015, 5, 4)}, may.From, []int{3}},
		"waiting":                 {rain(may.From, "30", "20", "10", "30"), may, date(2015, 5, 2), []int{4}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, lasts(Windows(flood, test.period, test.from, test.days, nil)))
		})
	}
}

func TestPaidDaysNeverCountTwice(t *testing.T) {
	t.Parallel()
	days := rain(may.From, "30", "30", "30", "30", "30", "30", "30", "30")
	first := Windows(flood, may, may.From, days, nil)
	require.Equal(t, []int{3, 6}, lasts(first))
	require.Equal(t, []int{6}, lasts(Windows(flood, may, may.From, days, first[:1])))
	require.Empty(t, Windows(flood, may, may.From, days, first), "two days are left")

	middle, ok := WindowEnding(flood, may, days, date(2015, 5, 5))
	require.True(t, ok)
	require.Equal(t, []int{8}, lasts(Windows(flood, may, may.From, days, []Window{middle})))
}

func TestWindowsOfDeficit(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		days   []hazard.Day
		period Period
		from   time.Time
		want   []int
	}{
		"consecutive, not sliding": {rain(may.From, "9", "0", "0", "0", "9", "0", "1", "1", "0"), may, may.From, []int{9}},
		"at the boundary":          {rain(may.From, "1", "1", "0.0"), may, may.From, []int{3}},
		"above the boundary":       {rain(may.From, "1", "1", "0.1"), may, may.From, []int{}},
		"one after the other":      {rain(may.From, "0", "0", "0", "0", "0", "0", "0"), may, may.From, []int{3, 6}},
		"incomplete":               {rain(may.From, "0", "-", "0", "0", "0", "0"), may, may.From, []int{6}},
		"from the first whole day": {rain(may.From, "0", "0", "0", "0"), Period{may.From.Add(time.Second), may.To}, may.From, []int{4}},
		"waiting keeps the rhythm": {rain(may.From, "0", "0", "0", "0", "0", "0"), may, date(2015, 5, 2), []int{6}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			windows := Windows(dryMonth, test.period, test.from, test.days, nil)
			require.Equal(t, test.want, lasts(windows))
			if len(windows) > 1 {
				require.Equal(t, test.want[1:], lasts(Windows(dryMonth, test.period, test.from, test.days, windows[:1])))
			}
		})
	}
}

func TestWindowEnding(t *testing.T) {
	t.Parallel()
	days := rain(may.From, "1", "2", "3", "4", "-", "6", "7", "8")
	tests := map[string]struct {
		cover Cover
		last  time.Time
		sum   string // empty: none
	}{
		"excess":                      {flood, date(2015, 5, 3), "6"},
		"excess, sliding":             {flood, date(2015, 5, 4), "9"},
		"excess, an hour of the day":  {flood, date(2015, 5, 4).Add(time.Hour), "9"},
		"a missing day":               {flood, date(2015, 5, 6), ""},
		"before the cover":            {flood, date(2015, 5, 2), ""},
		"after the data":              {flood, date(2015, 5, 9), ""},
		"deficit":                     {dryMonth, date(2015, 5, 3), "6"},
		"deficit, out of its rhythm":  {dryMonth, date(2015, 5, 4), ""},
		"deficit, out of rhythm late": {dryMonth, date(2015, 5, 8), ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			window, ok := WindowEnding(test.cover, may, days, test.last)
			require.Equal(t, test.sum != "", ok)
			if ok {
				require.Equal(t, test.sum, window.Sum().String())
			}
		})
	}
}

func TestEvaluateWindow(t *testing.T) {
	t.Parallel()
	seattle := func(days ...hazard.Day) Window { return Window{Station: "Seattle", Days: days} }
	wet := rain(may.From, "10", "20", "30.5")
	tests := map[string]struct {
		cover  Cover
		from   time.Time
		window Window
		reason Reason
	}{
		"met":              {flood, may.From, seattle(wet...), ThresholdMet},
		"not met":          {flood, may.From, seattle(rain(may.From, "1", "2", "3")...), ThresholdNotMet},
		"another station":  {flood, may.From, Window{Station: "New York", Days: wet}, OutsidePlace},
		"no days":          {flood, may.From, seattle(), OutsidePlace},
		"before the cover": {flood, may.From, seattle(rain(date(2015, 4, 30), "60", "0", "0")...), OutsidePeriod},
		"too long":         {flood, may.From, seattle(rain(may.From, "60", "0", "0", "0")...), OutsidePeriod},
		"with a gap":       {flood, may.From, seattle(rain(may.From, "60", "-", "0", "0")...), OutsidePeriod},
		"waiting":          {flood, date(2015, 5, 2), seattle(wet...), WaitingPeriod},
		"deficit":          {dryMonth, may.From, seattle(rain(may.From, "0", "0", "0")...), ThresholdMet},
		"cut to be dry":    {dryMonth, may.From, seattle(rain(date(2015, 5, 2), "0", "0", "0")...), OutsidePeriod},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := Evaluate(test.cover, may, test.from, Occurrence{Window: &test.window})
			require.Equal(t, test.reason, d.Reason)
			require.Equal(t, test.window.Last(), d.OccurredAt)
			require.Nil(t, d.DistanceKM)
			require.Nil(t, d.RadiusKM)
		})
	}
	d := Evaluate(flood, may, may.From, Occurrence{Window: ptr(seattle(wet...))})
	require.Equal(t, "60.5", d.Index.String())
	require.Equal(t, int64(10_000_00), d.Amount)
}

// Linear covers over the real rain of Seattle: what Windows finds is what
// Evaluate pays, and no day is in two windows.
func TestWindowsOfRealRain(t *testing.T) {
	t.Parallel()
	station, _ := hazard.Shipped().Station("Seattle")
	all := Period{From: date(2012, 1, 1), To: date(2016, 1, 1)}
	for _, cover := range []Cover{rollingCover(AtLeast, 3, linear), rollingCover(AtLeast, 3, tick), rollingCover(AtMost, 30, drought)} {
		windows := Windows(cover, all, all.From, station.Days, nil)
		require.NotEmpty(t, windows)
		for i, window := range windows {
			d := Evaluate(cover, all, all.From, Occurrence{Window: &window})
			require.True(t, d.Met)
			require.Positive(t, d.Amount)
			if i > 0 {
				require.True(t, window.Days[0].Date.After(windows[i-1].Last()))
			}
		}
		require.Empty(t, Windows(cover, all, all.To, station.Days, windows))
	}
}

func BenchmarkWindows(b *testing.B) {
	station, _ := hazard.Shipped().Station("Seattle")
	all := Period{From: date(2012, 1, 1), To: date(2016, 1, 1)}
	for b.Loop() {
		Windows(flood, all, all.From, station.Days, nil)
	}
}
