package jobs

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"
	"riverqueue.com/riverui"

	"parapet/jobs/feed"
	"parapet/jobs/rail"
	"parapet/model/modeltest"
	"parapet/model/money"
)

func TestFailingPassIsRepeatedEverySecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began, failures := time.Now(), 2
		var at []time.Duration
		loops := &backgroundLoops{log: slog.New(slog.DiscardHandler)}
		loops.repeatPass(ctx, "test", nil, func(context.Context) (time.Duration, error) {
			if at = append(at, time.Since(began)); len(at) == 4 {
				cancel()
			}
			if len(at) <= failures {
				return 0, errors.New("no database")
			}
			return maxIdleInterval, nil
		})
		require.Equal(t, []time.Duration{0, errorInterval, 2 * errorInterval, 2*errorInterval + maxIdleInterval}, at)
	})
}

// paymentFiles is a rail that pays through files.
type paymentFiles struct{ rail.Rail }

func (*paymentFiles) WriteDueFiles(context.Context, rail.PermitSource) error { return nil }

func TestFilesAreWrittenPeriodicallyForRailsThatPayThroughThem(t *testing.T) {
	t.Parallel()
	calls, files := Config{FileInterval: time.Minute}, Config{Rail: &paymentFiles{}, FileInterval: time.Minute}
	require.Len(t, files.periodicJobs(), len(calls.periodicJobs())+1)
}

func TestCancelledJobLogsItsCauseOnly(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	middleware := &jobLogger{log: slog.New(slog.NewJSONHandler(&out, nil))}
	cancelled := river.JobCancel(errors.New("the payout is unknown"))
	err := middleware.Work(t.Context(), &rivertype.JobRow{ID: 7, Kind: "release_payout"}, func(context.Context) error { return cancelled })
	require.Equal(t, cancelled, err)
	require.Contains(t, out.String(), `"error":"the payout is unknown"`)
}

func TestRiverUIHasSecurityHeaders(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	queue, err := NewQueue(s.pool)
	require.NoError(t, err)
	handler, err := riverui.NewHandler(&riverui.HandlerOpts{Endpoints: riverui.NewEndpoints(queue.client, nil), Logger: slog.New(slog.DiscardHandler), Prefix: "/ops/jobs"})
	require.NoError(t, err)
	answer := httptest.NewRecorder()
	(&RiverUI{handler}).ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/ops/jobs/", http.NoBody))
	require.Equal(t, http.StatusOK, answer.Code)
	for name, value := range map[string]string{
		"Content-Security-Policy": riverUISecurityPolicy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin",
	} {
		require.Equal(t, value, answer.Header().Get(name), name)
	}
}

func TestSimulatorReportsOnlyTheTransfersOfTheDay(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	transfers := NewSimulatorStore(s.pool)
	_, err := transfers.Record(t.Context(), rail.SimulatedTransfer{Key: "pay_1.1", PayoutID: "pay_1", Amount: money.New(1, "JPY"), Outcome: rail.Accepted})
	require.NoError(t, err)
	var day time.Time
	require.NoError(t, s.pool.QueryRow(t.Context(), "select date_trunc('day', created_at at time zone 'UTC') at time zone 'UTC' from simulator_transfers").Scan(&day))
	for after, count := range map[int]int{-1: 0, 0: 1, 1: 0} {
		found, err := transfers.ListDay(t.Context(), day.UTC().AddDate(0, 0, after))
		require.NoError(t, err)
		require.Len(t, found, count, "%d days after", after)
	}
}

func TestRailWithoutMissingPayoutsRaisesNoAlarm(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	var out bytes.Buffer
	fetch := &fetchReports{service: s.Service, rail: s.rail, log: slog.New(slog.NewTextHandler(&out, nil))}
	require.NoError(t, fetch.findMissing(t.Context()))
	require.Empty(t, out.String())
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

func TestOtherPartnersAreMovedAheadOncePerInterval(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	at := s.Now()
	w := &releasePayout{service: s.Service, log: slog.New(slog.DiscardHandler), now: func() time.Time { return at }}
	w.advanceOthers(t.Context(), "acme")
	first := at.UnixNano()
	require.Equal(t, first, w.advancedAt.Load())
	at = at.Add(advanceInterval - 1)
	w.advanceOthers(t.Context(), "acme")
	require.Equal(t, first, w.advancedAt.Load())
	at = at.Add(1)
	w.advanceOthers(t.Context(), "acme")
	require.Equal(t, at.UnixNano(), w.advancedAt.Load())
}

func TestFileOfAnotherRailHasNoOrders(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	files, _ := s.writtenFiles()
	require.NoError(t, s.runReleaseWith(files, s.createPendingPayouts(1)[0]))
	require.NoError(t, files.OrderStore.AssignToFiles(t.Context(), files.Name(), 10, 5_000_000))
	unwritten, err := files.OrderStore.ListUnwritten(t.Context(), files.Name())
	require.NoError(t, err)
	require.Len(t, unwritten, 1)
	for name, count := range map[string]int{files.Name(): 1, "another": 0} {
		orders, err := files.OrderStore.FileOrders(t.Context(), name, unwritten[0].ID)
		require.NoError(t, err)
		require.Len(t, orders, count, name)
	}
}
