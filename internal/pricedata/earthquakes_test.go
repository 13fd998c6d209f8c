package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const usgsColumns = "time,latitude,longitude,depth,mag,magType,nst,gap,dmin,rms,net,id,updated,place,type\n"

// mergedIDs writes the three lists into a folder and returns the ids of the merged list.
func mergedIDs(t *testing.T, six, five, old string) string {
	t.Helper()
	folder := t.TempDir()
	for name, content := range map[string]string{
		"usgs-m6-1900-2023.csv": usgsColumns + six, "usgs-m5-2013-2023.csv": usgsColumns + five,
		"significant-earthquakes-1965-2016.csv": "Date,Latitude,Longitude,Magnitude\n" + old,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600))
	}
	content, err := convertQuakes(sourceFolder(folder))
	require.NoError(t, err)
	var ids []string
	for line := range strings.Lines(string(content)) {
		ids = append(ids, strings.TrimSpace(line[strings.LastIndex(line, ",")+1:]))
	}
	return strings.Join(ids[1:], " ")
}

func usgsRow(time, latitude, longitude, magnitude, id, kind string) string {
	return strings.Join([]string{time, latitude, longitude, "10", magnitude, "mw", "", "", "", "", "us", id, "", "somewhere", kind}, ",") + "\n"
}

func TestQuakesComeFromTheListOfTheirYearAndSize(t *testing.T) {
	t.Parallel()
	six := usgsRow("1964-12-31T00:00:00Z", "0", "0", "7", "too-early", "earthquake") +
		usgsRow("1970-01-01T00:00:00Z", "10", "0", "6", "six", "earthquake") +
		usgsRow("1970-06-01T00:00:00Z", "20", "0", "6.5", "bomb", "nuclear explosion") +
		usgsRow("2023-01-01T00:00:00Z", "0", "0", "7", "too-late", "earthquake")
	five := usgsRow("2013-01-01T00:00:00Z", "0", "10", "5.5", "five", "earthquake") +
		usgsRow("2013-02-01T00:00:00Z", "0", "10", "5.4", "too-weak", "earthquake") +
		usgsRow("2013-03-01T00:00:00Z", "0", "10", "6.0", "other-list", "earthquake") +
		usgsRow("2013-04-01T00:00:00Z", "0", "10", "5.8", "volcano", "volcanic eruption")
	old := "05/05/1980,30,0,5.7\n05/05/1980,30,0,5.7\n05/05/1981,30,0,6.1\n05/05/2014,30,0,5.7\n2011-03-13T02:23:34.520Z,36.344,142.344,5.8\n"
	require.Equal(t, "six neic-19800505-30000N-000000E neic-19800505-30000N-000000E-2 neic-20110313-36344N-142344E five", mergedIDs(t, six, five, old))
}

func TestOldRowsThatRepeatALargerEventAreDropped(t *testing.T) {
	t.Parallel()
	six := usgsRow("1980-05-05T20:00:00Z", "30", "0", "6.2", "larger", "earthquake") + usgsRow("1990-05-05T20:00:00Z", "30", "0", "6.2", "bomb", "nuclear explosion")
	for name, test := range map[string]struct {
		old  string
		gone bool
	}{
		"the same day":         {"05/05/1980,30,0,5.6", true},
		"of another kind":      {"05/05/1990,30,0,5.6", true},
		"0.7 weaker":           {"05/05/1980,30,0,5.5", false},
		"49 km away":           {"05/05/1980,30.44,0,5.7", true},
		"51 km away":           {"05/05/1980,30.46,0,5.7", false},
		"the day after":        {"05/06/1980,30,0,5.7", true},
		"two days after":       {"05/07/1980,30,0,5.7", false},
		"a day before by less": {"05/04/1980,30,0,5.7", false},
	} {
		require.Equal(t, test.gone, !strings.Contains(mergedIDs(t, six, "", test.old+"\n"), "neic"), name)
	}
}

func TestOldRowsAtTestSitesAreDropped(t *testing.T) {
	t.Parallel()
	old := "06/26/1975,37.1,-116.1,5.5\n02/12/1989,49.9,78.7,5.9\n10/18/1979,73.3,54.8,5.8\n06/10/1994,41.7,88.7,5.8\n06/10/1989,-22.2,-138.7,5.5\n"
	require.Empty(t, mergedIDs(t, usgsRow("1950-01-01T00:00:00Z", "0", "0", "6", "x", "earthquake"), "", old))
	require.Equal(t, "neic-19990801-37400N-117100W", mergedIDs(t, "", "", "08/01/1999,37.4,-117.1,5.9\n"), "a quake 95 km away stays")
}

func TestStationDaysWithoutMeasurementAreLeftOut(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "ghcn-daily-milwaukee-merced-1899-2026.csv"),
		[]byte("station,name,latitude,longitude,date,precipitation_mm,temp_max_c,temp_min_c\n"+
			`M,"Merced, California",1,2,1998-08-01,0.0,,`+"\n"+`M,"Merced, California",1,2,1998-08-01,5.0,,`+"\n"+
			`M,"Merced, California",1,2,1998-08-02,,9,1`+"\n"+`M,"Merced, California",1,2,1998-08-03,,,`+"\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "ghcn-daily-seattle-newyork-2012-2015.csv"),
		[]byte("location,date,precipitation,temp_max,temp_min,wind,weather\nSeattle,2012-01-02,10.9,10.6,2.8,4.5,rain\n"), 0o600))
	days, err := convertStationDays(sourceFolder(folder))
	require.NoError(t, err)
	require.Equal(t, "location,date,precipitation,temp_max,temp_min\nMerced,1998-08-01,0.0,,\nMerced,1998-08-02,,9,1\nSeattle,2012-01-02,10.9,10.6,2.8\n", string(days))
}

func TestStormsKeepEightFields(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "hurdat2-atlantic-1851-2025.txt"),
		[]byte("AL011851,            UNNAMED,     1,\n18510625, 0000,  , HU, 28.0N,  94.8W,  80, -999, -999, 5\n"), 0o600))
	tracks, err := convertStorms(sourceFolder(folder))
	require.NoError(t, err)
	require.Equal(t, "AL011851,UNNAMED,1,\n18510625,0000,,HU,28.0N,94.8W,80,-999\n", string(tracks))
}

// TestRunWritesTheSameBytes packs twice.
func TestRunWritesTheSameBytes(t *testing.T) {
	t.Parallel()
	first, err := compress([]byte("a"))
	require.NoError(t, err)
	again, err := compress([]byte("a"))
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.ErrorContains(t, convertAll(t.TempDir(), t.TempDir()), "usgs-m6-1900-2023.csv")
}
