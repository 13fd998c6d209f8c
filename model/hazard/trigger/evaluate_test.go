package trigger

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
)

func TestQuakeAtHualien(t *testing.T) {
	t.Parallel()
	d := evaluateQuakeAt(quakeCover(), hualienQuake())
	require.True(t, d.Met)
	require.Equal(t, ThresholdMet, d.Reason)
	require.Equal(t, hualienQuake().At, d.OccurredAt)
	require.Equal(t, "6.4", d.Index.String())
	require.True(t, d.Threshold.Equal(mustDecimal("6")))
	require.True(t, d.Missed.IsZero())
	require.Equal(t, "0.25", d.Factor.String())
	require.Equal(t, int64(25_000_00), d.Amount)
	require.InDelta(t, 21.98, *d.DistanceKM, 0)
	require.InDelta(t, 50, *d.RadiusKM, 0)
}

func TestQuakeReasons(t *testing.T) {
	t.Parallel()
	exact := hazard.Distance(quakeCover().Place.Center(), hualienQuake().Where)
	tests := map[string]struct {
		quake   func(*hazard.Quake)
		cover   func(*Cover)
		reason  Reason
		touched bool
	}{
		"too weak":                {quake: func(q *hazard.Quake) { q.Magnitude = mustDecimal("5.9") }, reason: ThresholdNotMet, touched: true},
		"too far":                 {quake: func(q *hazard.Quake) { q.Where.Latitude = 25 }, reason: OutsidePlace},
		"on the rim":              {cover: func(c *Cover) { c.Place.RadiusKM = exact }, reason: ThresholdMet, touched: true},
		"just outside":            {cover: func(c *Cover) { c.Place.RadiusKM = exact - 1e-9 }, reason: OutsidePlace},
		"at the depth limit":      {quake: func(q *hazard.Quake) { q.DepthKM = decimalPtr(mustDecimal("70.0")) }, reason: ThresholdMet, touched: true},
		"too deep":                {quake: func(q *hazard.Quake) { q.DepthKM = decimalPtr(mustDecimal("70.01")) }, reason: OutsidePlace},
		"of unknown depth":        {quake: func(q *hazard.Quake) { q.DepthKM = nil }, reason: ThresholdMet, touched: true},
		"at the start":            {quake: func(q *hazard.Quake) { q.At = yearPeriod.From.Add(72 * time.Hour) }, reason: ThresholdMet, touched: true},
		"before the start":        {quake: func(q *hazard.Quake) { q.At = yearPeriod.From.Add(-time.Microsecond) }, reason: OutsidePeriod, touched: true},
		"at the end":              {quake: func(q *hazard.Quake) { q.At = yearPeriod.To }, reason: OutsidePeriod, touched: true},
		"in the waiting period":   {quake: func(q *hazard.Quake) { q.At = yearPeriod.From }, reason: WaitingPeriod, touched: true},
		"weak in the waiting":     {quake: func(q *hazard.Quake) { q.At, q.Magnitude = yearPeriod.From, mustDecimal("2") }, reason: WaitingPeriod, touched: true},
		"at the boundary":         {quake: func(q *hazard.Quake) { q.Magnitude = mustDecimal("6.0") }, reason: ThresholdMet, touched: true},
		"at it, strict":           {quake: func(q *hazard.Quake) { q.Magnitude = mustDecimal("6.0") }, cover: func(c *Cover) { c.Trigger.Strict = true }, reason: ThresholdNotMet, touched: true},
		"another kind of trigger": {cover: func(c *Cover) { c.Trigger.Kind = Windstorm }, reason: OutsidePlace},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cover, quake := quakeCover(), hualienQuake()
			if test.cover != nil {
				test.cover(&cover)
			}
			if test.quake != nil {
				test.quake(&quake)
			}
			d := Evaluate(cover, yearPeriod, yearPeriod.From.Add(72*time.Hour), Occurrence{Quake: &quake})
			require.Equal(t, test.reason, d.Reason)
			require.Equal(t, test.reason == ThresholdMet, d.Met)
			require.Equal(t, test.touched, d.Index != nil)
			require.Equal(t, d.Met, d.Amount > 0)
			require.Equal(t, d.Met, d.Factor.IsPositive())
		})
	}
}

func TestQuakeDeterminationHasMissedBy(t *testing.T) {
	t.Parallel()
	quake := hualienQuake()
	quake.Magnitude = mustDecimal("5.7")
	d := evaluateQuakeAt(quakeCover(), quake)
	require.Equal(t, "5.7", d.Index.String())
	require.Equal(t, "6.0", d.Threshold.StringFixed(1))
	require.Equal(t, "0.3", d.Missed.String())

	quake.Where.Latitude = 25
	far := evaluateQuakeAt(quakeCover(), quake)
	require.InDelta(t, 113.5, *far.DistanceKM, 0)
	require.InDelta(t, 50, *far.RadiusKM, 0)
	require.Equal(t, quake.At, far.OccurredAt)
}

// A revision is the same occurrence in another version: the first one has no effect on
// its evaluation.
func TestRevisionBelowTheThreshold(t *testing.T) {
	t.Parallel()
	preliminary, final := hualienQuake(), hualienQuake()
	preliminary.Magnitude, final.Magnitude = mustDecimal("6.1"), mustDecimal("5.9")
	require.True(t, evaluateQuakeAt(quakeCover(), preliminary).Met)
	require.False(t, evaluateQuakeAt(quakeCover(), final).Met)
}

func TestEmptyOccurrenceIsOutsidePlace(t *testing.T) {
	t.Parallel()
	d := Evaluate(quakeCover(), yearPeriod, yearPeriod.From, Occurrence{})
	require.Equal(t, OutsidePlace, d.Reason)
	require.Nil(t, d.DistanceKM)
	require.Nil(t, d.Index)
}

func TestFootprintOverlapsEveryTouchingOccurrence(t *testing.T) {
	t.Parallel()
	_, ok := Footprint(Place{Kind: AtStation, Station: "Seattle"})
	require.False(t, ok)
	require.Empty(t, OccurrenceBoxes(Occurrence{AtStation: &StationOccurrence{Station: "Seattle"}}))

	touched := 0
	for _, place := range []Place{
		{Kind: Circle, Latitude: 23.98, Longitude: 121.61, RadiusKM: 200},
		{Kind: Circle, Latitude: 52, Longitude: 179.9, RadiusKM: 300},
		{Kind: Circle, Latitude: -20, Longitude: -179.95, RadiusKM: 300},
		{Kind: Circle, Latitude: 26, Longitude: -80, RadiusKM: 60},
		{Kind: Circle, Latitude: 80, Longitude: 30, RadiusKM: 1300},
	} {
		footprint, ok := Footprint(place)
		require.True(t, ok)
		overlaps := func(o Occurrence) bool {
			for _, box := range OccurrenceBoxes(o) {
				if box.Overlaps(footprint) {
					return true
				}
			}
			return false
		}
		always := Period{To: utcDate(3000, 1, 1)}
		quakes, storms := quakeCover(), stormCover()
		quakes.Place, storms.Place = place, place
		for _, quake := range hazard.Shipped().Quakes() {
			if o := (Occurrence{Quake: &quake}); Evaluate(quakes, always, always.From, o).Index != nil {
				touched++
				require.True(t, overlaps(o), quake.EventID)
			}
		}
		for _, storm := range hazard.Shipped().Storms() {
			if o := (Occurrence{Storm: &storm}); Evaluate(storms, always, always.From, o).Index != nil {
				touched++
				require.True(t, overlaps(o), storm.ID)
			}
		}
	}
	require.Greater(t, touched, 500)
}

func BenchmarkEvaluateQuake(b *testing.B) {
	cover, quake := quakeCover(), hualienQuake()
	b.ReportAllocs()
	for b.Loop() {
		evaluateQuakeAt(cover, quake)
	}
}

// BenchmarkCycloneHistory measures the pricing of a cyclone circle at Miami.
func BenchmarkCycloneHistory(b *testing.B) {
	history, cover := hazard.Shipped(), stormCover()
	cover.Place = Place{Kind: Circle, Latitude: 25.76, Longitude: -80.19, RadiusKM: 100}
	always := Period{To: utcDate(3000, 1, 1)}
	for b.Loop() {
		for _, storm := range history.StormsNear(hazard.CircleBox(cover.Place.Center(), cover.Place.RadiusKM)) {
			Evaluate(cover, always, always.From, Occurrence{Storm: &storm})
		}
	}
}

// BenchmarkQuakeHistory measures the pricing of an earthquake circle at Hualien.
func BenchmarkQuakeHistory(b *testing.B) {
	history, cover := hazard.Shipped(), quakeCover()
	always := Period{To: utcDate(3000, 1, 1)}
	for b.Loop() {
		for _, quake := range history.QuakesNear(cover.Place.Center(), cover.Place.RadiusKM) {
			Evaluate(cover, always, always.From, Occurrence{Quake: quake})
		}
	}
}
