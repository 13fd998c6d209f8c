package hazard

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCoordinatesAreNormalizedToHalfATurn(t *testing.T) {
	t.Parallel()
	reader := newRowReader(strings.NewReader(""))
	for longitude, want := range map[string]float64{
		"0": 0, "180": 180, "-180": -180, "180.5": -179.5, "-180.5": 179.5, "359": -1, "-359": 1, "360": 0, "-360": 0, "-359.5": 0.5, "0.5W": -0.5,
	} {
		at, err := reader.parsePoint("0", longitude)
		require.NoError(t, err, longitude)
		require.InDelta(t, want, at.Longitude, 1e-9, longitude)
	}
	for _, latitude := range []string{"90", "-90", "90S", "0.0N"} {
		_, err := reader.parsePoint(latitude, "0")
		require.NoError(t, err, latitude)
	}
}

func TestCoordinatesOffTheGlobeAreRejected(t *testing.T) {
	t.Parallel()
	reader := newRowReader(strings.NewReader(""))
	for _, latitude := range []string{"90.001", "-90.001", "", "N", "Inf", "-Inf", "NaN", "1.2.3", "north"} {
		_, err := reader.parsePoint(latitude, "0")
		require.EqualError(t, err, `latitude "`+latitude+`" is not a number between -90 and 90`)
	}
	for _, longitude := range []string{"360.001", "-360.001", "", "W", "Inf", "NaN"} {
		_, err := reader.parsePoint("0", longitude)
		require.EqualError(t, err, `longitude "`+longitude+`" is not a number between -360 and 360`)
	}
}

func TestDecimalsHaveAtMost24Characters(t *testing.T) {
	t.Parallel()
	reader := newRowReader(strings.NewReader(""))
	for field, good := range map[string]bool{
		"0": true, "-0.5": true, "+5": true, "6.4": true, strings.Repeat("1", 24): true,
		strings.Repeat("1", 25): false, "": false, ".": false, "1e3": false, "--1": false, "1.2.3": false, "0x1": false, " 1": false, "1,5": false,
	} {
		value, err := reader.parseDecimal("magnitude", field)
		require.Equal(t, good, err == nil, "%q", field)
		if good {
			require.Equal(t, strings.TrimPrefix(field, "+"), value.String())
			again, err := reader.parseDecimal("magnitude", field)
			require.NoError(t, err)
			require.Same(t, value, again, "equal values share memory")
			continue
		}
		require.EqualError(t, err, `magnitude "`+field+`" is not a decimal number`)
	}
}

func TestOnlyTheNumbersOfASourceMeanUnknown(t *testing.T) {
	t.Parallel()
	reader := newRowReader(strings.NewReader(""))
	for _, field := range []string{"", "-9999"} {
		value, err := reader.parseOptionalDecimal("wind", field, "-9999")
		require.NoError(t, err)
		require.Nil(t, value, "%q", field)
	}
	for _, field := range []string{"-999", "-9999.0", "0"} {
		value, err := reader.parseOptionalDecimal("wind", field, "-9999")
		require.NoError(t, err)
		require.NotNil(t, value, field)
	}
}

func TestTimesBefore1800AreTypingErrors(t *testing.T) {
	t.Parallel()
	reader := newRowReader(strings.NewReader(""))
	at, err := reader.parseTime("1800-01-01T01:00:00+01:00", time.RFC3339)
	require.NoError(t, err)
	require.Equal(t, time.Date(1800, 1, 1, 0, 0, 0, 0, time.UTC), at)
	_, err = reader.parseTime("1800-01-01T00:59:59+01:00", time.RFC3339)
	require.EqualError(t, err, `"1800-01-01T00:59:59+01:00" is before the year 1800`)
	at, err = reader.parseTime("2005-08-29", "20060102", time.DateOnly)
	require.NoError(t, err, "the second layout")
	require.Equal(t, 29, at.Day())
	_, err = reader.parseTime("29.8.2005", "20060102", time.DateOnly)
	require.EqualError(t, err, `"29.8.2005" is not a time of the form 20060102`)
}

// A quoted field may hold a comma, but no line break: one stray quote spoils one row.
func TestRowsAreLines(t *testing.T) {
	t.Parallel()
	reader := newRowReader(strings.NewReader("\ufeffNAME,value\n\n  \n\"a, b\" , 1 \nc,\"2\nd,3\nname,4"))
	var rows [][]string
	for reader.next("name") {
		rows = append(rows, append([]string{}, reader.fields...))
	}
	require.NoError(t, reader.readError())
	require.Equal(t, [][]string{{"d", "3"}}, rows[len(rows)-1:])
	require.Equal(t, 7, reader.line, "blank lines and column names count")
	require.Equal(t, RowError{Line: 5, Reason: "the quotes do not match"}, reader.rejected[len(reader.rejected)-1])
}

func TestRowsOfDaysKeepEachMeasurement(t *testing.T) {
	t.Parallel()
	stations, rejected, err := ParseGHCN(strings.NewReader("Seattle,2012-01-01,,,,4.5\nSeattle,2012-01-02,,,-2.8,\nSeattle,2012-01-03,,10.6\nSeattle,2012-01-04,0\n" +
		"Seattle,2012-01-05,-9999,-9999,-9999,-9999\nSeattle,2012-01-06,1,2,cold\nSeattle,2012-01-07,1,2,3,calm\n,2012-01-08,1\nSeattle,2012-01-09\n"))
	require.NoError(t, err)
	require.Equal(t, []string{
		"line 5: the day has no measurement", `line 6: lowest temperature "cold" is not a decimal number`, `line 7: wind "calm" is not a decimal number`,
		"line 8: a day has at least a location, a date and its precipitation", "line 9: a day has at least a location, a date and its precipitation",
	}, rejectionReasons(rejected))
	days := stations[0].Days
	require.Len(t, days, 4)
	require.Equal(t, "4.5", days[0].WindMS.String())
	require.Equal(t, "-2.8", days[1].LowestC.String())
	require.Equal(t, "10.6", days[2].HighestC.String())
	require.True(t, days[3].PrecipitationMM.IsZero(), "a dry day is measured")
	for i, day := range days {
		known := 0
		for _, value := range []any{day.WindMS != nil, day.LowestC != nil, day.HighestC != nil, day.PrecipitationMM != nil} {
			if value == true {
				known++
			}
		}
		require.Equal(t, 1, known, "day %d", i+1)
		require.False(t, day.Preliminary)
	}
}

func TestRowsOfEarthquakesHaveSixFields(t *testing.T) {
	t.Parallel()
	row := "1971-08-19T00:00:00Z,1,2,5.5,-1.5,a"
	for text, reason := range map[string]string{
		row: "", "Time,latitude\n" + row: "",
		row + ",extra":                        "line 1: an earthquake has 6 fields and an id, this row has 7 fields",
		strings.TrimSuffix(row, ",a"):         "line 1: an earthquake has 6 fields and an id, this row has 5 fields",
		strings.Replace(row, "5.5", "", 1):    `line 1: magnitude "" is not a decimal number`,
		strings.Replace(row, "1971", "", 1):   `line 1: "-08-19T00:00:00Z" is not a time of the form 2006-01-02T15:04:05.999999Z07:00`,
		strings.Replace(row, ",2,", ",w,", 1): `line 1: longitude "w" is not a number between -360 and 360`,
	} {
		quakes, rejected, err := ParseQuakes(strings.NewReader(text))
		require.NoError(t, err)
		if reason != "" {
			require.Equal(t, []string{reason}, rejectionReasons(rejected))
			require.Empty(t, quakes)
			continue
		}
		require.Empty(t, rejected)
		require.Equal(t, []string{"a", "5.5", "-1.5"}, []string{quakes[0].EventID, quakes[0].Magnitude.String(), quakes[0].DepthKM.String()})
	}
}
