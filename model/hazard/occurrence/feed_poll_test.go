package occurrence_test

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
)

func TestReplayIsRepeatedWithoutNamingItsEvent(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	replay := func(event string) error {
		_, _, err := b.Service.Occurrences.ReplayShift(t.Context(), "usgs", "digest", event, func(time.Time) (time.Duration, error) { return time.Hour, nil })
		return err
	}
	require.NoError(t, replay("us1"))
	require.NoError(t, replay(""))
	require.NoError(t, replay("us1"))
	require.Equal(t, apperr.CodeStateConflict, apperr.CodeOf(replay("us2")))
}

func TestProductionReplaysIntoRehearsalDatabasesOnly(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.InProduction())
	replay := func() error {
		_, _, err := b.Service.Occurrences.ReplayShift(t.Context(), "usgs", "digest", "us1", func(time.Time) (time.Duration, error) { return time.Hour, nil })
		return err
	}
	require.Equal(t, apperr.CodeStateConflict, apperr.CodeOf(replay()))
	modeltest.ExecSQL(t, b, "update clock set is_rehearsal = true")
	require.NoError(t, replay())
}

func TestFeedAddressIsDueAgainAfterItsWait(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	feeds, address := b.Service.Occurrences, "https://feeds.test/quakes"
	due := func(source, url string) *occurrence.FeedPoll {
		poll, err := feeds.LoadDuePoll(t.Context(), source, url)
		require.NoError(t, err)
		return poll
	}
	first := due("usgs", address)
	require.Equal(t, &occurrence.FeedPoll{Source: "usgs", URL: address}, first, "a new address is due")
	first.ETag, first.LastModified, first.Failures, first.LastError = "v1", "Mon", 2, "no route"
	before := b.Now()
	require.NoError(t, feeds.SavePoll(t.Context(), *first, time.Hour))
	require.Nil(t, due("usgs", address))
	require.NotNil(t, due("usgs", address+"2"))
	require.NotNil(t, due("emsc", address))
	b.AdvanceClock(time.Hour - time.Minute)
	require.Nil(t, due("usgs", address))
	b.AdvanceClock(time.Minute)
	saved := due("usgs", address)
	require.Equal(t, time.Hour, saved.NextPollAt.Sub(saved.PolledAt))
	require.WithinRange(t, saved.PolledAt, before, before.Add(time.Minute))
	require.Equal(t, []any{"v1", "Mon", 2, "no route"}, []any{saved.ETag, saved.LastModified, saved.Failures, saved.LastError})

	require.NoError(t, feeds.SavePoll(t.Context(), occurrence.FeedPoll{Source: "usgs", URL: address}, time.Minute))
	b.AdvanceClock(time.Minute)
	again := due("usgs", address)
	require.Equal(t, []any{"", "", 0, ""}, []any{again.ETag, again.LastModified, again.Failures, again.LastError}, "a success clears what failed")
	require.True(t, again.PolledAt.After(saved.PolledAt))
	require.Equal(t, time.Minute, again.NextPollAt.Sub(again.PolledAt))
}

func TestReplayKeepsTheShiftAndTimeOfTheFirstRun(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	found := 0
	replay := func(source, digest string, shift time.Duration) (time.Duration, time.Time) {
		kept, now, err := b.Service.Occurrences.ReplayShift(t.Context(), source, digest, "us1", func(at time.Time) (time.Duration, error) {
			found++
			require.WithinDuration(t, b.Now(), at, time.Minute)
			return shift, nil
		})
		require.NoError(t, err)
		return kept, now
	}
	_, _, err := b.Service.Occurrences.ReplayShift(t.Context(), "usgs", "file", "us1", func(time.Time) (time.Duration, error) { return 0, errors.New("no such event") })
	require.ErrorContains(t, err, "no such event")
	shift := 36*time.Hour + 5*time.Microsecond
	kept, first := replay("usgs", "file", shift)
	require.Equal(t, shift, kept, "a replay that failed left nothing")
	b.AdvanceClock(48 * time.Hour)
	again, at := replay("usgs", "file", time.Hour)
	require.Equal(t, shift, again)
	require.True(t, first.Equal(at))
	require.Equal(t, 1, found, "the shift was stored")
	other, at := replay("usgs", "file2", time.Hour)
	require.Equal(t, time.Hour, other, "another file has its own shift")
	require.True(t, at.After(first))
	other, _ = replay("emsc", "file", time.Hour)
	require.Equal(t, time.Hour, other)
}

func TestConcurrentReplaysOfOneFileUseOneShift(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	const runs = 6
	var running sync.WaitGroup
	var computed atomic.Int64
	shifts, failures := make([]time.Duration, runs), make([]error, runs)
	for i := range runs {
		running.Go(func() {
			shifts[i], _, failures[i] = b.Service.Occurrences.ReplayShift(t.Context(), "usgs", "file", "us1", func(time.Time) (time.Duration, error) {
				return time.Duration(computed.Add(1)) * time.Hour, nil
			})
		})
	}
	running.Wait()
	require.Equal(t, slices.Repeat([]error{nil}, runs), failures)
	require.Equal(t, slices.Repeat([]time.Duration{time.Hour}, runs), shifts)
}
