package hazard

import (
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"
)

func TestNewHistory(t *testing.T) {
	t.Parallel()
	day := func(n int) time.Time { return time.Date(2001, 1, n, 0, 0, 0, 0, time.UTC) }
	given := Records{
		Quakes:   []Quake{{At: day(3), EventID: "c"}, {At: day(1), EventID: "a"}, {At: day(1), EventID: "b"}},
		Stations: []Station{{Name: "Seattle"}, {Name: "New York"}},
		RainData: Dataset{Name: "rain", FirstYear: 2001, LastYear: 2004, MinimumMagnitude: decimal.Zero},
	}
	h := NewHistory(given)
	var order string
	for _, quake := range h.Quakes() {
		order += quake.EventID
	}
	require.Equal(t, "abc", order)
	require.Equal(t, "c", given.Quakes[0].EventID, "the caller's slice is left alone")
	require.Equal(t, []string{"New York", "Seattle"}, h.StationNames())
	station, ok := h.Station("Seattle")
	require.True(t, ok)
	require.Equal(t, "Seattle", station.Name)
	_, ok = h.Station("Atlantis")
	require.False(t, ok)
	require.Equal(t, 4, h.RainData().Years())
	require.Empty(t, h.StormsNear(CircleBox(Point{}, 20000)))
}

func TestQuakesNearHoldsEveryQuakeInTheCircle(t *testing.T) {
	t.Parallel()
	r, h := newRandom(7), Shipped()
	for range 40 {
		center, radius := randomPoint(r), []float64{50, 500, 5000}[r.IntN(3)]
		candidates := make(map[string]bool)
		for _, quake := range h.QuakesNear(center, radius) {
			candidates[quake.EventID] = true
		}
		for _, quake := range h.Quakes() {
			if Distance(center, quake.Where) <= radius {
				require.True(t, candidates[quake.EventID])
			}
		}
	}
}

func TestQuakesNearAreThoseInTheBox(t *testing.T) {
	t.Parallel()
	r, h := newRandom(9), Shipped()
	centers := []Point{{90, 0}, {-90, 0}, {89.9, 180}, {0, 180}, {51.5, -180}, {-17.9, -179.99}}
	for range 60 {
		centers = append(centers, randomPoint(r))
	}
	for _, center := range centers {
		for _, radius := range []float64{0.001, 50, 300, 12000} {
			want := []*Quake{}
			for i, quake := range h.Quakes() {
				if CircleBox(center, radius).Overlaps(PointBox(quake.Where)) {
					want = append(want, &h.Quakes()[i])
				}
			}
			require.Equal(t, want, h.QuakesNear(center, radius), "%v %g km", center, radius)
		}
	}
}

func TestStormsNearHoldsEveryStormOverTheCircle(t *testing.T) {
	t.Parallel()
	r, h := newRandom(8), Shipped()
	for range 15 {
		center, radius := randomPointNear(r, Point{28, -75}, 30), []float64{20, 100, 800}[r.IntN(3)]
		candidates, fixes := make(map[string]Storm), 0
		for _, storm := range h.StormsNear(CircleBox(center, radius)) {
			candidates[storm.ID] = storm
			fixes += len(storm.Fixes)
		}
		for _, storm := range h.Storms() {
			cut := candidates[storm.ID]
			for i := range max(1, len(storm.Fixes)-1) {
				part := storm.Fixes[i:min(i+2, len(storm.Fixes))]
				if touchesCircle(Storm{Fixes: part}, center, radius) {
					first := slices.IndexFunc(cut.Fixes, func(f Fix) bool { return f.At.Equal(part[0].At) })
					require.GreaterOrEqual(t, first, 0, storm.ID)
					require.Equal(t, part, cut.Fixes[first:min(first+2, len(cut.Fixes))], storm.ID)
				}
			}
			fixes -= len(storm.Fixes)
		}
		require.Less(t, len(candidates), 2004)
		require.Negative(t, fixes, "what is far away is cut off")
	}
}

// TestTrackPartsNearHoldEverySegmentThatTouchesTheCircle compares with every segment of every storm.
func TestTrackPartsNearHoldEverySegmentThatTouchesTheCircle(t *testing.T) {
	t.Parallel()
	r, h := newRandom(10), Shipped()
	for range 10 {
		center, radius := randomPointNear(r, Point{28, -75}, 30), []float64{20, 100, 800}[r.IntN(3)]
		type segment struct {
			storm string
			from  time.Time
		}
		found := make(map[segment]bool)
		for _, run := range h.TrackPartsNear(CircleBox(center, radius)) {
			require.NotEmpty(t, run.Fixes)
			for i := range max(1, len(run.Fixes)-1) {
				require.False(t, found[segment{run.Storm.ID, run.Fixes[i].At}], "a segment is in one run")
				found[segment{run.Storm.ID, run.Fixes[i].At}] = true
			}
		}
		for _, storm := range h.Storms() {
			for i := range max(1, len(storm.Fixes)-1) {
				if touchesCircle(Storm{Fixes: storm.Fixes[i:min(i+2, len(storm.Fixes))]}, center, radius) {
					require.True(t, found[segment{storm.ID, storm.Fixes[i].At}], storm.ID)
				}
			}
		}
	}
}

func touchesCircle(storm Storm, center Point, radius float64) bool {
	if len(storm.Fixes) == 1 {
		return Distance(center, storm.Fixes[0].Where) <= radius
	}
	for i := 1; i < len(storm.Fixes); i++ {
		if km, _ := SegmentDistance(center, storm.Fixes[i-1].Where, storm.Fixes[i].Where); km <= radius {
			return true
		}
	}
	return false
}

func BenchmarkQuakesNear(b *testing.B) {
	h := Shipped()
	for b.Loop() {
		h.QuakesNear(Point{23.98, 121.61}, 50)
	}
}

func BenchmarkStormsNear(b *testing.B) {
	h := Shipped()
	for b.Loop() {
		h.StormsNear(CircleBox(Point{25.76, -80.19}, 100))
	}
}

func BenchmarkLoadShipped(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := loadShipped(); err != nil {
			b.Fatal(err)
		}
	}
}
