package hazard

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
)

const katrinaHURDAT2 = `ID,Name,Tracks
AL122005,            KATRINA,      3,
Date,Time,Record Identifier,Status of System,Latitude,Longitude,Max Sustained Wind [kts],Min Pressure [mbars]
20050829,0600,,HU,28.2,-89.6,125,913,
20050829,1110,L,HU,29.3N,89.6W,110,920,
20050829,1200,,HU,29.5,-89.6,-99,-999,
`

func rejectionReasons(refused []RowError) (all []string) {
	for _, row := range refused {
		all = append(all, row.Error())
	}
	return all
}

func TestParseHURDAT2(t *testing.T) {
	t.Parallel()
	storms, refused, err := ParseHURDAT2(strings.NewReader("\ufeff" + strings.ReplaceAll(katrinaHURDAT2, "\n", "\r\n")))
	require.NoError(t, err)
	require.Empty(t, refused)
	require.Len(t, storms, 1)
	require.Equal(t, "AL122005", storms[0].ID)
	require.Equal(t, "KATRINA", storms[0].Name)
	require.Len(t, storms[0].Fixes, 3)
	landfall := storms[0].Fixes[1]
	require.Equal(t, time.Date(2005, 8, 29, 11, 10, 0, 0, time.UTC), landfall.At)
	require.Equal(t, Point{29.3, -89.6}, landfall.Where)
	require.Equal(t, "110", landfall.WindKN.String())
	require.Equal(t, "920", landfall.PressureHPA.String())
	require.Equal(t, "L", landfall.Record)
	require.Equal(t, "HU", landfall.Status)
	require.Nil(t, storms[0].Fixes[2].WindKN)
	require.Nil(t, storms[0].Fixes[2].PressureHPA)
}

func TestParseHURDAT2KeepsTheGoodRows(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		file, reason string
		fixes        int
	}{
		"truncated in a row": {katrinaHURDAT2[:strings.LastIndex(katrinaHURDAT2, "-89.6")], "line 6: a fix has at least 8 fields, this row has 6", 2},
		"truncated between rows": {
			katrinaHURDAT2[:strings.Index(katrinaHURDAT2, "20050829,1200")],
			"line 2: storm AL122005 announces 3 fixes, 2 follow", 2,
		},
		"no header": {"20050829,0600,,HU,28.2,-89.6,125,913,\n" + katrinaHURDAT2, "line 1: a fix without a storm's header before it", 3},
		"bad header": {
			"KATRINA\n" + katrinaHURDAT2,
			"line 1: a storm's header is basin, number and year, its name and its number of fixes", 3,
		},
		"bad time":      {strings.Replace(katrinaHURDAT2, "0600", "2500", 1), `line 4: "20050829 2500" is not a time of the form 20060102 1504`, 2},
		"bad latitude":  {strings.Replace(katrinaHURDAT2, "28.2", "98.2", 1), `line 4: latitude "98.2" is not a number between -90 and 90`, 2},
		"bad longitude": {strings.Replace(katrinaHURDAT2, "-89.6", "NaN", 1), `line 4: longitude "NaN" is not a number between -360 and 360`, 2},
		"bad wind":      {strings.Replace(katrinaHURDAT2, "125", "1e9", 1), `line 4: wind "1e9" is not a decimal number`, 2},
		"negative wind": {strings.Replace(katrinaHURDAT2, "125", "-5", 1), "line 4: a wind of -5 kn with 913 hPa is impossible", 2},
		"out of order":  {strings.Replace(katrinaHURDAT2, "1110", "0600", 1), "line 5: the fix is not later than the one before it", 2},
		"stray quote":   {strings.Replace(katrinaHURDAT2, ",125", `,"125`, 1), "line 4: the quotes do not match", 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storms, refused, err := ParseHURDAT2(strings.NewReader(test.file))
			require.NoError(t, err)
			require.Contains(t, rejectionReasons(refused), test.reason)
			require.Len(t, storms, 1)
			require.Len(t, storms[0].Fixes, test.fixes)
		})
	}
}

func TestParseGHCN(t *testing.T) {
	t.Parallel()
	stations, refused, err := ParseGHCN(strings.NewReader(`location,date,precipitation,temp_max,temp_min,wind,weather
Seattle,2012-01-02,10.9,10.6,2.8,4.5,rain
"New York, NY",2012-01-01,0.0,,-9999
Seattle,2012-01-01,0.0,12.8,5.0,4.7,drizzle
Seattle,2012-01-02,10.9,10.6,2.8,4.5,rain
Seattle,2012-02-30,1.0
Seattle,2012-01-03,
Seattle,2012-01-04,-1
Seattle,2012-01-05,wet
Seattle,2012-01-06,1.0,warm
Seattle
`))
	require.NoError(t, err)
	require.Equal(t, []string{
		"line 5: Seattle has 2012-01-02 twice",
		`line 6: "2012-02-30" is not a time of the form 2006-01-02`,
		"line 7: the day has no measurement",
		"line 8: precipitation of -1 mm is impossible",
		`line 9: precipitation "wet" is not a decimal number`,
		`line 10: highest temperature "warm" is not a decimal number`,
		"line 11: a day has at least a location, a date and its precipitation",
	}, rejectionReasons(refused))
	require.Len(t, stations, 2)
	require.Equal(t, "New York, NY", stations[0].Name)
	require.Nil(t, stations[0].Days[0].HighestC)
	require.Nil(t, stations[0].Days[0].LowestC)
	seattle := stations[1].Days
	require.Len(t, seattle, 2)
	require.Equal(t, time.Date(2012, 1, 1, 0, 0, 0, 0, time.UTC), seattle[0].Date)
	require.True(t, seattle[1].Date.After(seattle[0].Date))
	require.Equal(t, "10.9", seattle[1].PrecipitationMM.String())
	require.Equal(t, "4.5", seattle[1].WindMS.String())
}

func TestParseQuakes(t *testing.T) {
	t.Parallel()
	quakes, refused, err := ParseQuakes(strings.NewReader(`time,latitude,longitude,magnitude,depth_km,id
1971-08-19T00:00:00Z,23.991,-121.913,6.3,,old
2011-03-13T02:23:34.520Z,-0.344,2.344,5.80,10.5,new
2011-03-14T02:23:34.520Z,-0.344,2.344,5.80,10.5,new
08/19/1971,1,2,5,,a
1971-08-19T00:00:00Z,1,2,5,,
1971-08-19T00:00:00Z,1,2,5,deep,b
1971-08-19T00:00:00Z,1,2,strong,,c
1971-08-19T00:00:00Z,91,2,5,,d
`))
	require.NoError(t, err)
	require.Equal(t, []string{
		"line 4: the id new is there twice",
		`line 5: "08/19/1971" is not a time of the form 2006-01-02T15:04:05.999999Z07:00`,
		"line 6: an earthquake has 6 fields and an id, this row has 6 fields",
		`line 7: depth "deep" is not a decimal number`,
		`line 8: magnitude "strong" is not a decimal number`,
		`line 9: latitude "91" is not a number between -90 and 90`,
	}, rejectionReasons(refused))
	require.Len(t, quakes, 2)
	require.Nil(t, quakes[0].DepthKM)
	require.Equal(t, "10.5", quakes[1].DepthKM.String())
	require.Equal(t, 520*time.Millisecond, time.Duration(quakes[1].At.Nanosecond()))
}

func TestParsersReportLineOfReadError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken pipe")
	storms, _, err := ParseHURDAT2(io.MultiReader(strings.NewReader(katrinaHURDAT2), iotest.ErrReader(broken)))
	require.ErrorIs(t, err, broken)
	require.ErrorContains(t, err, "after line 6")
	require.Len(t, storms[0].Fixes, 3)

	_, _, err = ParseGHCN(strings.NewReader(strings.Repeat("x", 1<<20)))
	require.ErrorContains(t, err, "too long")
}

func FuzzParsers(f *testing.F) {
	f.Add(katrinaHURDAT2)
	f.Add("Seattle,2012-01-02,10.9,10.6,2.8,4.5,rain\n")
	f.Add("1971-08-19T00:00:00Z,23.991,121.913,6.3,,a\n")
	f.Fuzz(func(t *testing.T, file string) {
		storms, _, _ := ParseHURDAT2(strings.NewReader(file))
		for _, storm := range storms {
			require.NotEmpty(t, storm.Fixes)
		}
		quakes, _, _ := ParseQuakes(strings.NewReader(file))
		for _, quake := range quakes {
			require.NotEmpty(t, quake.EventID)
		}
		_, _, _ = ParseGHCN(strings.NewReader(file))
	})
}
