package portfolio

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWeeklyBucketsBeginOnMonday(t *testing.T) {
	t.Parallel()
	for day, monday := range map[string]string{
		"2026-11-23": "2026-11-23", "2026-11-24": "2026-11-23", "2026-11-29": "2026-11-23", // Monday, Tuesday, Sunday
		"2027-01-01": "2026-12-28", "2027-03-01": "2027-03-01",
	} {
		at, err := time.Parse(time.DateOnly, day)
		require.NoError(t, err)
		require.Equal(t, monday, Weekly.bucketStart(at.Add(time.Hour)).Format(time.DateOnly), day)
	}
}

func TestLongestPortfolioIsFiveYearsWithTwoLeapDays(t *testing.T) {
	t.Parallel()
	begin := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC) // 2020 and 2024 are leap years
	require.Equal(t, MaxPortfolioSpan, begin.AddDate(5, 0, 0).Sub(begin))
}
