package jobs

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"

	"parapet/jobs/rail"
	"parapet/model/payouts"
)

// stopListening ends the bank's server; reopen starts it again at the same address.
func (b *testBank) stopListening() { b.server.Close() }

func (b *testBank) listenAgain() {
	b.t.Helper()
	var lc net.ListenConfig
	listener, err := lc.Listen(b.t.Context(), "tcp", b.server.Listener.Addr().String())
	require.NoError(b.t, err)
	server := httptest.NewUnstartedServer(b.Handler())
	require.NoError(b.t, server.Listener.Close())
	server.Listener = listener
	server.Start()
	b.server = server
	b.t.Cleanup(server.Close)
}

// TestCallThatReachesNobodyLeavesThePayoutPending makes connections fail before the order
// is written, for a week; then the bank is reachable again and each payout is paid once.
func TestCallThatReachesNobodyLeavesThePayoutPending(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	b := openBank(t)
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	b.stopListening()
	addresses := map[string]string{
		"connection refused": b.server.URL + "/v1",
		"unknown name":       "http://bank.invalid/v1",
		"no TLS":             "https://" + plain.Listener.Addr().String() + "/v1",
	}
	fleet := s.createPendingPayouts(len(addresses))
	for _, address := range addresses {
		job := fleet[0]
		fleet = fleet[1:]
		for range 8 {
			isSnoozed(t, s.runReleaseWith(b.newRailAt(address), job))
			payout := s.readPayout(job)
			require.Equal(t, "pending", payout.Status)
			require.LessOrEqual(t, payout.NextAttemptAt.Sub(s.Now()), time.Minute)
			s.AdvanceClock(24 * time.Hour)
		}
		require.Equal(t, 8, s.countRows("payout_attempts where outcome = 'not_sent' and key = $1", s.RailKey(job.ID, 1)))
		stats, err := s.Service.Operations.HealthStats(t.Context(), s.Operator)
		require.NoError(t, err)
		require.Greater(t, stats.OldestUnsent, 7*24*time.Hour, "the metric shows that money waits")
	}
	require.Zero(t, b.Sends())
	b.listenAgain()
	require.NoError(t, s.Service.Operations.Sweep(t.Context()))
	for _, job := range s.queuedJobs() {
		require.NoError(t, s.runReleaseWith(b.newRail(), job))
		require.Equal(t, "released", s.readPayout(job).Status)
	}
	require.Equal(t, len(addresses), b.Sends())
	require.Empty(t, s.Violations())
}

// TestConnectionThatDiesWithTheOrderIsDoubt reads a part of the order and closes the
// connection: our side cannot know how much arrived.
func TestConnectionThatDiesWithTheOrderIsDoubt(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	b := openBank(t)
	var lc net.ListenConfig
	listener, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 8))
			_ = conn.Close()
		}
	}()
	job := s.createPendingPayouts(1)[0]
	isSnoozed(t, s.runReleaseWith(b.newRailAt("http://"+listener.Addr().String()+"/v1"), job))
	require.Equal(t, "reconciling", s.readPayout(job).Status)
}

// TestPayoutStaysInDoubtWhileRailIsUnreachable loses the answer to an order; then the
// bank is unreachable for most of its key window. When it is reachable again it does not
// know the key and gets the order again, once.
func TestPayoutStaysInDoubtWhileRailIsUnreachable(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	b := openBank(t)
	job := s.createPendingPayouts(1)[0]
	deaf := &wrappedRail{Rail: b.newRail(), send: func(context.Context, rail.Instruction) rail.Result { return rail.InDoubt("answer_lost", errHung) }}
	isSnoozed(t, s.runReleaseWith(deaf, job))
	b.stopListening()
	for range 23 {
		s.AdvanceClock(time.Hour)
		isSnoozed(t, s.runReleaseWith(b.newRail(), job))
		payout := s.readPayout(job)
		require.Equal(t, "reconciling", payout.Status)
		require.LessOrEqual(t, payout.NextAttemptAt.Sub(s.Now()), time.Minute, "it is asked soon after the bank is back")
	}
	b.listenAgain()
	s.AdvanceClock(time.Minute)
	require.NoError(t, s.runReleaseWith(b.newRail(), job))
	require.Equal(t, "released", s.readPayout(job).Status)
	require.Equal(t, 1, b.Sends())
	require.Equal(t, 1, s.countRows("(select distinct key from payout_attempts) as keys"))
}

// TestWorkerThatWakesLateSendsNothing suspends a worker between its intent and its call:
// in the worker, and in the transport when the connection is open already.
func TestWorkerThatWakesLateSendsNothing(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	b := openBank(t)
	fleet := s.createPendingPayouts(2)
	late := time.Now()
	worker := &releasePayout{service: s.Service, rail: b.newRail(), log: s.newLogger(), now: func() time.Time { return late }, onStep: func(at releaseStep) {
		if at == stepLeased {
			late = late.Add(time.Minute)
		}
	}}
	isSnoozed(t, worker.Work(t.Context(), &river.Job[payouts.ReleasePayout]{Args: fleet[0]}))
	at := time.Now()
	woken := b.newRailWithClock(func() time.Time { return at.Add(time.Minute) })
	worker = &releasePayout{service: s.Service, rail: woken, log: s.newLogger(), now: func() time.Time { return at }}
	isSnoozed(t, worker.Work(t.Context(), &river.Job[payouts.ReleasePayout]{Args: fleet[1]}))
	for _, job := range fleet {
		require.Equal(t, "pending", s.readPayout(job).Status)
		require.Equal(t, 1, s.countRows("payout_attempts where outcome = 'not_sent' and code = 'expired' and key = $1", s.RailKey(job.ID, 1)))
	}
	require.Zero(t, b.Sends())
}

// TestInstructionExpiresByEitherClock advances the wall clock but not the monotonic one,
// as on a suspended machine, and the reverse, as when the wall clock is set back.
func TestInstructionExpiresByEitherClock(t *testing.T) {
	t.Parallel()
	now := time.Now()
	i := rail.Instruction{ExpiresAt: now.Add(time.Minute)}
	require.False(t, i.Expired(now.Add(time.Minute-1)))
	require.True(t, i.Expired(now.Add(time.Minute)))
	require.True(t, i.Expired(now.Add(time.Minute).Round(0)), "by the wall clock alone")
	require.False(t, rail.Instruction{}.Expired(now))
}

// TestBankRefusesAnExpiredOrder delays an order on its way: the bank's clock shows that
// it is too late, and nothing is in doubt.
func TestBankRefusesAnExpiredOrder(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	b := openBank(t)
	job := s.createPendingPayouts(1)[0]
	b.ahead.Store(int64(2 * time.Minute))
	isSnoozed(t, s.runReleaseWith(b.newRail(), job))
	require.Equal(t, "pending", s.readPayout(job).Status)
	_, executed := b.Executed(s.RailKey(job.ID, 1))
	require.False(t, executed)
	b.ahead.Store(0)
	s.AdvanceClock(time.Minute)
	require.NoError(t, s.runReleaseWith(b.newRail(), job))
	require.Equal(t, "released", s.readPayout(job).Status)
}

func TestRailGateAsksOnceWhileNobodyAnswers(t *testing.T) {
	t.Parallel()
	at := time.Now()
	gate := newRailGate(func() time.Time { return at })
	asked, answers := 0, rail.NotSent
	to := &wrappedRail{inquire: func(_ context.Context, key string) rail.Result {
		require.Equal(t, probeInquiryKey, key)
		asked++
		return rail.Result{Outcome: answers}
	}}
	require.Zero(t, gate.waitTime(t.Context(), to))
	gate.recordResults(rail.Result{Outcome: rail.NotSent, Code: rail.CodeExpired})
	require.Zero(t, gate.waitTime(t.Context(), to), "an order that expired says nothing about the rail")
	gate.recordResults(rail.Result{Outcome: rail.NotSent})
	gate.recordResults(rail.Result{Outcome: rail.NotSent})
	for _, delay := range []time.Duration{5 * time.Second, 10 * time.Second, 30 * time.Second, 30 * time.Second} {
		before := asked
		for range 10 {
			require.Equal(t, delay, gate.waitTime(t.Context(), to))
		}
		require.Equal(t, before, asked)
		at = at.Add(delay)
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() { require.Positive(t, gate.waitTime(t.Context(), to)) })
		}
		all.Wait()
		require.Equal(t, before+1, asked)
	}
	answers = rail.NotFound
	at = at.Add(30 * time.Second)
	require.Zero(t, gate.waitTime(t.Context(), to))
	require.Zero(t, gate.waitTime(t.Context(), to))
	require.Equal(t, 5, asked)
	require.Zero(t, (*railGate)(nil).waitTime(t.Context(), to))
}

func TestRailGateClosesAfterManyOrdersInDoubt(t *testing.T) {
	t.Parallel()
	at := time.Now()
	gate := newRailGate(func() time.Time { return at })
	answer := rail.Unknown
	to := &wrappedRail{inquire: func(context.Context, string) rail.Result { return rail.Result{Outcome: answer} }}
	doubt := rail.Result{Outcome: rail.Unknown}
	waits := func() time.Duration { return gate.waitTime(t.Context(), to) }
	for range maxDoubts - 1 {
		gate.recordResults(doubt)
	}
	require.Zero(t, waits())
	gate.recordResults(doubt, rail.Result{Outcome: rail.Refused})
	for range maxDoubts - 1 {
		gate.recordResults(doubt)
	}
	require.Zero(t, waits(), "an answer was definite in between")
	gate.recordResults(doubt)
	require.Equal(t, gateDelays[0], waits())
	at = at.Add(gateDelays[0])
	require.Zero(t, waits(), "one caller tries")
	require.Equal(t, gateDelays[1], waits(), "the others wait")
	gate.recordResults(doubt)
	require.Equal(t, gateDelays[1], waits())
	at = at.Add(gateDelays[1])
	require.Zero(t, waits())
	gate.recordResults(rail.Result{Outcome: rail.Accepted})
	require.Zero(t, waits())
	require.Zero(t, waits(), "the gate is open")
	gate.recordResults(slices.Repeat([]rail.Result{doubt}, maxDoubts)...)
	require.Equal(t, gateDelays[0], waits(), "after one call for many")
	answer, at = rail.NotFound, at.Add(gateDelays[0])
	require.Zero(t, waits())
	require.Zero(t, waits(), "the probe's answer is definite")
}

// TestQueueStaysShortWhileTheRailIsAway makes a bank unreachable for a quarter of an hour
// of the domain's time: the sweep requeues each overdue payout every minute, and the
// queue keeps its existing job. When the bank is back each payout is paid once.
func TestQueueStaysShortWhileTheRailIsAway(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	b := openBank(t)
	b.stopListening()
	payouts := len(s.createPendingPayouts(6))
	s.startWorkersWith(b.newRail())
	s.requireEventually(func() bool { return s.countRows("payout_attempts where outcome = 'not_sent'") > 0 }, "the gate closes")
	requeued := func() int {
		return s.countRows("river.river_job where kind = 'release_payout' and args ? 'requeued' and finalized_at is null")
	}
	for range 15 {
		s.AdvanceClock(61 * time.Second)
		require.NoError(t, s.Service.Operations.SweepDue(t.Context(), "pending_payouts"))
		require.LessOrEqual(t, requeued(), payouts)
	}
	// A job and the successor that it asks for are both open for a moment.
	s.requireEventually(func() bool { return requeued() == payouts }, "each payout was requeued")
	require.LessOrEqual(t, s.countRows("river.river_job where kind = 'release_payout' and finalized_at is null"), 2*payouts)
	b.listenAgain()
	s.AdvanceClock(time.Minute) // once: a clock that runs away ends the leases of orders that are being sent
	s.requireEventually(func() bool { return s.countRows("payouts where status = 'released'") == payouts }, "the payouts are paid")
	require.Equal(t, payouts, b.Sends())
}
