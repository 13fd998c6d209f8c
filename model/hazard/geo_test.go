package hazard

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// newRandom returns the same random points in every run.
func newRandom(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// randomPoint returns a point of the sphere, often near a pole, the date line or
// another point, where geometry fails most.
func randomPoint(r *rand.Rand) Point {
	p := Point{Latitude: math.Asin(2*r.Float64()-1) / radiansPerDegree, Longitude: 360*r.Float64() - 180}
	switch r.IntN(8) {
	case 0:
		p.Latitude = []float64{90, -90, 89.9999, -89.99, 0}[r.IntN(5)]
	case 1:
		p.Longitude = []float64{180, -180, 179.9999, -179.99, 0}[r.IntN(5)]
	}
	return p
}

func randomPointNear(r *rand.Rand, p Point, degrees float64) Point {
	return Point{
		Latitude:  math.Max(-90, math.Min(90, p.Latitude+degrees*(2*r.Float64()-1))),
		Longitude: math.Remainder(p.Longitude+degrees*(2*r.Float64()-1), 360),
	}
}

// pointBetween returns the point at a share of the arc, by spherical interpolation: a
// second way to compute positions on a segment.
func pointBetween(a, b Point, share float64) Point {
	v, w := toVector(a), toVector(b)
	ω := math.Atan2(v.cross(w).length(), v.dot(w))
	if ω < 1e-9 {
		return a
	}
	u := v.times(math.Sin((1-share)*ω) / math.Sin(ω)).plus(w.times(math.Sin(share*ω) / math.Sin(ω)))
	return Point{Latitude: math.Atan2(u.z, math.Hypot(u.x, u.y)) / radiansPerDegree, Longitude: math.Atan2(u.y, u.x) / radiansPerDegree}
}

// pointOnCircle returns the point at a distance and bearing from the centre.
func pointOnCircle(center Point, km, bearing float64) Point {
	φ, δ := center.Latitude*radiansPerDegree, km/EarthRadiusKM
	sinφ := math.Sin(φ)*math.Cos(δ) + math.Cos(φ)*math.Sin(δ)*math.Cos(bearing)
	λ := math.Atan2(math.Sin(bearing)*math.Sin(δ)*math.Cos(φ), math.Cos(δ)-math.Sin(φ)*sinφ)
	return Point{
		Latitude:  math.Asin(math.Max(-1, math.Min(1, sinφ))) / radiansPerDegree,
		Longitude: math.Remainder(center.Longitude+λ/radiansPerDegree, 360),
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	half := math.Pi * EarthRadiusKM
	tests := map[string]struct {
		a, b Point
		want float64
	}{
		"itself":                 {Point{24, 121}, Point{24, 121}, 0},
		"one degree of meridian": {Point{0, 0}, Point{1, 0}, half / 180},
		"across the date line":   {Point{0, 179.5}, Point{0, -179.5}, half / 180},
		"pole to pole":           {Point{90, 12}, Point{-90, 77}, half},
		"antipodes":              {Point{30, 10}, Point{-30, -170}, half},
		"one pole":               {Point{90, 0}, Point{90, 180}, 0},
		"Hualien to its M 6.4":   {Point{23.98, 121.61}, Point{24.1737, 121.653}, 21.98},
		"Michael's nearer fix":   {Point{30.4437, -85.0474}, Point{30.9, -85.1}, 50.99},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.InDelta(t, test.want, Distance(test.a, test.b), 0.005)
			require.InDelta(t, Distance(test.a, test.b), Distance(test.b, test.a), 1e-9)
		})
	}
}

func TestSegmentDistance(t *testing.T) {
	t.Parallel()
	quarter := math.Pi * EarthRadiusKM / 2
	tests := map[string]struct {
		p, a, b   Point
		km, along float64
	}{
		"Michael over Blountstown": {Point{30.4437, -85.0474}, Point{30, -85.5}, Point{30.9, -85.1}, 22.94, 0.575},
		"behind the start":         {Point{0, -2}, Point{0, 0}, Point{0, 10}, 2 * quarter / 90, 0},
		"beyond the end":           {Point{0, 12}, Point{0, 0}, Point{0, 10}, 2 * quarter / 90, 1},
		"on it, date line":         {Point{0, 180}, Point{0, 179}, Point{0, -179}, 0, 0.5},
		"on it, over the pole":     {Point{90, 33}, Point{80, 20}, Point{80, -160}, 0, 0.5},
		"pole of its circle":       {Point{90, 0}, Point{0, 0}, Point{0, 90}, quarter, 0},
		"ends are one point":       {Point{1, 5}, Point{0, 5}, Point{0, 5}, quarter / 90, 0},
		"ends are one, two names":  {Point{1, 180}, Point{0, 180}, Point{0, -180}, quarter / 90, 0},
		"antipodal, on the way":    {Point{90, 0}, Point{0, 10}, Point{0, -170}, 0, 0.5},
		"antipodal, off the way":   {Point{0, 100}, Point{0, 10}, Point{0, -170}, quarter, 0.5},
		"antipodal poles":          {Point{0, 90}, Point{90, 0}, Point{-90, 0}, 0, 0.5},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			km, along := SegmentDistance(test.p, test.a, test.b)
			require.InDelta(t, test.km, km, 0.005)
			if test.km < quarter-1 { // at a quarter turn every share is equally close
				require.InDelta(t, test.along, along, 0.001)
			}
		})
	}
}

func TestSegmentDistanceIsTheClosestOfManyPoints(t *testing.T) {
	t.Parallel()
	r := newRandom(2)
	for range 3000 {
		a := randomPoint(r)
		b := randomPointNear(r, a, []float64{0.00001, 0.1, 5, 170}[r.IntN(4)])
		p := randomPointNear(r, pointBetween(a, b, r.Float64()), []float64{0.01, 3, 180}[r.IntN(3)])
		km, along := SegmentDistance(p, a, b)
		length, sampled := Distance(a, b), math.Inf(1)
		const steps = 200
		for i := range steps + 1 {
			sampled = math.Min(sampled, Distance(p, pointBetween(a, b, float64(i)/steps)))
		}
		require.LessOrEqual(t, km, sampled+1e-5, "%v to %v-%v", p, a, b)
		require.GreaterOrEqual(t, km, sampled-length/steps-1e-5, "%v to %v-%v", p, a, b)
		require.InDelta(t, km, Distance(p, pointBetween(a, b, along)), 1e-3, "%v to %v-%v", p, a, b)
		back, other := SegmentDistance(p, b, a)
		require.InDelta(t, km, back, 1e-6)
		if length > 1 && math.Abs(along+other-1) > 1e-3 { // only where two points are equally close
			require.InDelta(t, Distance(p, pointBetween(a, b, 1-other)), km, 1e-3)
		}
	}
}

func TestSegmentMayTouchMissesNoSegmentThatDoes(t *testing.T) {
	t.Parallel()
	r, ruledOut := newRandom(21), 0
	for range 20_000 {
		a := randomPoint(r)
		b, p := randomPointNear(r, a, 4), randomPointNear(r, a, 6)
		radius := 400 * r.Float64()
		km, _ := SegmentDistance(p, a, b)
		if may := SegmentMayTouch(radius, a, b, Distance(p, a), Distance(p, b)); km <= radius {
			require.True(t, may, "%v to %v from %v: %g of %g km", a, b, p, km, radius)
		} else if !may {
			ruledOut++
		}
		onTrack := pointBetween(a, b, r.Float64())
		require.True(t, SegmentMayTouch(0, a, b, Distance(onTrack, a), Distance(onTrack, b)), "%v to %v over %v", a, b, onTrack)
	}
	require.Greater(t, ruledOut, 3000)
}

func BenchmarkDistance(b *testing.B) {
	for b.Loop() {
		Distance(Point{23.98, 121.61}, Point{24.1737, 121.653})
	}
}

func BenchmarkSegmentDistance(b *testing.B) {
	for b.Loop() {
		SegmentDistance(Point{30.4437, -85.0474}, Point{30, -85.5}, Point{30.9, -85.1})
	}
}

// TestMoveCoversGivenDistance measures the distance to the result, including at the
// poles and the date line.
func TestMoveCoversGivenDistance(t *testing.T) {
	t.Parallel()
	r := newRandom(11)
	for range 200 {
		from, bearing, km := randomPoint(r), 2*math.Pi*r.Float64(), 400*r.Float64()
		to := Move(from, bearing, km)
		require.InDelta(t, km, Distance(from, to), 1e-6)
		require.LessOrEqual(t, math.Abs(to.Longitude), 180.0)
	}
	require.InDelta(t, 1.0, Move(Point{0, 0}, 0, EarthRadiusKM*math.Pi/180).Latitude, 1e-12, "north")
	require.InDelta(t, 1.0, Move(Point{0, 0}, math.Pi/2, EarthRadiusKM*math.Pi/180).Longitude, 1e-12, "east")
	require.InDelta(t, -179.5, Move(Point{0, 179.5}, math.Pi/2, EarthRadiusKM*math.Pi/180).Longitude, 1e-9, "over the date line")
}
