package jobs

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"

	"parapet/jobs/feed"
	"parapet/jobs/fetch"
	"parapet/model/hazard"
	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// stormFile writes a storm of the last century in HURDAT2 format, with fixes six hours
// apart.
func stormFile(number, fixes int) string {
	var text strings.Builder
	fmt.Fprintf(&text, "AL%02d1999,            STORM,%d,\n", number, fixes)
	for i := range fixes {
		at := time.Date(1999, time.January, number, 6*i, 0, 0, 0, time.UTC)
		fmt.Fprintf(&text, "%s,%s, , TS, 20.0N, 40.0W, 45, 1000\n", at.Format("20060102"), at.Format("1504"))
	}
	return text.String()
}

func TestObserveKeepsTheGoodRowsOfABadFile(t *testing.T) {
	t.Parallel()
	week := feed.SampleUSGSWeek()
	cut, err := feed.ParseUSGS(bytes.NewReader(week[:400_000]))
	require.NoError(t, err)
	for name, test := range map[string]struct {
		source, file string
		created      int
		problem      string
		stopped      string
	}{
		"a quake feed that breaks off": {feed.SourceUSGS, string(week[:400_000]), len(cut.Observations), fmt.Sprintf("line %d: the file breaks off after feature", cut.Errors[0].Line), ""},
		"a page instead of a feed":     {feed.SourceUSGS, "<html>maintenance</html>", 0, "line 1: the file breaks off after feature 0: it is not JSON in UTF-8 from byte 1 on", ""},
		"a storm with a bad fix":       {feed.SourceNHC, strings.Replace(stormFile(1, 3), "45, 1000\n", "gale, 1000\n", 1), 2, "line 2: ", ""},
		"a day in words":               {feed.SourceGHCN, "location,date,precipitation,temp_max,temp_min,wind,weather\nSeattle,2012-01-01,0.0,12.8,5.0,4.7,drizzle\nSeattle,yesterday,0.0,12.8,5.0,4.7,rain\n", 1, "line 3: ", ""},
		"wind of no storm on earth":    {feed.SourceNHC, strings.Replace(stormFile(1, 3), "45, 1000\n", "450, 1000\n", 1), 2, "AL011999 /measures/wind/value: ", ""},
		"a line without end":           {feed.SourceNHC, stormFile(1, 3) + strings.Repeat("x", 1<<20), 3, "", "stopped after line 4"},
		"another source":               {"jma", "", 0, "", `no source "jma"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFixture(t)
			seen, err := IngestFile(t.Context(), s.Service, test.source, []byte(test.file))
			if test.stopped == "" {
				require.NoError(t, err)
				require.Len(t, seen.Problems, 1)
				require.Contains(t, seen.Problems[0], test.problem)
				require.Contains(t, seen.describeProblems(), "1 rows left out; the first: "+seen.Problems[0])
			} else {
				require.ErrorContains(t, err, test.stopped)
				require.Empty(t, seen.Problems)
				require.Empty(t, seen.describeProblems())
			}
			require.Equal(t, test.created, seen.Created)
			require.Equal(t, test.created, s.countRows("observations"))

			again, _ := IngestFile(t.Context(), s.Service, test.source, []byte(test.file))
			require.Equal(t, test.created, again.Unchanged)
			require.Len(t, again.Known, test.created)
			require.Zero(t, again.Created+again.Revised)
		})
	}
}

func TestBatchesNeverSplitAStorm(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ storms, want []int }{
		{nil, nil},
		{[]int{1}, []int{1}},
		{[]int{1000}, []int{1000}},
		{[]int{600, 600}, []int{600, 600}},
		{[]int{600, 400, 1}, []int{1000, 1}},
		{[]int{999, 2, 999}, []int{999, 2, 999}}, // two and 999 are one too many
		{[]int{2500}, []int{1000, 1000, 500}},
		{[]int{30, 2500, 30}, []int{30, 1000, 1000, 530}},
	} {
		var file []wire.ObservationInput
		for number, fixes := range test.storms {
			for range fixes {
				file = append(file, wire.ObservationInput{SourceEventID: fmt.Sprint("AL", number), Kind: hazard.StormFix, Stage: trigger.Final, Station: fmt.Sprint(len(file))})
			}
		}
		var sizes []int
		var joined []wire.ObservationInput
		for _, part := range splitIntoBatches(file) {
			sizes = append(sizes, len(part))
			joined = append(joined, part...)
		}
		require.Equal(t, test.want, sizes, "%v", test.storms)
		require.Equal(t, file, joined, "every row once, in order")
	}
}

func TestALongFileIsRecordedInBatches(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	file := stormFile(1, 600) + stormFile(2, 600) + stormFile(3, 300)
	seen, err := IngestFile(t.Context(), s.Service, feed.SourceNHC, []byte(file))
	require.NoError(t, err)
	require.Equal(t, IngestResult{Created: 1500}, seen)
	require.Equal(t, 3, s.countRows("occurrences"))
	require.Equal(t, 2, s.countRows("river.river_job where kind = 'evaluate_occurrences'"))
}

// feedSource is a feed on a local server with the behaviour of a test.
type feedSource struct {
	*httptest.Server

	answer atomic.Pointer[http.HandlerFunc]
	asked  atomic.Int32
}

func newSource(t *testing.T) *feedSource {
	t.Helper()
	s := &feedSource{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		(*s.answer.Load())(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *feedSource) setResponse(answer http.HandlerFunc) { s.answer.Store(&answer) }

// respondWithFile answers with the file, or with 304 to a client that has it.
func respondWithFile(file string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"one"`)
		w.Header().Set("Last-Modified", "Mon, 05 Feb 2018 00:00:00 GMT")
		if r.Header.Get("If-None-Match") == `"one"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write([]byte(file))
	}
}

func respondWithError(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
}

// pollFeedOnce runs a poll job once and returns the saved state of the address.
func (s *fixture) pollFeedOnce(from *feedSource, every time.Duration) (occurrence.FeedPoll, error) {
	s.t.Helper()
	return s.pollUntil(s.t.Context(), from, every)
}

// pollUntil is pollFeedOnce with a job whose time ends with ctx.
func (s *fixture) pollUntil(ctx context.Context, from *feedSource, every time.Duration) (occurrence.FeedPoll, error) {
	s.t.Helper()
	of := Feed{feed.SourceNHC, from.URL, every}
	worker := &pollFeed{service: s.Service, fetch: &fetch.Fetcher{Client: from.Client()}, feeds: []Feed{of}}
	err := worker.Work(ctx, &river.Job[PollFeed]{Args: of.pollJob()})
	var state occurrence.FeedPoll
	require.NoError(s.t, s.DB.Bun.NewSelect().Model(&state).Scan(context.WithoutCancel(ctx)))
	return state, err
}

func TestUnchangedFeedIsNotIngestedAgain(t *testing.T) {
	t.Parallel()
	s, from := newFixture(t), newSource(t)
	from.setResponse(respondWithFile(stormFile(1, 3)))
	state, err := s.pollFeedOnce(from, time.Minute)
	require.NoError(t, err)
	require.Equal(t, `"one"`, state.ETag)
	require.Equal(t, 3, s.countRows("observations"))
	require.Less(t, state.NextPollAt.Sub(state.PolledAt), time.Minute, "the next period must find it due")

	_, err = s.pollFeedOnce(from, time.Minute)
	require.NoError(t, err)
	require.EqualValues(t, 1, from.asked.Load(), "it is not due")

	s.AdvanceClock(time.Minute)
	again, err := s.pollFeedOnce(from, time.Minute)
	require.NoError(t, err)
	require.EqualValues(t, 2, from.asked.Load())
	require.Equal(t, state.ETag, again.ETag)
	require.Equal(t, state.LastModified, again.LastModified)
	require.True(t, again.PolledAt.After(state.PolledAt))
	require.Equal(t, 3, s.countRows("observations"))
}

func TestFailingFeedBacksOff(t *testing.T) {
	t.Parallel()
	s, from := newFixture(t), newSource(t)
	from.setResponse(respondWithError(http.StatusInternalServerError))
	for failures, wait := 1, 108*time.Second; failures <= 3; failures, wait = failures+1, 2*wait {
		state, err := s.pollFeedOnce(from, time.Minute)
		require.ErrorContains(t, err, "500")
		require.Equal(t, failures, state.Failures)
		require.Contains(t, state.LastError, "500 Internal Server Error")
		require.Equal(t, wait, state.NextPollAt.Sub(state.PolledAt), "the wait doubles")
		s.AdvanceClock(wait / 2)
		_, err = s.pollFeedOnce(from, time.Minute)
		require.NoError(t, err)
		require.EqualValues(t, failures, from.asked.Load(), "it is left alone")
		s.AdvanceClock(wait / 2)
	}
	from.setResponse(respondWithFile(stormFile(1, 3)))
	state, err := s.pollFeedOnce(from, time.Minute)
	require.NoError(t, err)
	require.Zero(t, state.Failures)
	require.Empty(t, state.LastError)
	require.Equal(t, 3, s.countRows("observations"))
}

// A source that answers too late must not be polled without a pause: the failure is saved
// although the time of the job is over.
func TestAFeedThatTakesTheJobsTimeHasFailed(t *testing.T) {
	t.Parallel()
	s, from := newFixture(t), newSource(t)
	ctx, end := context.WithCancel(t.Context())
	from.setResponse(func(_ http.ResponseWriter, r *http.Request) {
		end()
		<-r.Context().Done()
	})
	state, err := s.pollUntil(ctx, from, time.Minute)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, state.Failures)
	require.Greater(t, state.NextPollAt.Sub(state.PolledAt), time.Minute)
}

func TestWorkersPollTheirFeeds(t *testing.T) {
	t.Parallel()
	s, from := newFixture(t), newSource(t)
	from.setResponse(respondWithFile(stormFile(1, 3)))
	s.startWorkers(Feed{feed.SourceNHC, from.URL, time.Second})
	s.requireEventually(func() bool { return from.asked.Load() >= 3 }, "the feed is asked again and again")
	require.Equal(t, 3, s.countRows("observations"))
}

// A source's key stays in the settings: job arguments, saved failures, logs and operator
// output do not contain it. The feed has its own alarm, so its job is not discarded.
func TestFeedKeyIsNeverShown(t *testing.T) {
	t.Parallel()
	s, from := newFixture(t), newSource(t)
	from.Close()
	address := strings.Replace(from.URL, "//", "//me:sesame@", 1) + "/all?basin=al&key=sesame#sesame"
	s.startWorkers(Feed{feed.SourceNHC, address, time.Second}, Feed{feed.SourceNHC, address + "2", time.Second})
	s.requireEventually(func() bool { return s.countRows("feed_polls where failures > 0") == 2 }, "both feeds of the name are asked")
	s.requireEventually(func() bool {
		return s.countRows("river.river_job where kind = 'poll_feed' and state = 'cancelled'") > 0
	}, "the error has the cause")
	require.Zero(t, s.countRows("river.river_job where kind = 'poll_feed' and state = 'discarded'"))
	require.Zero(t, s.countRows("river.river_job as j where j::text like '%sesame%'"))
	require.Zero(t, s.countRows("feed_polls where last_error like '%sesame%'"))
	require.Contains(t, s.log.String(), from.URL+"/all: dial tcp")
	require.NotContains(t, s.log.String(), "sesame")
}

// A source that sent Retry-After is not polled earlier.
func TestAFeedMaySayWhenToComeBack(t *testing.T) {
	t.Parallel()
	s, from := newFixture(t), newSource(t)
	from.setResponse(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "900")
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	state, err := s.pollFeedOnce(from, time.Minute)
	require.ErrorContains(t, err, "503")
	require.Equal(t, 15*time.Minute, state.NextPollAt.Sub(state.PolledAt))
}

// TestNothingIsLostWhenAFileCannotBeRecorded removes the table: the tag is not saved, so
// the source sends the whole file again.
func TestNothingIsLostWhenAFileCannotBeRecorded(t *testing.T) {
	t.Parallel()
	s, from := newFixture(t), newSource(t)
	from.setResponse(respondWithFile(stormFile(1, 3)))
	s.execSQL("alter table observations rename to mislaid")
	state, err := s.pollFeedOnce(from, time.Minute)
	require.ErrorContains(t, err, "observations")
	require.Empty(t, state.ETag)
	require.Empty(t, state.LastModified)
	require.Equal(t, 1, state.Failures)
	require.Contains(t, state.LastError, "record final tracks of nhc")

	s.execSQL("alter table mislaid rename to observations")
	s.AdvanceClock(time.Minute)
	state, err = s.pollFeedOnce(from, time.Minute)
	require.NoError(t, err)
	require.Equal(t, `"one"`, state.ETag)
	require.Zero(t, state.Failures)
	require.Equal(t, 3, s.countRows("observations"))
}

// The problems of a file stay readable until the file changes.
func TestRejectedRowsAreRecorded(t *testing.T) {
	t.Parallel()
	s, from := newFixture(t), newSource(t)
	from.setResponse(respondWithFile(strings.Replace(stormFile(1, 3), "45, 1000\n", "gale, 1000\n", 1)))
	for range 2 {
		state, err := s.pollFeedOnce(from, time.Minute)
		require.NoError(t, err)
		require.Zero(t, state.Failures)
		require.Contains(t, state.LastError, "1 rows left out; the first: line 2: ")
		s.AdvanceClock(time.Minute)
	}
	require.EqualValues(t, 2, from.asked.Load())
	require.Equal(t, 2, s.countRows("observations"))
}

// quakeFeed is a feed with one earthquake of the last second.
func quakeFeed(b *modeltest.Bundle, status, kind string, updated int) []byte {
	return fmt.Appendf(nil, `{"type":"FeatureCollection","features":[{"type":"Feature","id":"us1","properties":{"mag":6.4,"time":%d,"updated":%d,`+
		`"status":%q,"type":%q,"ids":",us1,at1,","magType":"mww"},"geometry":{"type":"Point","coordinates":[121.653,24.174,10]}}]}`,
		b.Now().UnixMilli(), updated, status, kind)
}

func TestADeletedOrReclassifiedQuakeIsRetracted(t *testing.T) {
	t.Parallel()
	for name, gone := range map[string][2]string{"deleted": {"deleted", "earthquake"}, "no earthquake after all": {"reviewed", "explosion"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := modeltest.New(t)
			policy := b.QuoteAndBind("quake-circle", nil)
			b.AdvanceClock(time.Second)
			_, err := IngestFile(t.Context(), b.Service, feed.SourceUSGS, quakeFeed(b, "automatic", "earthquake", 1))
			require.NoError(t, err)
			b.RunJobs()
			require.Equal(t, "deferred", b.OnlyClaim(policy).Status)
			for _, retracted := range []int{1, 0} {
				seen, err := IngestFile(t.Context(), b.Service, feed.SourceUSGS, quakeFeed(b, gone[0], gone[1], 2))
				require.NoError(t, err)
				require.Equal(t, retracted, seen.Retracted)
				require.Empty(t, seen.Problems, "a name that was never recorded is no problem")
			}
			b.RunJobs()
			require.Equal(t, []string{"source_retracted"}, b.OnlyClaim(policy).Decision.ReasonCodes)
		})
	}
}

func TestAFileOfTracksRetractsPreliminaryFixes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file, stage string
	}{
		"whole":        {stormFile(1, 3), "retracted"},
		"a row is bad": {strings.Replace(stormFile(1, 3), "45, 1000\n", "gale, 1000\n", 1), "preliminary"},
		"breaks off":   {strings.Replace(stormFile(1, 3), "STORM,3", "STORM,4", 1), "preliminary"},
		"impossible":   {strings.Replace(stormFile(1, 3), "45, 1000\n", "450, 1000\n", 1), "preliminary"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFixture(t)
			fix := modeltest.Fix("AL011999", time.Date(1999, time.January, 1, 1, 0, 0, 0, time.UTC), hazard.Point{Latitude: 20, Longitude: -40}, "45")
			fix.Stage = trigger.Preliminary
			s.Observe(fix)
			_, err := IngestFile(t.Context(), s.Service, feed.SourceNHC, []byte(test.file))
			require.NoError(t, err)
			var stage string
			require.NoError(t, s.DB.Pool.QueryRow(t.Context(), "select stage from observations where occurred_at = $1", fix.OccurredAt).Scan(&stage))
			require.Equal(t, test.stage, stage)
		})
	}
}

func TestRepeatedRetractionIsCountedAsNothing(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	ingest := func(status string, updated int) IngestResult {
		seen, err := IngestFile(t.Context(), b.Service, feed.SourceUSGS, quakeFeed(b, status, "earthquake", updated))
		require.NoError(t, err)
		return seen
	}
	ingest("automatic", 1)
	require.Equal(t, IngestResult{Retracted: 1}, ingest("deleted", 2))
	require.Equal(t, IngestResult{}, ingest("deleted", 2))
}
