package capacity_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/modeltest"
	"parapet/model/underwriting/capacity"
)

// randomCircle returns a circle anywhere on the globe: often on or next to a whole degree,
// the equator, the meridians of 0° and 180°, or a pole.
func randomCircle(random *rand.Rand) trigger.Place {
	coordinate := func(limit float64) float64 {
		switch random.IntN(4) {
		case 0:
			return limit * (2*random.Float64() - 1)
		case 1:
			return math.Copysign(limit-random.Float64(), random.Float64()-0.5)
		default: // a whole degree, or 10 cm from it
			degree := []float64{0, -1, 1, limit, -limit, math.Round(limit * (2*random.Float64() - 1))}[random.IntN(6)]
			return max(-limit, min(limit, degree+1e-6*float64(random.IntN(3)-1)))
		}
	}
	return trigger.Place{Kind: trigger.Circle, Latitude: coordinate(90), Longitude: coordinate(180), RadiusKM: math.Exp(random.Float64() * math.Log(500))}
}

// cellName names the cell of one degree that contains a point by its south-west corner.
func cellName(p hazard.Point) string {
	south, west := int(math.Floor(p.Latitude)), int(math.Floor(p.Longitude))
	if west == 180 {
		west = -180 // the meridians of 180° east and west are the same
	}
	half := func(positive, negative string, degree int) string {
		if degree < 0 {
			return negative
		}
		return positive
	}
	return fmt.Sprintf("%s%02d%s%03d", half("N", "S", south), max(south, -south), half("E", "W", west), max(west, -west))
}

// expectedCell returns the cell of a circle's centre. A circle over a pole has a footprint
// of all longitudes, whose middle is at 0° and between the pole and the circle's edge.
func expectedCell(circle trigger.Place) string {
	const degreeKM = hazard.EarthRadiusKM * math.Pi / 180
	reach := circle.RadiusKM / degreeKM
	if pole := math.Copysign(90, circle.Latitude); math.Abs(circle.Latitude)+reach+1e-6 >= 90 {
		edge := max(-90, min(90, circle.Latitude-math.Copysign(reach+1e-6, pole)))
		return cellName(hazard.Point{Latitude: (pole + edge) / 2})
	}
	return cellName(circle.Center())
}

func TestPlaceCellOfBoxIsTheDegreeOfItsCentre(t *testing.T) {
	t.Parallel()
	db, _ := modeltest.Database(t, 2)
	for cell, borders := range map[string]trigger.Borders{
		"N18W078": {West: -78.4, South: 17.7, East: -76.1, North: 18.6},
		"S17W180": {West: 179, South: -17.5, East: -178.5, North: -16.4}, // the centre is east of the antimeridian
		"S17E179": {West: 178, South: -17.5, East: -178.5, North: -16.4},
		"N00W180": {West: 170, South: -10, East: -170, North: 10},
		"S46E000": {West: -180, South: -90, East: 180, North: -1.9},
	} {
		footprint, ok := trigger.Footprint(trigger.Place{Kind: trigger.InBox, Borders: borders})
		require.True(t, ok)
		var found string
		require.NoError(t, db.Pool.QueryRow(t.Context(), "select place_cell($1::text::box, null)", capacity.PgBox(footprint)).Scan(&found))
		require.Equal(t, cell, found)
	}
}

func TestPlaceCellIsTheDegreeOfTheCentre(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(8, 14))
	var footprints, cells []string
	for len(footprints) < 30_000 {
		circle := randomCircle(random)
		box, ok := trigger.Footprint(circle)
		require.True(t, ok)
		cell := expectedCell(circle)
		for _, footprint := range capacity.SearchBoxes([]hazard.Box{box}) { // shifted by whole turns
			footprints, cells = append(footprints, footprint), append(cells, cell)
		}
	}
	db, _ := modeltest.Database(t, 2)
	rows, err := db.Pool.Query(t.Context(), "select place_cell(f::box, null) from unnest($1::text[]) with ordinality as boxes (f, n) order by n", footprints)
	require.NoError(t, err)
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Len(t, found, len(cells))
	for i := range cells {
		require.Equal(t, cells[i], found[i], footprints[i])
	}
}

func TestPlaceCellOfKnownPlaces(t *testing.T) {
	t.Parallel()
	db, _ := modeltest.Database(t, 2)
	for cell, centre := range map[string]hazard.Point{
		"N23E121": {Latitude: 23.98, Longitude: 121.61}, "S34W059": {Latitude: -33.5, Longitude: -58.4}, "N14W091": {Latitude: 14.6, Longitude: -90.5},
		"N00E000": {}, "S01W001": {Latitude: -0.001, Longitude: -0.001}, "S17W180": {Latitude: -16.5, Longitude: 180}, "S17E179": {Latitude: -16.5, Longitude: 179.9},
	} {
		var found string
		require.NoError(t, db.Pool.QueryRow(t.Context(), "select place_cell($1::text::box, null)", capacity.PgBox(hazard.CircleBox(centre, 50))).Scan(&found))
		require.Equal(t, cell, found)
	}
	var station string
	require.NoError(t, db.Pool.QueryRow(t.Context(), "select place_cell('((1,1),(0,0))', 'USW00014839')").Scan(&station))
	require.Equal(t, "USW00014839", station, "a station is its own cell")
	var none *string
	require.NoError(t, db.Pool.QueryRow(t.Context(), "select place_cell(null, null)").Scan(&none))
	require.Nil(t, none)
}

// chordDistance is the distance of two points in kilometres by the straight line between
// them, as an independent formula.
func chordDistance(a, b hazard.Point) float64 {
	vector := func(p hazard.Point) [3]float64 {
		sin, cos := math.Sincos(p.Latitude * math.Pi / 180)
		east, north := math.Sincos(p.Longitude * math.Pi / 180)
		return [3]float64{cos * north, cos * east, sin}
	}
	from, to := vector(a), vector(b)
	chord := math.Hypot(math.Hypot(to[0]-from[0], to[1]-from[1]), to[2]-from[2])
	return 2 * hazard.EarthRadiusKM * math.Asin(min(1, chord/2))
}

func TestMoratoriumClosesTheCirclesThatItTouches(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(14, 8))
	starts := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	ends := starts.Add(time.Hour)
	closed, open := 0, 0
	for range 50_000 {
		covered := randomCircle(random)
		centre := hazard.Move(covered.Center(), 2*math.Pi*random.Float64(), 3*covered.RadiusKM*random.Float64())
		if random.IntN(4) == 0 {
			centre = randomCircle(random).Center()
		}
		radius := covered.RadiusKM * random.Float64()
		gap := chordDistance(covered.Center(), centre) - covered.RadiusKM - radius
		if math.Abs(gap) < 0.001 {
			continue // a metre, where rounding decides
		}
		if random.IntN(2) == 0 && centre.Longitude != 0 {
			centre.Longitude -= math.Copysign(360, centre.Longitude) // the same place
		}
		single := capacity.MoratoriumRow{Latitude: &centre.Latitude, Longitude: &centre.Longitude, RadiusKM: &radius, EndsAt: ends, Reason: "test"}
		readings := single
		readings.Readings = append(readings.Readings, capacity.MoratoriumReading{Latitude: centre.Latitude, Longitude: centre.Longitude, EndsAt: ends})
		for _, row := range []capacity.MoratoriumRow{single, readings} {
			found := capacity.FindActiveMoratorium([]capacity.MoratoriumRow{row}, trigger.Cover{Place: covered}, starts)
			require.Equal(t, gap <= 0, found != nil, "%+v and %v within %v km", covered, centre, radius)
		}
		if gap <= 0 {
			closed++
		} else {
			open++
		}
	}
	require.Greater(t, min(closed, open), 10_000, "both are tried")
}
