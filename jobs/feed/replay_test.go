package feed_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/jobs/feed"
	"parapet/model/hazard"
	"parapet/model/wire"
)

var now = time.Date(2026, 3, 4, 5, 6, 7, 8_900, time.UTC)

func TestReplayOfHualien(t *testing.T) {
	t.Parallel()
	batch := sampleWeek(t)
	original := findObservation(t, batch, "us1000chhc").OccurredAt
	shifted, left, shift, err := feed.Replay(batch.Observations, "us1000chhc", now)
	require.NoError(t, err)
	require.Equal(t, 1679, len(shifted)+left)
	require.Positive(t, left, "the event is 9.6 hours before the file's last row")

	replayed := findObservation(t, feed.Batch{Observations: shifted}, "us1000chhc")
	require.Equal(t, now.Truncate(time.Microsecond), replayed.OccurredAt)
	require.Equal(t, original, *replayed.ReplayedFrom)
	for _, o := range shifted {
		require.Equal(t, shift, o.OccurredAt.Sub(*o.ReplayedFrom), "spacing is kept")
		require.False(t, o.OccurredAt.After(now))
	}
	require.Nil(t, findObservation(t, batch, "us1000chhc").ReplayedFrom, "what was given stays as it is")

	again, leftAgain := feed.Shift(batch.Observations, shift, now)
	require.Equal(t, shifted, again)
	require.Equal(t, left, leftAgain)
	later, none := feed.Shift(batch.Observations, shift, now.Add(10*time.Hour))
	require.Len(t, later, 1679, "as time passes the rest happens too")
	require.Zero(t, none)
}

func TestReplayOfTheLastEvent(t *testing.T) {
	t.Parallel()
	batch := sampleWeek(t)
	shifted, left, _, err := feed.Replay(batch.Observations, "", now)
	require.NoError(t, err)
	require.Zero(t, left)
	require.Len(t, shifted, 1679)
}

func TestReplayByAliasAndOfAStorm(t *testing.T) {
	t.Parallel()
	day := func(n int) time.Time { return time.Date(2020, 1, n, 0, 0, 0, 0, time.UTC) }
	rows := []wire.ObservationInput{
		{SourceEventID: "AL1", Kind: hazard.StormFix, OccurredAt: day(1), Aliases: []string{"IDA"}},
		{SourceEventID: "AL1", Kind: hazard.StormFix, OccurredAt: day(3), Aliases: []string{"IDA"}},
		{SourceEventID: "AL2", Kind: hazard.StormFix, OccurredAt: day(4)},
	}
	shifted, left, shift, err := feed.Replay(rows, "IDA", now)
	require.NoError(t, err)
	require.Equal(t, 1, left)
	require.Equal(t, now.Truncate(time.Microsecond), shifted[1].OccurredAt, "the storm ends now")
	require.Equal(t, now.Truncate(time.Microsecond).Sub(day(3)), shift)
}

func TestReplayOfDaysMovesWholeDays(t *testing.T) {
	t.Parallel()
	batch, err := feed.ParseGHCN(shippedFile(t, "testdata/ghcn-daily-seattle-newyork-2012-2015.csv"))
	require.NoError(t, err)
	shifted, left, shift, err := feed.Replay(batch.Observations, "Seattle/2012-01-02", now)
	require.NoError(t, err)
	require.Zero(t, shift%(24*time.Hour))
	require.Len(t, shifted, 4, "two days at two stations are not in the future")
	require.Equal(t, len(batch.Observations)-4, left)
	today := findObservation(t, feed.Batch{Observations: shifted}, "Seattle/2026-03-04")
	require.Equal(t, time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC), today.OccurredAt)
	require.Equal(t, "10.9", today.Measures["precipitation"].Value)
	require.Equal(t, time.Date(2012, 1, 2, 0, 0, 0, 0, time.UTC), *today.ReplayedFrom)
}

func TestReplayOfNothing(t *testing.T) {
	t.Parallel()
	_, _, _, err := feed.Replay(nil, "", now)
	require.ErrorContains(t, err, "no good rows")
	_, _, _, err = feed.Replay(sampleWeek(t).Observations, "us9", now)
	require.ErrorContains(t, err, `no event "us9"`)
	_, _, _, err = feed.Replay([]wire.ObservationInput{{SourceEventID: "old", OccurredAt: time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)}}, "", now)
	require.ErrorContains(t, err, "too long ago")
}
