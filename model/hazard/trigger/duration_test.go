package trigger

import (
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAddDuration(t *testing.T) {
	t.Parallel()
	taipei := time.FixedZone("CST", 8*3600)
	tests := []struct {
		from time.Time
		iso  string
		want time.Time
	}{
		{utcDate(2023, 3, 1), "P365D", utcDate(2024, 2, 29)},
		{utcDate(2023, 3, 1), "P1Y", utcDate(2024, 3, 1)},
		{utcDate(2024, 2, 29), "P1Y", utcDate(2025, 2, 28)},
		{utcDate(2024, 1, 31), "P1M", utcDate(2024, 2, 29)},
		{utcDate(2023, 10, 31), "P4M", utcDate(2024, 2, 29)},
		{utcDate(2024, 1, 31), "P1M1D", utcDate(2024, 3, 1)},
		{utcDate(2024, 1, 1), "P1Y2M1W3DT4H5M6S", time.Date(2025, 3, 11, 4, 5, 6, 0, time.UTC)},
		{utcDate(2024, 1, 1), "P2W", utcDate(2024, 1, 15)},
		{utcDate(2024, 1, 1), "PT36H", time.Date(2024, 1, 2, 12, 0, 0, 0, time.UTC)},
		{utcDate(2024, 1, 1), "PT90M", time.Date(2024, 1, 1, 1, 30, 0, 0, time.UTC)},
		{utcDate(2024, 1, 1), "P0D", utcDate(2024, 1, 1)},
		{time.Date(2024, 1, 31, 4, 0, 0, 0, taipei), "P1M", time.Date(2024, 2, 29, 20, 0, 0, 0, time.UTC)},
	}
	for _, test := range tests {
		t.Run(test.iso, func(t *testing.T) {
			t.Parallel()
			got, err := AddDuration(test.from, test.iso)
			require.NoError(t, err)
			require.Equal(t, test.want, got)
		})
	}
	for _, iso := range []string{"", "P", "PT", "P1DT", "365D", "-P1D", "P-1D", "P1.5D", "P1H", "P1D1Y", "p1d", "P1D ", "P1234567D", "P9000Y"} {
		_, err := AddDuration(utcDate(2024, 1, 1), iso)
		require.Error(t, err, iso)
	}
}

// durationPattern is the grammar of durations: see ParseDuration.
var durationPattern = regexp.MustCompile(
	`^P(?:(\d{1,6})Y)?(?:(\d{1,6})M)?(?:(\d{1,6})W)?(?:(\d{1,6})D)?` +
		`(?:T(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,6})S)?)?$`)

func FuzzParseDurationAcceptsItsGrammar(f *testing.F) {
	for _, iso := range []string{"P365D", "P1Y2M1W3DT4H5M6S", "PT1H", "P", "PT", "P1DT", "PP1D", "P1DT1HT1M", "P1M1Y", "P1D1D", "P0000001D", "P1", "PTT", "P1H", "PT1D", "T1H", ""} {
		f.Add(iso)
	}
	f.Fuzz(func(t *testing.T, iso string) {
		_, err := ParseDuration(iso)
		want := durationPattern.MatchString(iso) && iso[len(iso)-1] != 'P' && iso[len(iso)-1] != 'T'
		require.Equal(t, want, err == nil, iso)
	})
}

func TestCoverTimes(t *testing.T) {
	t.Parallel()
	start := utcDate(2024, 1, 1)
	cover := Cover{Term: "P30D", WaitingPeriod: "P3D", ReportingWindow: "P1M"}
	period := cover.Period(start)
	require.Equal(t, Period{From: start, To: utcDate(2024, 1, 31)}, period)
	require.True(t, period.Contains(start))
	require.False(t, period.Contains(period.To))
	require.Equal(t, utcDate(2024, 1, 4), cover.PayableFrom(start))
	require.Equal(t, utcDate(2024, 2, 29), cover.ReportableUntil(period.To))

	require.Equal(t, start, Cover{Term: "P30D"}.PayableFrom(start))
	require.Equal(t, period.To, Cover{}.ReportableUntil(period.To))
	broken := Cover{Term: "soon", WaitingPeriod: "later"}
	require.False(t, broken.Period(start).Contains(start))
	require.Equal(t, start, broken.PayableFrom(start))
}
