package trigger

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
)

// boxCover pays for a low central pressure in a box.
func boxCover(west, south, east, north float64) Cover {
	c := pressureCover(0)
	c.Place = Place{Kind: InBox, Borders: Borders{West: west, South: south, East: east, North: north}}
	c.Trigger.MaximumGapHours = 24
	return c
}

// fixesAt returns the fixes of a storm every six hours from the start of 2026, each with a
// central pressure, 0 for an unknown one. Its id makes it a storm of the Atlantic
// wherever it is.
func fixesAt(points []hazard.Point, pressures ...int64) hazard.Storm {
	storm := hazard.Storm{ID: "AL012026"}
	for i, p := range points {
		fix := hazard.Fix{At: utcDate(2026, 1, 1).Add(time.Duration(6*i) * time.Hour), Where: p}
		if pressures[i] > 0 {
			fix.PressureHPA = new(decimal.NewFromInt(pressures[i]))
		}
		storm.Fixes = append(storm.Fixes, fix)
	}
	return storm
}

func evaluateIn2026(c Cover, s hazard.Storm) Determination {
	year := Period{utcDate(2026, 1, 1), utcDate(2027, 1, 1)}
	return Evaluate(c, year, year.From, Occurrence{Storm: &s, Stage: Final})
}

func TestMelissaPressureInBoxOverJamaica(t *testing.T) {
	t.Parallel()
	year, storm := Period{utcDate(2025, 1, 1), utcDate(2026, 1, 1)}, shippedMelissa(t)
	for index, cover := range map[string]Cover{
		"892": boxCover(-78.4, 17.7, -76.1, 18.6),  // with the way from the fix of 892 mb south of Jamaica to the landfall
		"897": boxCover(-78.4, 18.15, -76.1, 18.6), // north of the landfall
		"906": boxCover(-78.5, 16.3, -78.2, 16.45), // three fixes earlier
	} {
		d := Evaluate(cover, year, year.From, Occurrence{Storm: &storm, Stage: Final})
		require.True(t, d.Met)
		require.Equal(t, index, d.Index.String())
		require.Equal(t, "1", d.Factor.String())
		require.Equal(t, cover.Limit.Amount, d.Amount)
		require.Less(t, *d.DistanceKM, 140.0, "from the centre")
		require.Nil(t, d.RadiusKM)
		require.Nil(t, d.OutsideKM)
	}
	d := Evaluate(boxCover(-76, 17.7, -75.5, 18.6), year, year.From, Occurrence{Storm: &storm, Stage: Final})
	require.Equal(t, OutsidePlace, d.Reason, "the track passed west of it")
	require.Greater(t, *d.DistanceKM, *d.OutsideKM, "from the centre")
	require.InDelta(t, 80, *d.OutsideKM, 60)
	require.Nil(t, d.RadiusKM)
}

func TestStormOutsideOfBoxIsMeasuredFromItsBorder(t *testing.T) {
	t.Parallel()
	cover := boxCover(-79, 17, -76, 19)
	for outside, points := range map[float64][]hazard.Point{
		111.20: {{Latitude: 20, Longitude: -78}, {Latitude: 25, Longitude: -78}},
		55.60:  {{Latitude: 19.5, Longitude: -77.5}},
	} {
		d := evaluateIn2026(cover, fixesAt(points, 900, 900, 900))
		require.Equal(t, OutsidePlace, d.Reason)
		require.InDelta(t, outside, *d.OutsideKM, 0.011)
	}
	between := evaluateIn2026(cover, fixesAt([]hazard.Point{{Latitude: 22, Longitude: -80}, {Latitude: 18, Longitude: -73}}, 900, 900))
	require.Less(t, *between.OutsideKM, 200.0, "both ends are further away")
}

func TestPressureStepsInBoxAcrossAntimeridian(t *testing.T) {
	t.Parallel()
	cover := boxCover(179, -18, -179, -16)
	require.NoError(t, cover.Validate())
	for pressure, factor := range map[int64]string{933: "0", 932: "0.5", 921: "0.5", 920: "1", 892: "1"} {
		storm := fixesAt([]hazard.Point{{Latitude: -17, Longitude: 178.5}, {Latitude: -17, Longitude: -178.5}}, pressure, 950)
		d := evaluateIn2026(cover, storm)
		require.Equal(t, factor, d.Factor.String(), "%d mb: the segment has the lower pressure of both ends, which lie outside", pressure)
		require.Equal(t, pressure, d.Index.IntPart())
		require.Equal(t, utcDate(2026, 1, 1).Add(time.Hour).Unix(), d.OccurredAt.Unix(), "where it enters the box")
	}
	for name, storm := range map[string]hazard.Storm{
		"outside":           fixesAt([]hazard.Point{{Latitude: -17, Longitude: 178.5}, {Latitude: -17, Longitude: 178.9}}, 900, 900),
		"the other side":    fixesAt([]hazard.Point{{Latitude: -17, Longitude: 0}}, 900),
		"unknown pressures": fixesAt([]hazard.Point{{Latitude: -17, Longitude: 180}, {Latitude: -17, Longitude: -179.5}}, 0, 0),
	} {
		require.Equal(t, OutsidePlace, evaluateIn2026(cover, storm).Reason, name)
	}
	border := fixesAt([]hazard.Point{{Latitude: -16, Longitude: 179}}, 920)
	require.True(t, evaluateIn2026(cover, border).Met, "the borders belong to the box")
	known := fixesAt([]hazard.Point{{Latitude: -17, Longitude: 180}, {Latitude: -17, Longitude: -179.5}}, 0, 925)
	require.Equal(t, "925", evaluateIn2026(cover, known).Index.String())
	known.Fixes[1].At = known.Fixes[0].At.Add(25 * time.Hour)
	known.Fixes[1].Where.Longitude = -170
	require.Equal(t, OutsidePlace, evaluateIn2026(cover, known).Reason, "no segment is longer than the gap allows")
}

// A segment counts while it is in the box, not only at one moment of it.
func TestSegmentInBoxCountsFromTheFirstPayableMoment(t *testing.T) {
	t.Parallel()
	cover := boxCover(-79, 17, -76, 19)
	storm := fixesAt([]hazard.Point{{Latitude: 18, Longitude: -80}, {Latitude: 18, Longitude: -74}}, 920, 920)
	first := storm.Fixes[0].At // in the box from the first to the fourth hour
	hour := func(h float64) time.Time { return first.Add(time.Duration(h * float64(time.Hour))) }
	for name, test := range map[string]struct {
		period  Period
		payable time.Time
		reason  Reason
		at      time.Time
	}{
		"all of it":           {Period{hour(-1), hour(9)}, hour(-1), ThresholdMet, hour(1)},
		"begins inside":       {Period{hour(2), hour(9)}, hour(2), ThresholdMet, hour(2)},
		"ends inside":         {Period{hour(-1), hour(2)}, hour(-1), ThresholdMet, hour(1)},
		"payable inside":      {Period{hour(-1), hour(9)}, hour(3), ThresholdMet, hour(3)},
		"payable afterwards":  {Period{hour(-1), hour(9)}, hour(5), WaitingPeriod, hour(1)},
		"begins in it, waits": {Period{hour(2), hour(9)}, hour(5), WaitingPeriod, hour(2)},
		"begins afterwards":   {Period{hour(5), hour(9)}, hour(5), OutsidePeriod, hour(1)},
		"ends before":         {Period{hour(-2), hour(0.5)}, hour(-2), OutsidePeriod, hour(1)},
	} {
		d := Evaluate(cover, test.period, test.payable, Occurrence{Storm: &storm, Stage: Final})
		require.Equal(t, test.reason, d.Reason, name)
		require.WithinDuration(t, test.at, d.OccurredAt, time.Minute, name)
	}
}

// randomBorders returns a box in the waters of the shipped storms.
func randomBorders(random *rand.Rand) Borders {
	b := Borders{West: -95 + 40*random.Float64(), South: 10 + 20*random.Float64()}
	b.East, b.North = b.West+6*random.Float64(), b.South+6*random.Float64()
	return b
}

func TestLargerBoxNeverPaysLess(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 5))
	paid := 0
	for range 100 {
		smaller, larger := boxCover(0, 0, 1, 1), boxCover(0, 0, 1, 1)
		smaller.Place.Borders = randomBorders(random)
		larger.Place.Borders = smaller.Place.Borders
		larger.Place.West, larger.Place.North = larger.Place.West-random.Float64(), larger.Place.North+random.Float64()
		smaller.Payout.Steps, larger.Payout.Steps = stepRungs("1000", "0.5", "980", "1"), stepRungs("1000", "0.5", "980", "1")
		from := utcDate(1992+random.IntN(34), time.Month(1+random.IntN(12)), 1+random.IntN(28))
		period := Period{from, from.AddDate(0, 0, 1000+random.IntN(3650))}
		payable := from.AddDate(0, 0, random.IntN(10))
		storms := hazard.Shipped().Storms()[1400:] // of years with pressures
		for range 60 {
			storm := storms[random.IntN(len(storms))]
			little, more := StormShare(&smaller, period, payable, storm), StormShare(&larger, period, payable, storm)
			require.True(t, more.GreaterThanOrEqual(little), "%s in %+v and %+v", storm.ID, smaller.Place, larger.Place)
			if little.IsPositive() {
				paid++
			}
		}
	}
	require.Positive(t, paid)
}

func TestBordersAreValidated(t *testing.T) {
	t.Parallel()
	for _, borders := range []Borders{{-79, 17, -76, 19}, {179, -18, -179, -16}, {-180, -90, 180, 90}, {180, 0, -179, 1}} {
		require.NoError(t, boxCover(borders.West, borders.South, borders.East, borders.North).Validate())
	}
	for want, borders := range map[string]Borders{
		"west -181 is not between -180 and 180: a box across the antimeridian has west above east": {-181, 17, -76, 19},
		"east 190 is not between -180 and 180":                                                     {170, 17, 190, 19},
		"south -91 is not between -90 and 90: a box ends at a pole":                                {-79, -91, -76, 19},
		"north 95 is not between -90 and 90: a box ends at a pole":                                 {-79, 80, -76, 95},
		"south 19 is not below north 19":                                                           {-79, 19, -76, 19},
		"south 20 is not below north 19":                                                           {-79, 20, -76, 19},
		"west -79 and east -79 are the same meridian: use -180 and 180 for every longitude":        {-79, 17, -79, 19},
		"west 180 and east -180 are the same meridian":                                             {180, 17, -180, 19},
	} {
		require.ErrorContains(t, boxCover(borders.West, borders.South, borders.East, borders.North).Validate(), want)
	}
}

func TestBoxIsWrittenWithItsBorders(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(boxCover(-10, 0, 0, 5).Place)
	require.NoError(t, err)
	require.JSONEq(t, `{"kind":"box","west":-10,"south":0,"east":0,"north":5}`, string(text))
	var read Place
	require.NoError(t, json.Unmarshal(text, &read))
	require.Equal(t, boxCover(-10, 0, 0, 5).Place, read)
	require.NotEqual(t, boxCover(-10, 0, 0, 5).Hash(), boxCover(-10, 0, 0, 6).Hash())
}

func TestFootprintOfBoxIsItself(t *testing.T) {
	t.Parallel()
	footprint, ok := Footprint(boxCover(179, -18, -179, -16).Place)
	require.True(t, ok)
	require.Equal(t, hazard.Box{West: 179, South: -18, East: 181, North: -16}, footprint)
	require.InDelta(t, 180, footprint.Center().Longitude, 1e-12)
	touched := 0
	for _, cover := range []Cover{boxCover(-79, 17, -76, 19), boxCover(-180, 20, 180, 21)} {
		footprint, _ := Footprint(cover.Place)
		for _, storm := range hazard.Shipped().Storms()[1800:] {
			if o := (Occurrence{Storm: &storm}); Evaluate(cover, Period{To: utcDate(3000, 1, 1)}, time.Time{}, o).Index != nil {
				touched++
				overlaps := false
				for _, box := range OccurrenceBoxes(o) {
					overlaps = overlaps || box.Overlaps(footprint)
				}
				require.True(t, overlaps, storm.ID)
			}
		}
	}
	require.Greater(t, touched, 30)
}
