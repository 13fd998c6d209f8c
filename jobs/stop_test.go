package jobs

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"

	"parapet/jobs/rail"
	"parapet/jobs/rail/bankfile"
	"parapet/model/payouts"
	"parapet/model/payouts/controls"
	"parapet/model/payouts/release"
)

// sending counts the calls of a rail that writes files and knows no keys.
type sending struct {
	rail.Rail

	sent, written int
}

// Capabilities implements rail.Rail.
func (*sending) Capabilities() rail.Capabilities { return rail.Capabilities{Inquirable: true} }

// Inquire implements rail.Rail.
func (*sending) Inquire(context.Context, string) rail.Result {
	return rail.Result{Outcome: rail.NotFound}
}

// Send implements rail.Rail.
func (s *sending) Send(context.Context, rail.Instruction) rail.Result {
	s.sent++
	return rail.Result{Outcome: rail.Accepted}
}

// WriteDueFiles writes nothing and counts it.
func (s *sending) WriteDueFiles(context.Context, rail.PermitSource) error {
	s.written++
	return nil
}

func TestReleaseStopBlocksResendsAndFiles(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	to := &sending{Rail: s.rail}
	releases := &releasePayout{service: s.Service, rail: to}
	require.Equal(t, codeStopped, releases.resolveInDoubt(t.Context(), &release.Release{InDoubt: true, InquireOnly: true}, time.Time{}).Code)
	require.Zero(t, to.sent)
	releases.resolveInDoubt(t.Context(), &release.Release{InDoubt: true}, time.Time{})
	require.Equal(t, 1, to.sent)

	files := &writeFiles{service: s.Service, rail: to}
	_, err := s.Service.Controls.StopReleases(t.Context(), s.Operator, controls.StopRequest{Reason: "The bank called."})
	require.NoError(t, err)
	require.NoError(t, files.Work(t.Context(), &river.Job[WriteFiles]{}))
	require.Zero(t, to.written)
	_, err = s.Service.Releases.ResumeReleases(t.Context(), s.Operator, controls.ResumeRequest{Reason: "All is well."})
	require.NoError(t, err)
	require.NoError(t, files.Work(t.Context(), &river.Job[WriteFiles]{}))
	require.Equal(t, 1, to.written)
}

// stopInBackground stops releases. It returns when the stop waits for payouts in flight,
// and fails if the stop returns instead. The returned function lets the stop check again
// and waits for its result.
func (s *fixture) stopInBackground(waits <-chan struct{}) (answered func() *controls.ReleasesStopped) {
	s.t.Helper()
	answer := make(chan *controls.ReleasesStopped, 1)
	go func() {
		stopped, err := s.Service.Controls.StopReleases(s.t.Context(), s.Operator, controls.StopRequest{Reason: "The bank called."})
		if err != nil {
			s.t.Error(err)
		}
		answer <- stopped
	}()
	for range 2 {
		select {
		case <-waits:
		case <-answer:
			require.Fail(s.t, "the stop answered while something was leaving")
		}
	}
	return func() *controls.ReleasesStopped {
		for {
			select {
			case <-waits:
			case stopped := <-answer:
				return stopped
			}
		}
	}
}

// openStoppable returns a fixture whose stops send to a channel when they wait.
func openStoppable(t *testing.T) (*fixture, <-chan struct{}) {
	t.Helper()
	waits := make(chan struct{})
	s := newFixture(t)
	s.sleep = func(ctx context.Context, _ time.Duration) error {
		select {
		case waits <- struct{}{}:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	s.resetService(false)
	return s, waits
}

func TestStopWaitsForTheCallToTheRail(t *testing.T) {
	t.Parallel()
	s, waits := openStoppable(t)
	jobs := s.createPendingPayouts(2)
	called, answer, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	sent := 0
	slow := &wrappedRail{Rail: s.rail, send: func(ctx context.Context, i rail.Instruction) rail.Result {
		sent++
		close(called)
		<-answer
		return s.rail.Send(ctx, i)
	}}
	go func() { ended <- s.runReleaseWith(slow, jobs[0]) }()
	<-called
	answered := s.stopInBackground(waits)
	close(answer)
	require.NoError(t, <-ended) // first: the stop, whose waits take no time here, asks 600 times at most
	require.Nil(t, answered().Leaving)
	require.Equal(t, "released", s.readPayout(jobs[0]).Status)
	require.NoError(t, s.runReleaseWith(slow, jobs[1]))
	require.Equal(t, 1, sent, "nothing is sent after it")
}

// TestLeasedOrderIsNotSentAfterStop stops releases between the intent and the call.
func TestLeasedOrderIsNotSentAfterStop(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	job := s.createPendingPayouts(1)[0]
	worker := &releasePayout{service: s.Service, rail: s.rail, log: s.newLogger(), onStep: func(reached releaseStep) {
		if reached == stepLeased {
			stopped, err := s.Service.Controls.StopReleases(t.Context(), s.Operator, controls.StopRequest{Reason: "The bank called."})
			require.NoError(t, err)
			require.Nil(t, stopped.Leaving)
		}
	}}
	_ = worker.Work(t.Context(), &river.Job[payouts.ReleasePayout]{Args: job})
	require.Zero(t, s.countRows("simulator_transfers"))
	_, err := s.Service.Releases.ResumeReleases(t.Context(), s.Operator, controls.ResumeRequest{Reason: "All is well."})
	require.NoError(t, err)
	s.AdvanceClock(10 * time.Minute)
	require.NoError(t, s.runRelease(job))
	require.Equal(t, "released", s.readPayout(job).Status)
	require.Equal(t, 1, s.countRows("simulator_transfers"))
	require.Equal(t, 1, s.countRows("(select distinct key from payout_attempts) as keys"))
}

// slowStore pauses before it stores a file.
type slowStore struct {
	bankfile.FileStore

	reached, resume chan struct{}
}

// Put implements bankfile.Store.
func (s *slowStore) Put(ctx context.Context, key string, r io.Reader) error {
	s.reached <- struct{}{}
	<-s.resume
	return s.FileStore.Put(ctx, key, r)
}

// pausedWriter is a writer of a bank's file that is paused between its check and its
// write.
func (s *fixture) pausedWriter() (files *bankfile.Rail, folder string, store *slowStore, ended chan error) {
	s.t.Helper()
	files, folder = s.writtenFiles()
	s.createPendingPayouts(2)
	require.NoError(s.t, s.runReleaseBatch(files))
	inner := files.FileStore
	store = &slowStore{inner, make(chan struct{}), make(chan struct{})}
	files.FileStore = store
	ended = make(chan error, 1)
	go func() { ended <- s.writeDueFiles(files) }()
	<-store.reached
	files.FileStore = inner
	return files, folder, store, ended
}

func TestStopWaitsForAFileThatIsBeingWritten(t *testing.T) {
	t.Parallel()
	s, waits := openStoppable(t)
	_, folder, store, ended := s.pausedWriter()
	answered := s.stopInBackground(waits)
	require.Empty(t, written(t, folder))
	close(store.resume)
	require.NoError(t, <-ended)
	require.Nil(t, answered().Leaving)
	require.Len(t, written(t, folder), 1, "it was there before the stop answered, and none came later")
	require.Equal(t, 1, s.countRows("payment_files where written_at is not null"))
}

// TestFileIsNotWrittenAfterItsSessionWasLost ends the session of a paused writer: the
// stop no longer waits for it, so it must not continue.
func TestFileIsNotWrittenAfterItsSessionWasLost(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	files, folder, store, ended := s.pausedWriter()
	require.Equal(t, 1, s.countRows("(select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'parapet sends' and datname = current_database()) as ended"))
	stopped, err := s.Service.Controls.StopReleases(t.Context(), s.Operator, controls.StopRequest{Reason: "The bank called."})
	require.NoError(t, err)
	require.Nil(t, stopped.Leaving)
	close(store.resume)
	require.ErrorIs(t, <-ended, controls.ErrSendSessionLost)
	require.Empty(t, written(t, folder))

	_, err = s.Service.Releases.ResumeReleases(t.Context(), s.Operator, controls.ResumeRequest{Reason: "All is well."})
	require.NoError(t, err)
	require.NoError(t, s.writeDueFiles(files))
	require.Len(t, written(t, folder), 1)
}
