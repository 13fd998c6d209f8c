package hazard

import (
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"
)

func TestShipped(t *testing.T) {
	t.Parallel()
	h := Shipped()
	require.Len(t, h.Quakes(), 25024)
	require.Len(t, h.Storms(), 2004)
	require.Equal(t, []string{"Merced", "Milwaukee", "New York", "Seattle"}, h.StationNames())
	require.Equal(t, []string{"Merced", "Milwaukee"}, h.PricedStations(func(d Day) bool { return d.PrecipitationMM != nil }))
	require.Equal(t, "sha256:39fd966e648e01c6d0818a2fd31856956397efc90eaacb26b7bc1dead99ac653", h.QuakeData().Digest)
	require.Equal(t, "sha256:6638cf4f23aab6f980551e18e415f019c32e16709a9d8ab84469fed05662e023", h.StormData().Digest)
	require.Equal(t, "sha256:05ce00a9df51a0d3dcf5b0e5fb9013cfa824ebe5a9f1f237ada83b6c79a3144d", h.RainData().Digest)
}

// TestShippedQuakes checks the merged list: the years, one record of each earthquake
// and none of the explosions at the test sites.
func TestShippedQuakes(t *testing.T) {
	t.Parallel()
	byID := make(map[string]*Quake)
	var before time.Time
	unknown := 0
	for i := range Shipped().Quakes() {
		quake := &Shipped().Quakes()[i]
		require.False(t, quake.At.Before(before), "in order of time")
		require.True(t, quake.Magnitude.GreaterThanOrEqual(Shipped().QuakeData().MinimumMagnitude))
		require.GreaterOrEqual(t, quake.At.Year(), 1965)
		require.LessOrEqual(t, quake.At.Year(), 2022)
		before, byID[quake.EventID] = quake.At, quake
		if quake.DepthKM == nil {
			unknown++
			require.True(t, quake.Magnitude.LessThan(decimal.NewFromInt(6)) && quake.At.Year() <= 2012, quake.EventID)
		}
	}
	require.Len(t, byID, len(Shipped().Quakes()), "every id once")
	require.Equal(t, 13851, unknown)
	require.Equal(t, "17", byID["us1000chhc"].DepthKM.String(), "Hualien 2018")
	require.Contains(t, byID, "neic-19750223-08017N-124075E")
	require.Equal(t, 58, Shipped().QuakeData().Years())
	for _, site := range []Point{{37.1, -116.1}, {49.9, 78.6}, {73.35, 54.8}, {41.6, 88.6}, {-21.83, -138.9}, {-22.25, -138.7}} {
		for _, quake := range Shipped().QuakesNear(site, 30) {
			require.NotNil(t, quake.DepthKM, "%s is no explosion", quake.EventID)
		}
	}
}

func TestShippedStorms(t *testing.T) {
	t.Parallel()
	fixes, unknown, modern, known := 0, 0, 0, 0
	for _, storm := range Shipped().Storms() {
		for _, fix := range storm.Fixes {
			fixes++
			if fix.WindKN == nil {
				unknown++
			}
			if fix.At.Year() >= 1992 {
				modern++
				if fix.PressureHPA != nil {
					known++
				}
			}
			require.LessOrEqual(t, fix.Where.Longitude, 180.0)
			require.GreaterOrEqual(t, fix.Where.Longitude, -180.0)
		}
	}
	require.Equal(t, 55605, fixes)
	require.Equal(t, 57, unknown)
	require.Greater(t, float64(known)/float64(modern), 0.99)
	require.Equal(t, 175, Shipped().StormData().Years())
}

// TestShippedStations checks the whole years of each station by the measure used: at least
// 360 days of it.
func TestShippedStations(t *testing.T) {
	t.Parallel()
	precipitation := func(d Day) bool { return d.PrecipitationMM != nil }
	highest := func(d Day) bool { return d.HighestC != nil }
	for name, years := range map[string][2]int{"Milwaukee": {86, 87}, "Merced": {85, 83}, "Seattle": {4, 4}, "New York": {4, 4}} {
		station, ok := Shipped().Station(name)
		require.True(t, ok)
		require.Len(t, station.WholeYears(precipitation), years[0], name)
		require.Len(t, station.WholeYears(highest), years[1], name)
	}
	require.Equal(t, []string{"Merced", "Milwaukee"}, Shipped().PricedStations(highest))
}

// TestAtlanticBasinExcludesPacificCoast checks places on both sides of the border in
// America.
func TestAtlanticBasinExcludesPacificCoast(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]Point{
		"Miami": {25.76, -80.19}, "Veracruz": {19.17, -96.13}, "Belize": {17.5, -88.2}, "San Pedro Sula": {15.5, -88.03},
		"Bluefields": {12.01, -83.76}, "Limón": {9.99, -83.03}, "Colón": {9.36, -79.9}, "Cartagena": {10.4, -75.5},
		"Houston": {29.76, -95.37}, "Bermuda": {32.3, -64.78}, "Ponta Delgada": {37.74, -25.67}, "Praia": {14.93, -23.5},
	} {
		require.True(t, Atlantic().Contains(at), name)
	}
	for name, at := range map[string]Point{
		"Acapulco": {16.86, -99.88}, "Puerto Escondido": {15.87, -97.07}, "Salina Cruz": {16.17, -95.2}, "Tapachula": {14.9, -92.27},
		"San José in Guatemala": {13.93, -90.82}, "La Libertad": {13.49, -89.32}, "Corinto": {12.48, -87.17},
		"Puntarenas": {9.98, -84.83}, "Panamá": {8.98, -79.52}, "Bahía Solano": {6.22, -77.4}, "Manzanillo": {19.05, -104.3}, "Tokyo": {35.7, 139.7},
	} {
		require.False(t, Atlantic().Contains(at), name)
	}
}
