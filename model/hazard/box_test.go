package hazard

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCircleBoxHoldsTheCircle(t *testing.T) {
	t.Parallel()
	r := newRandom(3)
	for range 2000 {
		center := randomPoint(r)
		radius := []float64{0, 0.001, 40, 500, 6000, 19000, 20100}[r.IntN(7)]
		box := CircleBox(center, radius)
		for range 40 {
			p := pointOnCircle(center, radius*math.Sqrt(r.Float64()), 2*math.Pi*r.Float64())
			if Distance(center, p) <= radius {
				require.True(t, box.Overlaps(PointBox(p)), "%v in %g km around %v: %v", p, radius, center, box)
			}
			rim := pointOnCircle(center, radius, 2*math.Pi*r.Float64())
			require.True(t, box.Overlaps(PointBox(rim)), "%v in %g km around %v: %v", rim, radius, center, box)
		}
	}
}

func TestCircleBoxIsTight(t *testing.T) {
	t.Parallel()
	box := CircleBox(Point{60, 10}, 111.19)
	require.InDelta(t, 59, box.South, 0.001)
	require.InDelta(t, 61, box.North, 0.001)
	require.InDelta(t, 8, box.West, 0.002)
	require.InDelta(t, 12, box.East, 0.002)

	across := CircleBox(Point{0, 179.5}, 111.19)
	require.InDelta(t, 180.5, across.East, 0.001)

	pole := CircleBox(Point{-89.8, 33}, 40)
	require.Equal(t, Box{West: -180, South: -90, East: 180, North: pole.North}, pole)
	require.Equal(t, worldBox(), CircleBox(Point{12, 33}, math.Pi*EarthRadiusKM))
}

func TestSegmentBoxHoldsTheSegment(t *testing.T) {
	t.Parallel()
	r := newRandom(4)
	for range 3000 {
		a := randomPoint(r)
		b := randomPointNear(r, a, []float64{0, 0.0001, 2, 90, 180}[r.IntN(5)])
		if r.IntN(10) == 0 { // over a pole
			b = Point{Latitude: randomPointNear(r, a, 30).Latitude, Longitude: math.Remainder(a.Longitude+180, 360)}
		}
		box := SegmentBox(a, b)
		for i := range 51 {
			p := pointBetween(a, b, float64(i)/50)
			require.True(t, box.Overlaps(PointBox(p)), "%v of %v-%v: %v", p, a, b, box)
		}
	}
}

func TestSegmentBoxIncludesTheBulge(t *testing.T) {
	t.Parallel()
	north := SegmentBox(Point{45, -60}, Point{45, 60})
	require.InDelta(t, 63.435, north.North, 0.001) // atan(tan 45° / cos 60°)
	require.InDelta(t, 45, north.South, 0.001)
	south := SegmentBox(Point{-45, 170}, Point{-45, -170})
	require.Less(t, south.South, -45.4)
	require.InDelta(t, 190, south.East, 0.001, "unwrapped")
	require.Equal(t, worldBox(), SegmentBox(Point{30, 10}, Point{-30, -170}))
}

func TestOverlaps(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		a, b Box
		want bool
	}{
		"apart":                     {Box{0, 0, 1, 1}, Box{2, 0, 3, 1}, false},
		"apart in latitude":         {Box{0, 0, 1, 1}, Box{0, 2, 1, 3}, false},
		"a shared border":           {Box{0, 0, 1, 1}, Box{1, 1, 2, 2}, true},
		"another turn, east":        {Box{179, 0, 181, 1}, Box{-180, 0, -179.5, 1}, true},
		"another turn, west":        {Box{-181, 0, -179, 1}, Box{179.5, 0, 180, 1}, true},
		"another turn, still apart": {Box{179, 0, 181, 1}, Box{-178, 0, -177, 1}, false},
		"two names of the line":     {Box{180, 0, 180, 0}, Box{-180, 0, -180, 0}, true},
		"the world":                 {worldBox(), Box{200, 0, 201, 1}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, test.a.Overlaps(test.b))
			require.Equal(t, test.want, test.b.Overlaps(test.a))
		})
	}
}

// A circle that touches a segment must overlap its box, or the matching index
// would lose a claim.
func TestTouchingCirclesAndSegmentsOverlap(t *testing.T) {
	t.Parallel()
	r := newRandom(5)
	touched := 0
	for range 40000 {
		a := randomPoint(r)
		b := randomPointNear(r, a, []float64{1, 10, 120}[r.IntN(3)])
		center, radius := randomPointNear(r, a, 20), []float64{40, 400, 3000}[r.IntN(3)]
		if km, _ := SegmentDistance(center, a, b); km > radius {
			continue
		}
		touched++
		require.True(t, SegmentBox(a, b).Overlaps(CircleBox(center, radius)), "%g km around %v, %v-%v", radius, center, a, b)
	}
	require.Greater(t, touched, 5000)
}

func TestStormBoxHoldsItsTrack(t *testing.T) {
	t.Parallel()
	r := newRandom(6)
	for range 500 {
		storm := Storm{Fixes: []Fix{{Where: randomPoint(r)}}}
		for range r.IntN(60) {
			storm.Fixes = append(storm.Fixes, Fix{Where: randomPointNear(r, storm.Fixes[len(storm.Fixes)-1].Where, 20)})
		}
		whole := newTrack(storm).bounds
		for _, fix := range storm.Fixes {
			require.True(t, whole.Overlaps(PointBox(fix.Where)))
		}
		for i := 1; i < len(storm.Fixes); i++ {
			middle := pointBetween(storm.Fixes[i-1].Where, storm.Fixes[i].Where, r.Float64())
			require.True(t, whole.Overlaps(PointBox(middle)), "%v in %v", middle, whole)
		}
	}
	require.False(t, newTrack(Storm{}).bounds.Overlaps(worldBox()))
}
