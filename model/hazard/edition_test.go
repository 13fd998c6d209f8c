package hazard

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var editionDay = time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)

const (
	quakeHeader = "# data_set: earthquakes\n# name: Two quakes\n# first_year: 2000\n# last_year: 2024\n# minimum_magnitude: 5.5\ntime,latitude,longitude,magnitude,depth_km,id\n"
	quakeRows   = "2000-01-01T00:00:00Z,1,2,5.5,,a\n2024-12-31T23:59:59Z,1,2,7.1,10,b\n"
)

func TestParseEditionReplacesOneDataSet(t *testing.T) {
	t.Parallel()
	e, faults := ParseEdition([]byte("\ufeff"+strings.ReplaceAll(quakeHeader+quakeRows, "\n", "\r\n")), editionDay)
	require.Empty(t, faults)
	require.Equal(t, 2, e.Rows)
	h := Shipped().WithEdition(e)
	require.Len(t, h.Quakes(), 2)
	require.Equal(t, 2, h.CountRows(EarthquakeSet))
	require.Equal(t, "Two quakes", h.QuakeData().Name)
	require.Equal(t, 25, h.Data(EarthquakeSet).Years())
	require.Equal(t, "5.5", h.QuakeData().MinimumMagnitude.String())
	require.Equal(t, Shipped().StormData(), h.StormData())
	require.Regexp(t, "^sha256:[0-9a-f]{64}$", e.Digest)
	other, _ := ParseEdition([]byte(quakeHeader+quakeRows), editionDay)
	require.NotEqual(t, e.Digest, other.Digest, "the digest covers all bytes")

	e, faults = ParseEdition([]byte("# data_set: storms\n# name: One storm\n# first_year: 1980\n# last_year: 2005\n"+katrinaHURDAT2), editionDay)
	require.Empty(t, faults)
	h = Shipped().WithEdition(e)
	require.Len(t, h.Storms(), 1)
	require.Equal(t, len(h.Storms()[0].Fixes), h.CountRows(StormSet))
	require.Equal(t, 1992, h.PressureData().FirstYear)
	require.Equal(t, 1980, h.StormData().FirstYear)
	require.Equal(t, e.Digest, h.PressureData().Digest)
	require.NotNil(t, h.StormData().Basin)

	e, faults = ParseEdition([]byte("# data_set: station_days\n# name: One day\n# first_year: 2026\n# last_year: 2026\nSeattle,2026-01-01,1.5\n"), editionDay)
	require.Empty(t, faults, "only whole years of a station count, so the last one may be the present")
	h = Shipped().WithEdition(e)
	require.Equal(t, []string{"Seattle"}, h.StationNames())
	require.Equal(t, 1, h.CountRows(StationDaySet))
	require.Empty(t, h.WithoutStations([]string{"Seattle"}).StationNames())
}

func TestParseEditionNamesTheLinesOfFaults(t *testing.T) {
	t.Parallel()
	stormHeader := "# data_set: storms\n# name: x\n# first_year: 1980\n# last_year: 2005\n"
	for file, want := range map[string][]string{
		quakeRows: {
			`line 1: the line "# data_set: …" is missing`, `line 1: the line "# name: …" is missing`,
			`line 1: the line "# first_year: …" is missing`, `line 1: the line "# last_year: …" is missing`,
		},
		"# data_set: floods\n# name:\n# first_year: 1799\n# last_year: soon\n# minimum_magnitude: -1\n# size: 3\n# name: x\n# hello\n": {
			`line 1: data_set is earthquakes, storms or station_days, not "floods"`, "line 2: name has 1 to 128 bytes: it is shown in the basis of quotes",
			"line 3: first_year is a year from 1800", "line 4: last_year is a year from 1800", "line 5: minimum_magnitude is a positive decimal number such as 5.5",
			`line 6: there is no key "size"; use data_set, name, first_year, last_year and, for earthquakes, minimum_magnitude`,
			`line 7: write each line as "# key: value", and each key once`, `line 8: write each line as "# key: value", and each key once`,
		},
		strings.Replace(quakeHeader, "# minimum_magnitude: 5.5\n", "", 1) + quakeRows: {`line 1: the line "# minimum_magnitude: …" is missing`},
		strings.Replace(quakeHeader, "2024", "2026", 1) + quakeRows:                   {"line 4: last_year must have ended: a year without its last events lowers every price"},
		strings.Replace(quakeHeader, "2000", "2006", 1):                               {"line 4: give at least 20 years; these are 19"},
		quakeHeader: {"line 1: the file has no rows"},
		quakeHeader + "1999-12-31T23:59:59Z,1,2,6,,a\n2001-01-01T00:00:00Z,1,2,5.4,,b\nno time,1,2,6,,c\n2025-01-01T00:00:00Z,1,2,6,,d\n": {
			"line 7: the year 1999 is not in 2000 to 2024", "line 8: the magnitude 5.4 is below minimum_magnitude",
			`line 9: "no time" is not a time of the form 2006-01-02T15:04:05.999999Z07:00`, "line 10: the year 2025 is not in 2000 to 2024",
		},
		stormHeader + strings.Replace(katrinaHURDAT2, "AL12", "EP12", 1):                                     {"line 6: storm EP122005 is not of the Atlantic (AL), the only basin with prices"},
		"# minimum_magnitude: 5\n" + stormHeader + katrinaHURDAT2:                                            {"line 1: only earthquakes have a minimum_magnitude"},
		"# data_set: station_days\n# name: x\n# first_year: 2026\n# last_year: 2025\n":                       {"line 4: last_year is before first_year"},
		"# data_set: station_days\n# name: x\n# first_year: 2000\n# last_year: 2025\nSeattle,1999-01-01,1\n": {"line 5: the year 1999 is not in 2000 to 2025"},
	} {
		_, faults := ParseEdition([]byte(file), editionDay)
		require.Equal(t, want, rejectionReasons(faults))
	}
}

func TestUnpackFileBoundsTheFile(t *testing.T) {
	t.Parallel()
	for size, fits := range map[int]bool{maxEditionFile: true, maxEditionFile + 1: false} {
		packed, err := PackFile(make([]byte, size))
		require.NoError(t, err)
		file, err := UnpackFile(packed)
		require.Equal(t, fits, err == nil)
		require.True(t, !fits || len(file) == size)
	}
}
