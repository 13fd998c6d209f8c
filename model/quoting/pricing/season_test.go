package pricing

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard/trigger"
)

func parseDay(text string) time.Time {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return at
}

// TestSeasonContainsItsFirstAndItsLastDay checks the days on both sides of both ends,
// in a year other than the cover's.
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
	} {
		s, err := seasonForTerm(parseDay(c.start), c.term)
		require.NoError(t, err, name)
		for _, at := range c.inside {
			require.True(t, s.contains(parseDay(at)), "%s contains %s", name, at)
		}
		for _, at := range c.out {
			require.False(t, s.contains(parseDay(at)), "%s does not contain %s", name, at)
		}
	}
}

// TestSeasonHasPeriodForEachYearOfEvent checks the periods that evaluate past events:
// half-open, so the end is the day after the last one.
func TestSeasonHasPeriodForEachYearOfEvent(t *testing.T) {
	t.Parallel()
	s, err := seasonForTerm(parseDay("2030-03-01T10:00:00Z"), "P30D")
	require.NoError(t, err)
	require.Equal(t, &Season{From: "03-01", To: "03-31"}, s.toBasis())
	require.Equal(t, []trigger.Period{{From: parseDay("1999-03-01T00:00:00Z"), To: parseDay("1999-03-31T00:00:00Z")}},
		s.periodsBetween(parseDay("1999-02-20T00:00:00Z"), parseDay("1999-03-01T00:00:00Z")))
	require.Empty(t, s.periodsBetween(parseDay("1999-02-20T00:00:00Z"), parseDay("1999-02-28T23:59:59Z")))
	require.Empty(t, s.periodsBetween(parseDay("1999-03-31T00:00:00Z"), parseDay("1999-04-28T23:59:59Z")))

	s, err = seasonForTerm(parseDay("2030-12-15T00:00:00Z"), "P31D")
	require.NoError(t, err)
	winter := trigger.Period{From: parseDay("1998-12-15T00:00:00Z"), To: parseDay("1999-01-15T00:00:00Z")}
	for _, at := range []string{"1998-12-31T00:00:00Z", "1999-01-01T00:00:00Z", "1999-01-14T23:59:59Z"} {
		require.Equal(t, []trigger.Period{winter}, s.periodsBetween(parseDay(at), parseDay(at)), at)
	}
	require.Len(t, s.periodsBetween(parseDay("1999-01-10T00:00:00Z"), parseDay("1999-12-20T00:00:00Z")), 2, "two winters")
	require.Equal(t, []trigger.Period{entireHistory}, (*seasonWindow)(nil).periodsBetween(parseDay("1998-12-31T00:00:00Z"), parseDay("1999-01-01T00:00:00Z")))
}

// TestSeasonOfBasisRoundTrips parses the season that a quote shows.
func TestSeasonOfBasisRoundTrips(t *testing.T) {
	t.Parallel()
	for start := parseDay("2027-01-01T05:00:00Z"); start.Year() < 2029; start = start.AddDate(0, 0, 1) {
		for _, term := range []string{"P1D", "P90D", "P364D"} {
			s, err := seasonForTerm(start, term)
			require.NoError(t, err)
			again, err := s.toBasis().parse()
			require.NoError(t, err)
			for _, year := range []int{1999, 2000, 2001} {
				first := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
				require.Equal(t, s.periodsBetween(first, first.AddDate(1, 0, 0)), again.periodsBetween(first, first.AddDate(1, 0, 0)), "%s %s", start, term)
			}
			for at := parseDay("2000-02-25T00:00:00Z"); at.Month() < 4; at = at.AddDate(0, 0, 1) {
				require.Equal(t, s.contains(at), again.contains(at), "%s %s %s", start, term, at)
			}
		}
	}
	for _, broken := range []*Season{{From: "13-01", To: "01-01"}, {From: "01-01", To: "02-30"}} {
		_, err := broken.parse()
		require.Error(t, err)
	}
}

func TestSeasonIsAPartOfTheYear(t *testing.T) {
	t.Parallel()
	for term, want := range map[string]string{"P1D": "1/365", "P73D": "1/5", "P364D": "364/365", "P365D": "1/1", "P366D": "1/1"} {
		s, err := seasonForTerm(parseDay("2030-03-01T00:00:00Z"), term)
		require.NoError(t, err)
		require.Equal(t, want, s.yearShare().String(), term)
	}
}

func TestTermOfAYearHasNoSeason(t *testing.T) {
	t.Parallel()
	for term, none := range map[string]bool{"P364D": false, "P365D": true, "P366D": true} {
		s, err := seasonForTerm(parseDay("2030-03-01T00:00:00Z"), term)
		require.NoError(t, err)
		require.Equal(t, none, s == nil, term)
	}
	require.True(t, (*seasonWindow)(nil).contains(parseDay("1999-03-01T00:00:00Z")))
}
