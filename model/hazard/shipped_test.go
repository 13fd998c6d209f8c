package hazard

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestShipped(t *testing.T) {
	t.Parallel()
	h := Shipped()
	require.Len(t, h.Quakes(), 23412)
	require.Len(t, h.Storms(), 1814)
	require.Equal(t, []string{"New York", "Seattle"}, h.StationNames())
}

func TestShippedQuakes(t *testing.T) {
	t.Parallel()
	ids := make(map[string]bool)
	var before time.Time
	for _, quake := range Shipped().Quakes() {
		require.False(t, quake.At.Before(before), "in order of time")
		require.False(t, ids[quake.EventID], "%s twice", quake.EventID)
		require.True(t, quake.Magnitude.GreaterThanOrEqual(Shipped().QuakeData().MinimumMagnitude))
		require.Nil(t, quake.DepthKM)
		before, ids[quake.EventID] = quake.At, true
	}
	require.True(t, ids["neic-19650102-19246N-145616E"])
	require.True(t, ids["neic-19750223-08017N-124075E"])
	require.Equal(t, 52, Shipped().QuakeData().Years())
}

func TestShippedStorms(t *testing.T) {
	t.Parallel()
	fixes, unknown := 0, 0
	for _, storm := range Shipped().Storms() {
		for _, fix := range storm.Fixes {
			fixes++
			if fix.WindKN == nil {
				unknown++
			}
			require.LessOrEqual(t, fix.Where.Longitude, 180.0)
			require.GreaterOrEqual(t, fix.Where.Longitude, -180.0)
		}
	}
	require.Equal(t, 49105, fixes)
	require.Equal(t, 338, unknown)
	require.Equal(t, 165, Shipped().StormData().Years())
}

func TestShippedRain(t *testing.T) {
	t.Parallel()
	for _, name := range Shipped().StationNames() {
		station, _ := Shipped().Station(name)
		require.Len(t, station.Days, 4*365+1, "no day of 2012 to 2015 is missing")
	}
	require.Equal(t, 4, Shipped().RainData().Years())
}
