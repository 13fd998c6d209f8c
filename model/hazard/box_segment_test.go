package hazard

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// randomBox returns boxes of all sizes: across the antimeridian, at a pole, of full width,
// and often with borders on whole degrees.
func randomBox(random *rand.Rand) Box {
	b := Box{West: -180 + 360*random.Float64(), South: -90 + 178*random.Float64()}
	b.East, b.North = b.West+math.Pow(10, -1+3.5*random.Float64()), b.South+math.Pow(10, -1+3*random.Float64())
	if random.IntN(2) == 0 {
		b = Box{math.Floor(b.West), math.Floor(b.South), math.Ceil(b.East), math.Ceil(b.North)}
	}
	if b.North = math.Min(b.North, 90); random.IntN(8) == 0 {
		b.South = -90
	}
	b.East = math.Min(b.East, b.West+360)
	return b
}

// randomSegment returns a segment near the box: mostly of the length between two fixes,
// sometimes along a border or through a corner.
func randomSegment(random *rand.Rand, b Box) (a, z Point) {
	near := func() Point {
		p := Point{b.South + (b.North-b.South)*(1.6*random.Float64()-0.3), b.West + (b.East-b.West)*(1.6*random.Float64()-0.3)}
		switch random.IntN(6) {
		case 0:
			p.Latitude = []float64{b.South, b.North}[random.IntN(2)]
		case 1:
			p.Longitude = []float64{b.West, b.East}[random.IntN(2)]
		}
		return Point{math.Max(-90, math.Min(90, p.Latitude)), math.Remainder(p.Longitude, 360)}
	}
	if a = near(); random.IntN(3) == 0 {
		return a, Move(a, 2*math.Pi*random.Float64(), 3000*random.Float64())
	}
	return a, near()
}

// isDeepInside reports whether a point lies in the box with a margin of 1e-7 degrees.
func isDeepInside(b Box, p Point) bool {
	const margin = 1e-7
	if b.East-b.West < 360 {
		b.West, b.East = b.West+margin, b.East-margin
	}
	if b.South > -90 {
		b.South += margin
	}
	if b.North < 90 {
		b.North -= margin
	}
	return b.West <= b.East && b.South <= b.North && b.Contains(p)
}

// The parts of a segment in a box are those that a dense sampling of it finds.
func TestSpansOfBoxMatchSampling(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(4, 2))
	const samples = 400
	touched, twice := 0, 0
	for range 6_000 {
		b := randomBox(random)
		a, z := randomSegment(random, b)
		spans, track := b.SpansOf(a, z), newArc(a, z)
		if len(spans) > 0 {
			touched++
		}
		if len(spans) > 1 {
			twice++
		}
		within := func(share float64) bool {
			return slices.ContainsFunc(spans, func(s Span) bool { return s.From-1e-9 <= share && share <= s.To+1e-9 })
		}
		for i := range samples + 1 {
			share := float64(i) / samples
			if p := track.pointAt(share); isDeepInside(b, p) {
				require.True(t, within(share), "%+v: %v to %v has %v in the box", b, a, z, p)
			}
		}
		for i, s := range spans {
			require.True(t, 0 <= s.From && s.From <= s.To && s.To <= 1)
			require.True(t, i == 0 || spans[i-1].To < s.From)
			for _, share := range []float64{s.From, (s.From + s.To) / 2, s.To} {
				require.Less(t, b.Distance(track.pointAt(share)), 0.01, "%+v: %v to %v at %g of %v", b, a, z, share, spans)
			}
		}
	}
	require.Greater(t, touched, 1_500)
	require.Greater(t, twice, 30)
}

// The parts do not depend on the direction of the segment, or the hemisphere.
func TestSpansOfBoxAreSymmetric(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 2))
	// Parts that rounding separates by less than a millionth of the segment are one.
	joined := func(spans []Span) (all []Span) {
		for _, s := range spans {
			if last := len(all) - 1; last >= 0 && s.From-all[last].To < 1e-6 {
				all[last].To = s.To
			} else {
				all = append(all, s)
			}
		}
		return all
	}
	equalSpans := func(want, got []Span) {
		want, got = joined(want), joined(got)
		require.Len(t, got, len(want))
		for i := range want {
			require.InDelta(t, want[i].From, got[i].From, 1e-6)
			require.InDelta(t, want[i].To, got[i].To, 1e-6)
		}
	}
	north := func(p Point) Point { return Point{-p.Latitude, p.Longitude} }
	east := func(p Point) Point { return Point{p.Latitude, -p.Longitude} }
	for range 6_000 {
		b := randomBox(random)
		a, z := randomSegment(random, b)
		if newArc(a, z).antipodal {
			continue // any way between them is a shortest one
		}
		spans := b.SpansOf(a, z)
		back := b.SpansOf(z, a)
		slices.Reverse(back)
		for i, s := range back {
			back[i] = Span{1 - s.To, 1 - s.From}
		}
		equalSpans(spans, back)
		equalSpans(spans, Box{b.West, -b.North, b.East, -b.South}.SpansOf(north(a), north(z)))
		mirrored := Box{-b.East, b.South, -b.West, b.North}
		if mirrored.West < -180 {
			mirrored.West, mirrored.East = mirrored.West+360, mirrored.East+360
		}
		equalSpans(spans, mirrored.SpansOf(east(a), east(z)))
	}
}

// A larger box holds every part of a segment that a smaller one holds.
func TestSpansOfLargerBoxContainThoseOfSmaller(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(6, 2))
	for range 6_000 {
		b := randomBox(random)
		a, z := randomSegment(random, b)
		larger := b
		for _, border := range []*float64{&larger.East, &larger.North} {
			if random.IntN(2) == 0 {
				*border += 3 * random.Float64()
			}
		}
		larger.North, larger.East = math.Min(larger.North, 90), math.Min(larger.East, larger.West+360)
		all := larger.SpansOf(a, z)
		for _, s := range b.SpansOf(a, z) {
			require.True(t, slices.ContainsFunc(all, func(l Span) bool { return l.From <= s.From+1e-9 && s.To <= l.To+1e-9 }), "%+v in %+v: %v to %v", b, larger, a, z)
		}
	}
}

func TestSpansOfBoxAtItsBorders(t *testing.T) {
	t.Parallel()
	b := Box{-79, 17, -76, 19}
	for name, test := range map[string]struct {
		box  Box
		a, z Point
		want []Span
	}{
		"through":                     {b, Point{16, -77}, Point{20, -77}, []Span{{0.25, 0.75}}},
		"along the western border":    {b, Point{16, -79}, Point{20, -79}, []Span{{0.25, 0.75}}},
		"from the border outwards":    {b, Point{19, -77}, Point{20, -77}, []Span{{0, 0}}},
		"east of it":                  {b, Point{16, -75.9}, Point{20, -75.9}, nil},
		"a point on a corner":         {b, Point{19, -76}, Point{19, -76}, []Span{{0, 1}}},
		"a point outside":             {b, Point{19.1, -76}, Point{19.1, -76}, nil},
		"antimeridian":                {Box{175, 10, 185, 20}, Point{15, 179}, Point{15.0001, -179}, []Span{{0, 1}}},
		"into it across the line":     {Box{180, -10, 190, 10}, Point{0, 178}, Point{0, -178}, []Span{{0.5, 1}}},
		"full width":                  {Box{-180, 0, 180, 10}, Point{-10, 50}, Point{10, 50}, []Span{{0.5, 1}}},
		"over the pole":               {Box{0, 80, 90, 90}, Point{70, 45}, Point{70, -135}, []Span{{0.25, 0.5}}},
		"the pole has all longitudes": {Box{0, 80, 90, 90}, Point{85, -60}, Point{85, 120}, []Span{{0.5, 0.5}}},
	} {
		spans := test.box.SpansOf(test.a, test.z)
		require.Len(t, spans, len(test.want), name)
		for i := range spans {
			require.InDelta(t, test.want[i].From, spans[i].From, 1e-6, name)
			require.InDelta(t, test.want[i].To, spans[i].To, 1e-6, name)
		}
	}
	// Both ends lie south of the box on one parallel; the great circle between them bulges
	// into it and out again.
	require.Len(t, Box{-50, 45.2, -30, 50}.SpansOf(Point{45, -50}, Point{45, -30}), 1)
	// Both ends lie in the box, and the great circle bulges out of it.
	require.Len(t, Box{-50, 40, -30, 45.2}.SpansOf(Point{45, -50}, Point{45, -30}), 2)
}

// The distance from a box is the smallest one of a dense sampling of both.
func TestBoxDistanceMatchesSampling(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 2))
	for range 200 {
		b := randomBox(random)
		b.East, b.North = math.Min(b.East, b.West+20), math.Min(b.North, b.South+20)
		a := Move(b.Center(), 2*math.Pi*random.Float64(), 4000*random.Float64())
		z := Move(a, 2*math.Pi*random.Float64(), 1500*random.Float64())
		km, track := b.SegmentDistance(a, z), newArc(a, z)
		const steps = 150
		best := math.Inf(1)
		for i := range steps + 1 {
			p, nearest := track.pointAt(float64(i)/steps), math.Inf(1)
			for j := range steps + 1 {
				share := float64(j) / steps
				for _, q := range []Point{
					{b.South, b.West + share*(b.East-b.West)},
					{b.North, b.West + share*(b.East-b.West)},
					{b.South + share*(b.North-b.South), b.West},
					{b.South + share*(b.North-b.South), b.East},
				} {
					nearest = math.Min(nearest, Distance(p, q))
				}
			}
			if b.Contains(p) {
				nearest = 0
			}
			require.LessOrEqual(t, b.Distance(p), nearest+1e-6)
			require.InDelta(t, nearest, b.Distance(p), 20, "%+v from %v", b, p)
			best = math.Min(best, nearest)
		}
		require.LessOrEqual(t, km, best+1e-6)
		require.InDelta(t, best, km, 30)
	}
}

// Every point within the distance of a box lies in the widened box.
func TestWidenedBoxContainsAllPointsNearby(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(8, 2))
	for range 6_000 {
		b, km := randomBox(random), 500*random.Float64()
		p := Point{b.South + (b.North-b.South)*random.Float64(), b.West + (b.East-b.West)*random.Float64()}
		require.True(t, b.Widened(km).Contains(Move(p, 2*math.Pi*random.Float64(), km)), "%+v, %g km around %v", b, km, p)
	}
}

func TestBoxSides(t *testing.T) {
	t.Parallel()
	degree := EarthRadiusKM * math.Pi / 180
	for _, b := range []Box{{-79, 17, -76, 19}, {-79, -19, -76, -17}} {
		height, width := b.SidesKM()
		require.InDelta(t, 2*degree, height, 1e-9)
		require.InDelta(t, 3*degree*math.Cos(17*math.Pi/180), width, 1e-9)
	}
	height, width := Box{-180, -90, 180, 90}.SidesKM()
	require.InDelta(t, 180*degree, height, 1e-9)
	require.InDelta(t, 360*degree, width, 1e-9, "the equator")
}
