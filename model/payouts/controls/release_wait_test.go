package controls_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/payouts/controls"
	"parapet/model/payouts/release"
)

// stopping stops releases in the background. Each time the stop finds running sends, it
// sends to waits and continues when the value was received.
type stopping struct {
	waits  chan struct{}
	answer chan *controls.ReleasesStopped
}

func (s *stopping) pause(ctx context.Context, _ time.Duration) error {
	select {
	case s.waits <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func newStopping() *stopping {
	return &stopping{make(chan struct{}), make(chan *controls.ReleasesStopped, 1)}
}

func (s *stopping) start(t *testing.T, b *modeltest.Bundle) {
	t.Helper()
	go func() {
		answer, err := b.Service.Controls.StopReleases(t.Context(), b.Operator, controls.StopRequest{Reason: "The bank called."})
		if err != nil {
			t.Error(err)
		}
		s.answer <- answer
	}()
}

// waiting fails if the stop answers and does not wait.
func (s *stopping) waiting(t *testing.T) {
	t.Helper()
	select {
	case <-s.waits:
	case <-s.answer:
		require.Fail(t, "the stop answered while something could still leave")
	}
}

// answered lets the stop poll until it answers.
func (s *stopping) answered() *controls.ReleasesStopped {
	for {
		select {
		case <-s.waits:
		case answer := <-s.answer:
			return answer
		}
	}
}

// TestNoIntentCommitsAfterAStop delays an intent between its check for a stop and its
// commit: the stop must not answer before the intent has ended.
func TestNoIntentCommitsAfterAStop(t *testing.T) {
	t.Parallel()
	stop := newStopping()
	b, payout := modeltest.NewReadyPayout(t, modeltest.WithSleep(stop.pause))
	gate, err := b.DB.Pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = gate.Exec(t.Context(), "lock table payout_attempts in exclusive mode")
	require.NoError(t, err)
	intent := make(chan *release.Release, 1)
	go func() {
		order, _, err := b.Service.Releases.BeginRelease(t.Context(), modeltest.ScriptedRail, "acme", payout)
		if err != nil {
			t.Error(err)
		}
		intent <- order
	}()
	require.Eventually(t, func() bool { return waitsFor(t, b, "payout_attempts") }, time.Minute, time.Millisecond, "the intent has looked for a stop")
	stop.start(t, b)
	stop.waiting(t)
	stop.waiting(t)
	require.NoError(t, gate.Commit(t.Context()))
	order := <-intent
	require.NotNil(t, order)
	require.Nil(t, stop.answered().Leaving)

	_, _, err = b.Service.Controls.BeginSend(t.Context())
	require.ErrorIs(t, err, controls.ErrReleasesStopped, "what was intended before the stop is not sent after it")
}

// waitsFor reports whether a session waits for a lock of a table.
func waitsFor(t *testing.T, b *modeltest.Bundle, table string) (waits bool) {
	t.Helper()
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select exists (select from pg_locks where relation = $1::regclass and not granted)", table).Scan(&waits))
	return waits
}

func TestStopWaitsForASendToEnd(t *testing.T) {
	t.Parallel()
	stop := newStopping()
	b, _ := modeltest.NewReadyPayout(t, modeltest.WithSleep(stop.pause))
	_, first, err := b.Service.Controls.BeginSend(t.Context())
	require.NoError(t, err)
	leaving, second, err := b.Service.Controls.BeginSend(t.Context())
	require.NoError(t, err)
	stop.start(t, b)
	stop.waiting(t)
	first.End()
	stop.waiting(t)
	stop.waiting(t)
	require.NoError(t, leaving.Err())
	require.NoError(t, second.Confirm(t.Context()))
	second.End()
	require.Nil(t, stop.answered().Leaving)
	_, _, err = b.Service.Controls.BeginSend(t.Context())
	require.ErrorIs(t, err, controls.ErrReleasesStopped)
	require.NoError(t, modeltest.ResumeReleases(t, b, false))
	_, third, err := b.Service.Controls.BeginSend(t.Context())
	require.NoError(t, err)
	third.End()
}

func TestStopAnswersWithWhatIsLeavingAfterAMinute(t *testing.T) {
	t.Parallel()
	looks := 0
	b, payout := modeltest.NewReadyPayout(t, modeltest.WithSleep(func(context.Context, time.Duration) error { looks++; return nil }))
	order, _, err := b.Service.Releases.BeginRelease(t.Context(), modeltest.ScriptedRail, "acme", payout)
	require.NoError(t, err)
	_, sending, err := b.Service.Controls.BeginSend(t.Context())
	require.NoError(t, err)
	key := &actor.IdempotencyKey{Operation: "stopReleases", Key: "one", Request: []byte("one")}
	actor := b.Operator
	actor.IdempotencyKey = key
	answer, err := b.Service.Controls.StopReleases(t.Context(), actor, controls.StopRequest{Reason: "The bank called."})
	require.NoError(t, err)
	require.Equal(t, 600, looks, "a minute by ten looks a second")
	require.Equal(t, 1, answer.Leaving.Count)
	require.Empty(t, answer.Leaving.Files)
	require.Equal(t, order.Key, answer.Leaving.Orders[0].Key)
	require.Equal(t, payout, answer.Leaving.Orders[0].PayoutID)
	stops, err := b.Service.Controls.ReleaseStops(t.Context(), b.Operator, 1)
	require.NoError(t, err)
	require.Nil(t, stops[0].ResumedAt, "the stop stands")

	sending.End()
	_, err = b.Service.Controls.StopReleases(t.Context(), actor, controls.StopRequest{Reason: "The bank called."})
	var again *store.Replay
	require.ErrorAs(t, err, &again)
	require.Contains(t, string(again.Body), "The bank called.")
	require.NotContains(t, string(again.Body), order.Key, "the same request again looks again")
}

// TestSendEndsWithItsSession kills the session that permits sends: the running sends end
// at once, so the stop need not wait for them.
func TestSendEndsWithItsSession(t *testing.T) {
	t.Parallel()
	b, _ := modeltest.NewReadyPayout(t)
	leaving, sending, err := b.Service.Controls.BeginSend(t.Context())
	require.NoError(t, err)
	kill := func() {
		rows, err := b.DB.Pool.Query(t.Context(), "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'parapet sends' and datname = current_database()")
		require.NoError(t, err)
		killed, err := pgx.CollectRows(rows, pgx.RowTo[bool])
		require.NoError(t, err)
		require.Equal(t, []bool{true}, killed)
	}
	kill()
	<-leaving.Done()
	require.ErrorIs(t, context.Cause(leaving), controls.ErrSendSessionLost)
	require.ErrorIs(t, sending.Confirm(t.Context()), controls.ErrSendSessionLost)

	leaving, next, err := b.Service.Controls.BeginSend(t.Context())
	require.NoError(t, err, "another session permits the next")
	sending.End()
	require.NoError(t, next.Confirm(t.Context()), "the end of a lost one is not the end of another")
	kill()
	require.ErrorIs(t, next.Confirm(t.Context()), controls.ErrSendSessionLost)
	<-leaving.Done()
	next.End()
	modeltest.StopReleases(t, b)
}
