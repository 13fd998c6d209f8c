package hazard

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// stormAlong returns a storm with one fix at each longitude on the equator.
func stormAlong(id string, longitudes ...float64) Storm {
	storm := Storm{ID: id, Complete: true}
	for i, longitude := range longitudes {
		storm.Fixes = append(storm.Fixes, Fix{At: time.Date(2005, 8, 1, i, 0, 0, 0, time.UTC), Where: Point{0, longitude}})
	}
	return storm
}

// A part is a longest run of neighbouring segments that are kept.
func TestPartsAreTheLongestRunsOfKeptSegments(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		kept := rapid.SliceOfN(rapid.Bool(), 1, 12).Draw(t, "kept")
		storm := Storm{Fixes: make([]Fix, len(kept)+1)}
		for i := range storm.Fixes {
			storm.Fixes[i] = Fix{Record: string(rune('a' + i)), Where: Point{0, float64(i)}}
		}
		if len(kept) == 1 && rapid.Bool().Draw(t, "only one fix") {
			storm.Fixes = storm.Fixes[:1]
		}
		whole := TrackPart{&storm, storm.Fixes, storm.SegmentBoxes()}
		earlier := TrackPart{Storm: &Storm{ID: "earlier"}}
		parts := whole.Parts([]TrackPart{earlier}, func(segment int) bool { return kept[segment] })
		require.Equal(t, earlier, parts[0], "parts are appended")
		found, next := make([]bool, len(kept)), 0
		for _, part := range parts[1:] {
			require.Same(t, &storm, part.Storm)
			first := slices.IndexFunc(storm.Fixes, func(f Fix) bool { return f.Record == part.Fixes[0].Record })
			last := first + len(part.Boxes)
			require.NotEmpty(t, part.Boxes)
			require.Equal(t, whole.Boxes[first:last], part.Boxes)
			require.Equal(t, storm.Fixes[first:min(last+1, len(storm.Fixes))], part.Fixes)
			require.GreaterOrEqual(t, first, next, "at least one segment lies between two parts")
			next = last + 1
			for i := first; i < last; i++ {
				found[i] = true
			}
		}
		require.Equal(t, kept, found)
	})
}

func TestStormThatReturnsHasTwoParts(t *testing.T) {
	t.Parallel()
	h := NewHistory(Records{Storms: []Storm{stormAlong("a", -10, -5, 0, 5, 10, 5, 0), stormAlong("b", 40, 50), stormAlong("c", 0), {ID: "d"}}})
	parts := h.TrackPartsNear(CircleBox(Point{0, 0}, 100))
	var names []string
	var fixes []int
	for _, part := range parts {
		names, fixes = append(names, part.Storm.ID), append(fixes, len(part.Fixes))
	}
	require.Equal(t, []string{"a", "a", "c"}, names)
	require.Equal(t, []int{3, 2, 1}, fixes)

	storms := h.StormsNear(CircleBox(Point{0, 0}, 100))
	require.Len(t, storms, 2)
	require.Len(t, storms[0].Fixes, 6, "from the first to the last segment near it")
	require.Equal(t, -5.0, storms[0].Fixes[0].Where.Longitude)
	require.False(t, storms[0].Complete, "it is cut")
	require.True(t, h.Storms()[0].Complete)
	require.Len(t, h.Storms()[0].Fixes, 7)
}

func TestNearbyStormsKeepTheOrderOfTheFile(t *testing.T) {
	t.Parallel()
	h := NewHistory(Records{Storms: []Storm{stormAlong("b", 0, 1), stormAlong("c", 0, 1), stormAlong("a", 0, 1)}})
	var order string
	for _, storm := range h.StormsNear(CircleBox(Point{0, 0}, 10)) {
		order += storm.ID
	}
	require.Equal(t, "bca", order)
}

func TestSegmentBoxesOfShortTracks(t *testing.T) {
	t.Parallel()
	require.Empty(t, Storm{}.SegmentBoxes())
	require.Equal(t, []Box{PointBox(Point{0, 7})}, stormAlong("a", 7).SegmentBoxes())
	require.Len(t, stormAlong("a", 7, 8).SegmentBoxes(), 1)
	require.Len(t, stormAlong("a", 7, 8, 9).SegmentBoxes(), 2)
}

func TestQuakesNearAreInOrderOfTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		quakes := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Quake {
			return Quake{
				At:    time.Date(2001, 1, rapid.IntRange(1, 9).Draw(t, "day"), 0, 0, 0, 0, time.UTC),
				Where: Point{rapid.Float64Range(-3, 3).Draw(t, "latitude"), rapid.Float64Range(-3, 3).Draw(t, "longitude")},
			}
		}), 0, 20).Draw(t, "quakes")
		h := NewHistory(Records{Quakes: quakes})
		near := h.QuakesNear(Point{}, 1000)
		require.Len(t, near, len(quakes))
		require.True(t, slices.IsSortedFunc(near, func(a, b *Quake) int { return a.At.Compare(b.At) }))
	})
}

func TestYearIsWholeWith360MeasuredDays(t *testing.T) {
	t.Parallel()
	station := Station{Name: "Merced"}
	for year, days := range map[int]int{2001: 359, 2002: 360, 2003: 365} {
		for i := range days {
			station.Days = append(station.Days, Day{Date: time.Date(year, 1, 1+i, 0, 0, 0, 0, time.UTC), Preliminary: year == 2003 && i < 6})
		}
	}
	slices.SortFunc(station.Days, func(a, b Day) int { return a.Date.Compare(b.Date) })
	measured := func(Day) bool { return true }
	require.Equal(t, []int{2002, 2003}, station.WholeYears(measured))
	require.Equal(t, []int{2002}, station.WholeYears(func(d Day) bool { return !d.Preliminary }), "only days with the measure count")
	require.Empty(t, Station{}.WholeYears(measured))
}

func TestStationIsPricedWithTwentyWholeYears(t *testing.T) {
	t.Parallel()
	stationOf := func(name string, years int) Station {
		station := Station{Name: name}
		for date := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC); date.Year() < 2001+years; date = date.AddDate(0, 0, 1) {
			station.Days = append(station.Days, Day{Date: date})
		}
		return station
	}
	h := NewHistory(Records{Stations: []Station{stationOf("Seattle", 20), stationOf("Merced", 19), stationOf("Boston", 21)}})
	require.Equal(t, []string{"Boston", "Seattle"}, h.PricedStations(func(Day) bool { return true }))
	require.Empty(t, h.PricedStations(func(Day) bool { return false }))
}

func TestShippedDatasetsNameTheirYears(t *testing.T) {
	t.Parallel()
	h := Shipped()
	for _, tc := range []struct {
		of          Dataset
		source      string
		first, last int
		basin       bool
	}{
		{h.QuakeData(), "usgs", 1965, 2022, false},
		{h.StormData(), "nhc", 1851, 2025, true},
		{h.PressureData(), "nhc", 1992, 2025, true},
		{h.RainData(), "ghcn", 1899, 2026, false},
	} {
		require.Equal(t, []any{tc.source, tc.first, tc.last, tc.last - tc.first + 1}, []any{tc.of.Source, tc.of.FirstYear, tc.of.LastYear, tc.of.Years()}, tc.of.Name)
		require.Equal(t, tc.basin, tc.of.Basin != nil, tc.of.Name)
		require.Regexp(t, `^sha256:[0-9a-f]{64}$`, tc.of.Digest)
	}
	require.Equal(t, "5.5", h.QuakeData().MinimumMagnitude.String())
}
