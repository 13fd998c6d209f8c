package pricing

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
)

func day(text string) time.Time {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return at
}

// TestSeasonContainsItsFirstAndItsLastDay looks at the days on both sides of both ends,
// in a year that is not the cover's.
func TestSeasonContainsItsFirstAndItsLastDay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		start, term string
		inside, out []string
	}{
		"within a year": {
			"2030-03-01T00:00:00Z", "P30D",
			[]string{"1999-03-01T00:00:00Z", "1999-03-30T00:00:00Z", "1999-03-30T23:59:59Z"},
			[]string{"1999-02-28T23:59:59Z", "1999-03-31T00:00:00Z", "1999-12-31T12:00:00Z", "1999-01-01T12:00:00Z"},
		},
		"from the middle of a day": {
			"2030-03-01T18:00:00Z", "P30D",
			[]string{"1999-03-01T00:00:00Z", "1999-03-30T23:59:59Z"},
			[]string{"1999-02-28T23:59:59Z", "1999-03-31T00:00:00Z"},
		},
		"over new year": {
			"2030-12-15T00:00:00Z", "P31D",
			[]string{"1999-12-15T00:00:00Z", "1999-12-31T23:59:59Z", "1999-01-01T00:00:00Z", "1999-01-14T23:59:59Z"},
			[]string{"1999-12-14T23:59:59Z", "1999-01-15T00:00:00Z", "1999-07-01T00:00:00Z"},
		},
		"shorter than a day": {
			"2030-03-01T06:00:00Z", "PT6H",
			[]string{"1999-03-01T00:00:00Z", "1999-03-01T23:59:59Z"},
			[]string{"1999-02-28T23:59:59Z", "1999-03-02T00:00:00Z"},
		},
	} {
		s, err := seasonOf(day(c.start), c.term)
		require.NoError(t, err, name)
		for _, at := range c.inside {
			require.True(t, s.contains(day(at)), "%s contains %s", name, at)
		}
		for _, at := range c.out {
			require.False(t, s.contains(day(at)), "%s does not contain %s", name, at)
		}
	}
}

// TestSeasonCoversEveryYearWithItsLastDay looks at the periods that past events are
// judged in: half-open, so the end is the day after the last one.
func TestSeasonCoversEveryYearWithItsLastDay(t *testing.T) {
	t.Parallel()
	data := hazard.Dataset{FirstYear: 1999, LastYear: 2000}
	s, err := seasonOf(day("2030-03-01T10:00:00Z"), "P30D")
	require.NoError(t, err)
	periods := s.covers(data)
	require.Len(t, periods, 2)
	require.Equal(t, day("1999-03-01T00:00:00Z"), periods[0].From)
	require.True(t, periods[0].Contains(day("1999-03-30T23:59:59Z")), "the last day counts")
	require.False(t, periods[0].Contains(day("1999-03-31T00:00:00Z")))
	require.Equal(t, &Season{From: "03-01", To: "03-31"}, s.public())

	s, err = seasonOf(day("2030-12-15T00:00:00Z"), "P31D")
	require.NoError(t, err)
	periods = s.covers(data)
	require.Len(t, periods, 3, "the first January is judged too")
	require.True(t, periods[0].Contains(day("1999-01-14T23:59:59Z")))
	require.True(t, periods[2].Contains(day("2001-01-14T23:59:59Z")))
	require.False(t, periods[2].Contains(day("2001-01-15T00:00:00Z")))
}

func TestTermOfAYearHasNoSeason(t *testing.T) {
	t.Parallel()
	for term, none := range map[string]bool{"P364D": false, "P365D": true, "P366D": true} {
		s, err := seasonOf(day("2030-03-01T00:00:00Z"), term)
		require.NoError(t, err)
		require.Equal(t, none, s == nil, term)
	}
	require.True(t, (*season)(nil).contains(day("1999-03-01T00:00:00Z")))
}
