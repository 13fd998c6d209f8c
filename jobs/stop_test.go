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
	"parapet/model"
)

// sending counts what a rail that writes files and knows no key is asked for.
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

// WriteDue writes nothing and counts it.
func (s *sending) WriteDue(context.Context, rail.Permits) error {
	s.written++
	return nil
}

func TestDuringAStopNothingIsSentAgainAndNoFileIsWritten(t *testing.T) {
	t.Parallel()
	s := open(t)
	to := &sending{Rail: s.rail}
	releases := &releasePayout{service: s.Service, rail: to}
	require.Equal(t, codeStopped, releases.settle(t.Context(), &model.Release{Doubt: true, AskOnly: true}, time.Time{}).Code)
	require.Zero(t, to.sent)
	releases.settle(t.Context(), &model.Release{Doubt: true}, time.Time{})
	require.Equal(t, 1, to.sent)

	files := &writeFiles{service: s.Service, rail: to}
	_, err := s.Service.StopReleases(t.Context(), s.Operator, model.StopRequest{Reason: "The bank called."})
	require.NoError(t, err)
	require.NoError(t, files.Work(t.Context(), &river.Job[WriteFiles]{}))
	require.Zero(t, to.written)
	_, err = s.Service.ResumeReleases(t.Context(), s.Operator, model.ResumeRequest{Reason: "All is well."})
	require.NoError(t, err)
	require.NoError(t, files.Work(t.Context(), &river.Job[WriteFiles]{}))
	require.Equal(t, 1, to.written)
}

// stopInBackground stops releases; it returns when the stop waits for what is leaving,
// and fails when it answers instead. What it returns lets the stop look again and waits
// for its answer.
func (s *shop) stopInBackground(waits <-chan struct{}) (answered func() *model.ReleasesStopped) {
	s.t.Helper()
	answer := make(chan *model.ReleasesStopped, 1)
	go func() {
		stopped, err := s.Service.StopReleases(s.t.Context(), s.Operator, model.StopRequest{Reason: "The bank called."})
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
	return func() *model.ReleasesStopped {
		for {
			select {
			case <-waits:
			case stopped := <-answer:
				return stopped
			}
		}
	}
}

// openStoppable is a shop whose stops say on a channel when they wait.
func openStoppable(t *testing.T) (*shop, <-chan struct{}) {
	t.Helper()
	waits := make(chan struct{})
	s := open(t)
	s.pause = func(ctx context.Context, _ time.Duration) error {
		select {
		case waits <- struct{}{}:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	s.serve(false)
	return s, waits
}

func TestStopWaitsForTheCallToTheRail(t *testing.T) {
	t.Parallel()
	s, waits := openStoppable(t)
	jobs := s.fleet(2)
	called, answer, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	sent := 0
	slow := &acting{Rail: s.rail, send: func(ctx context.Context, i rail.Instruction) rail.Result {
		sent++
		close(called)
		<-answer
		return s.rail.Send(ctx, i)
	}}
	go func() { ended <- s.releaseBy(slow, jobs[0]) }()
	<-called
	answered := s.stopInBackground(waits)
	close(answer)
	require.Nil(t, answered().Leaving)
	require.NoError(t, <-ended)
	require.Equal(t, "released", s.read(jobs[0]).Status)
	require.NoError(t, s.releaseBy(slow, jobs[1]))
	require.Equal(t, 1, sent, "nothing is sent after it")
}

// TestIntentBeforeAStopIsNotSentAfterIt stops releases between the intent and the call.
func TestIntentBeforeAStopIsNotSentAfterIt(t *testing.T) {
	t.Parallel()
	s := open(t)
	job := s.fleet(1)[0]
	worker := &releasePayout{service: s.Service, rail: s.rail, log: s.logger(), at: func(reached step) {
		if reached == stepIntended {
			stopped, err := s.Service.StopReleases(t.Context(), s.Operator, model.StopRequest{Reason: "The bank called."})
			require.NoError(t, err)
			require.Nil(t, stopped.Leaving)
		}
	}}
	_ = worker.Work(t.Context(), &river.Job[model.ReleasePayout]{Args: job})
	require.Zero(t, s.count("simulator_transfers"))
	_, err := s.Service.ResumeReleases(t.Context(), s.Operator, model.ResumeRequest{Reason: "All is well."})
	require.NoError(t, err)
	s.After(10 * time.Minute)
	require.NoError(t, s.release(job))
	require.Equal(t, "released", s.read(job).Status)
	require.Equal(t, 1, s.count("simulator_transfers"))
	require.Equal(t, 1, s.count("(select distinct key from payout_attempts) as keys"))
}

// slowStore pauses before it stores what it is given.
type slowStore struct {
	bankfile.Store

	reached, goOn chan struct{}
}

// Put implements bankfile.Store.
func (s *slowStore) Put(ctx context.Context, key string, r io.Reader) error {
	s.reached <- struct{}{}
	<-s.goOn
	return s.Store.Put(ctx, key, r)
}

// pausedWriter is a writer of a bank's file that stands between its check and its write.
func (s *shop) pausedWriter() (files *bankfile.Rail, folder string, store *slowStore, ended chan error) {
	s.t.Helper()
	files, folder = s.files()
	s.fleet(2)
	require.NoError(s.t, s.slice(files))
	inner := files.Store
	store = &slowStore{inner, make(chan struct{}), make(chan struct{})}
	files.Store = store
	ended = make(chan error, 1)
	go func() { ended <- s.write(files) }()
	<-store.reached
	files.Store = inner
	return files, folder, store, ended
}

func TestStopWaitsForAFileThatIsBeingWritten(t *testing.T) {
	t.Parallel()
	s, waits := openStoppable(t)
	_, folder, store, ended := s.pausedWriter()
	answered := s.stopInBackground(waits)
	require.Empty(t, written(t, folder))
	close(store.goOn)
	require.NoError(t, <-ended)
	require.Nil(t, answered().Leaving)
	require.Len(t, written(t, folder), 1, "it was there before the stop answered, and none came later")
	require.Equal(t, 1, s.count("bank_batches where written_at is not null"))
}

// TestFileIsNotWrittenAfterItsSessionWasLost lets the session of a paused writer end:
// the stop does not wait for it any more, so it must not go on.
func TestFileIsNotWrittenAfterItsSessionWasLost(t *testing.T) {
	t.Parallel()
	s := open(t)
	files, folder, store, ended := s.pausedWriter()
	require.Equal(t, 1, s.count("(select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'parapet sends' and datname = current_database()) as ended"))
	stopped, err := s.Service.StopReleases(t.Context(), s.Operator, model.StopRequest{Reason: "The bank called."})
	require.NoError(t, err)
	require.Nil(t, stopped.Leaving)
	close(store.goOn)
	require.ErrorIs(t, <-ended, model.ErrSendSessionLost)
	require.Empty(t, written(t, folder))

	_, err = s.Service.ResumeReleases(t.Context(), s.Operator, model.ResumeRequest{Reason: "All is well."})
	require.NoError(t, err)
	require.NoError(t, s.write(files))
	require.Len(t, written(t, folder), 1)
}
