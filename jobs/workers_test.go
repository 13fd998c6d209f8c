package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"

	"parapet/jobs/feed"
	"parapet/jobs/rail"
	"parapet/model/claims/adjudication"
	"parapet/model/payouts"
)

// jobKinds reads the kinds of job that a package's source declares.
func jobKinds(t *testing.T, folder string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(folder, func(name string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv != nil && f.Name.Name == "Kind" {
				kind, err := strconv.Unquote(f.Body.List[0].(*ast.ReturnStmt).Results[0].(*ast.BasicLit).Value)
				require.NoError(t, err)
				found = append(found, kind)
			}
		}
		return nil
	})
	require.NoError(t, err)
	return found
}

// anyJob is a job of any kind, without arguments.
type anyJob struct{ kind string }

func (j anyJob) Kind() string { return j.kind }

func TestEveryKindHasAPolicyAQueueAndAWorker(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	declared := slices.Sorted(slices.Values(slices.Concat(jobKinds(t, "../model"), jobKinds(t, "."))))
	require.NotEmpty(t, declared)
	require.Equal(t, declared, slices.Sorted(maps.Keys(insertOptions)), "each kind of job has its policy, and each policy its kind")

	workers, err := NewWorkers(Config{Pool: s.pool, Service: s.Service, Rail: s.rail, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	tx, err := s.pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, tx.Rollback(t.Context())) }()
	for _, kind := range declared {
		policy := optionsOf(kind)
		require.Contains(t, queues, policy.Queue, kind)
		require.Positive(t, policy.MaxAttempts, kind)
		_, err := workers.client.InsertTx(t.Context(), tx, anyJob{kind}, policy)
		require.NoError(t, err, "river knows whether a worker is there")
	}
	var unknown *river.UnknownJobKindError
	_, err = workers.client.InsertTx(t.Context(), tx, anyJob{"unknown"}, nil)
	require.ErrorAs(t, err, &unknown)
	require.Panics(t, func() { optionsOf("unknown") })
}

// A worker that is presumed dead must have ended, because its job is worked again. A call
// must end while its outcome can still be recorded.
func TestTimeoutsAreNested(t *testing.T) {
	t.Parallel()
	require.Greater(t, rescueAfter, jobTimeout)
	require.GreaterOrEqual(t, jobTimeout, 2*railTimeout)
	require.GreaterOrEqual(t, payouts.ReleaseLease, railTimeout+10*time.Second)
	require.GreaterOrEqual(t, jobTimeout, 2*fetchTimeout)
	require.Less(t, saveTimeout, rescueAfter-jobTimeout, "even what is kept after the job's time ended")
	require.LessOrEqual(t, jobTimeout, 45*time.Second)
	require.LessOrEqual(t, railTimeout, 20*time.Second)
	require.GreaterOrEqual(t, groupTime, railTimeout+saveTimeout)
	require.Less(t, groupTime, jobTimeout, "a job may begin a group")
}

func TestFeedsArePolledPeriodically(t *testing.T) {
	t.Parallel()
	none, two := Config{}, Config{Feeds: []Feed{{feed.SourceUSGS, "http://a", time.Minute}, {feed.SourceNHC, "http://b", time.Hour}}}
	require.Len(t, two.periodicJobs(), len(none.periodicJobs())+2)
}

func TestSecondMatchingPassWaitsForFirst(t *testing.T) {
	t.Parallel()
	var snooze *rivertype.JobSnoozeError
	require.ErrorAs(t, snoozeIfPending(fmt.Errorf("match: %w", adjudication.ErrBarrierPending)), &snooze)
	require.Equal(t, time.Second, snooze.Duration)
	failed := errors.New("failed")
	require.Equal(t, failed, snoozeIfPending(failed))
	require.NoError(t, snoozeIfPending(nil))
}

func TestEachJobAttemptLogsOneLine(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind  string
		ended error
		says  []string
	}{
		{"release_payout", nil, []string{`"level":"INFO"`, `"msg":"job"`}},
		{"sweep", nil, []string{`"level":"DEBUG"`, `"msg":"job"`}},
		{"poll_feed", nil, []string{`"level":"DEBUG"`, `"msg":"job"`}},
		{"release_payout", river.JobSnooze(5 * time.Second), []string{`"level":"INFO"`, `"msg":"job snoozed"`, `"for":5000000000`}},
		{"sweep", errors.New("no database"), []string{`"level":"ERROR"`, `"msg":"job failed"`, `"error":"no database"`}},
	} {
		t.Run(fmt.Sprintf("%s %v", test.kind, test.ended), func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			middleware := &jobLogger{log: slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))}
			err := middleware.Work(t.Context(), &rivertype.JobRow{ID: 7, Kind: test.kind, Attempt: 2}, func(context.Context) error { return test.ended })
			require.Equal(t, test.ended, err, "the log changes nothing")
			require.Equal(t, 1, strings.Count(out.String(), "\n"))
			for _, part := range append(test.says, `"kind":"`+test.kind+`"`, `"job":7`, `"attempt":2`, `"took":`) {
				require.Contains(t, out.String(), part)
			}
		})
	}
}

// TestStopWaitsForRunningJobs stops workers in the middle of a call to the rail: the call
// ends and its outcome is saved.
func TestStopWaitsForRunningJobs(t *testing.T) {
	t.Parallel()
	called, answer := make(chan struct{}), make(chan struct{})
	s := newFixtureWith(t, func(ctx context.Context, _ time.Duration) error {
		close(called)
		<-answer
		return ctx.Err()
	})
	claim, _ := s.createPendingPayout(numberFor(rail.Slow))
	workers := s.startWorkers()
	<-called

	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, workers.Stop(impatient), context.Canceled, "it waits no longer than it may")
	require.Equal(t, "releasing", s.onlyPayout(claim).Status)
	stopped := make(chan error, 1)
	go func() { stopped <- workers.Stop(context.WithoutCancel(t.Context())) }()
	close(answer)
	require.NoError(t, <-stopped)
	require.Equal(t, "released", s.onlyPayout(claim).Status)
	require.Zero(t, s.countRows("river.river_job where state = 'running'"))
	require.NoError(t, workers.Stop(t.Context()), "stopping twice is stopping once")
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
