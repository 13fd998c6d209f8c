package jobs

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"parapet/jobs/rail"
	"parapet/jobs/rail/httprail"
	"parapet/jobs/rail/railtest"
	"parapet/model/payouts"
	"parapet/model/payouts/controls"
)

// openGroupBank opens a bank that takes groups of orders, and n payouts for it.
func (s *fixture) openGroupBank(size, n int) (*testBank, []payouts.ReleasePayout) {
	s.t.Helper()
	s.resetService(true)
	b := openBank(s.t)
	b.groups = size
	return b, s.createPendingPayouts(n)
}

// statusesOf returns the statuses of payouts.
func (s *fixture) statusesOf(fleet []payouts.ReleasePayout) []string {
	s.t.Helper()
	all := make([]string, len(fleet))
	for i, job := range fleet {
		all[i] = s.readPayout(job).Status
	}
	return all
}

func TestGroupsReleaseEachPayoutOnce(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	b, fleet := s.openGroupBank(3, 7)
	require.Equal(t, 1, s.countRows("river.river_job where kind = 'release_batch'"), "no job for each payout")
	require.Zero(t, s.countRows("river.river_job where kind = 'release_payout'"))
	var all errgroup.Group
	for range 2 {
		all.Go(func() error { return s.runReleaseBatch(b.newRail()) })
	}
	require.NoError(t, all.Wait())
	for _, job := range fleet {
		payout := s.readPayout(job)
		require.Equal(t, "released", payout.Status)
		require.Equal(t, 1, payout.Attempts)
		require.Equal(t, "T-"+s.RailKey(job.ID, 1), *payout.ProviderReference)
		require.Equal(t, 1, s.countRows("payout_attempts where key = $1 and outcome = 'accepted' and provider_reference = $2 and ended_at is not null", s.RailKey(job.ID, 1), *payout.ProviderReference))
	}
	require.Equal(t, len(fleet), b.Sends())
	require.GreaterOrEqual(t, len(b.Groups()), 3)
	require.Equal(t, len(fleet), s.countRows("events where type = 'payout.releasing'"))
	require.Equal(t, len(fleet), s.countRows("events where type = 'payout.released'"))
	require.Equal(t, len(fleet), s.countRows("timeline_entries where kind = 'payout.released' and actor_kind = 'rail'"))
}

// TestAnswerToAGroupCountsForEachKeyAlone changes one transfer of an answer: only its key
// is affected, and what is in doubt is inquired and never gets a new key.
func TestAnswerToAGroupCountsForEachKeyAlone(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*httprail.TransferGroup){
		"missing":  func(g *httprail.TransferGroup) { g.Transfers = g.Transfers[1:] },
		"repeated": func(g *httprail.TransferGroup) { g.Transfers = append(g.Transfers, g.Transfers[0]) },
		"repeated as refused": func(g *httprail.TransferGroup) {
			g.Transfers = append(g.Transfers, httprail.Transfer{Key: g.Transfers[0].Key, Status: "refused", Code: "account_closed"})
		},
		"another key":    func(g *httprail.TransferGroup) { g.Transfers[0].Key = "pol_other.1" },
		"without amount": func(g *httprail.TransferGroup) { g.Transfers[0].Amount.Currency = "" },
		"not found":      func(g *httprail.TransferGroup) { g.Transfers[0].Status = "not_found" },
		"unknown status": func(g *httprail.TransferGroup) { g.Transfers[0].Status = "done" },
		"pending":        func(g *httprail.TransferGroup) { g.Transfers[0].Status = "pending" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFixture(t)
			b, fleet := s.openGroupBank(3, 3)
			b.OnGroup(0, change)
			require.NoError(t, s.runReleaseBatch(b.newRail()))
			require.Equal(t, []string{"reconciling", "released", "released"}, s.statusesOf(fleet))
			require.Equal(t, 1, s.countRows("river.river_job where kind = 'release_payout' and args ->> 'id' = $1", fleet[0].ID), "it is inquired alone")
			s.AdvanceClock(10 * time.Second)
			require.NoError(t, s.runReleaseWith(b.newRail(), fleet[0]))
			require.Equal(t, "released", s.readPayout(fleet[0]).Status)
			require.Equal(t, len(fleet), b.Sends(), "nothing was sent twice")
		})
	}
}

func TestRefusalInAGroupBlocksItsPayoutOnly(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	b, fleet := s.openGroupBank(3, 3)
	b.OnGroup(0, func(g *httprail.TransferGroup) {
		g.Transfers[0] = httprail.Transfer{Key: g.Transfers[0].Key, Status: "refused", Code: "account_closed"}
		g.Transfers[1].Amount.Amount++
	})
	require.NoError(t, s.runReleaseBatch(b.newRail()))
	require.Equal(t, []string{"blocked", "blocked", "released"}, s.statusesOf(fleet))
	require.Equal(t, "rail_rejected", *s.readPayout(fleet[0]).BlockedReason)
	require.Equal(t, "rail_mismatch", *s.readPayout(fleet[1]).BlockedReason)
}

// TestGroupWithoutAnAnswerIsInDoubt makes a whole call fail after the bank has executed
// its orders.
func TestGroupWithoutAnAnswerIsInDoubt(t *testing.T) {
	t.Parallel()
	for name, send := range map[string]railtest.Behaviour{
		"server error": answerServerError,
		"unsigned":     func(w http.ResponseWriter, _ *http.Request, _ func()) { _, _ = io.WriteString(w, `{"transfers":[]}`) },
		"broken":       func(http.ResponseWriter, *http.Request, func()) { panic(http.ErrAbortHandler) },
		"created":      nil, // signed, with a status that the protocol does not have here
		"hangs":        nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFixture(t)
			b, fleet := s.openGroupBank(3, 3)
			switch name {
			case "hangs":
				send = b.hangUntilEnd
			case "created":
				send = func(w http.ResponseWriter, r *http.Request, _ func()) {
					b.WriteSigned(w, r, http.StatusCreated, httprail.TransferGroup{})
				}
			}
			b.SetBehaviour(send, nil, nil)
			require.NoError(t, s.runReleaseBatch(b.newRail()))
			require.Equal(t, []string{"reconciling", "reconciling", "reconciling"}, s.statusesOf(fleet))
			b.SetBehaviour(nil, nil, nil)
			require.NoError(t, s.runReleaseBatch(b.newRail()), "a group takes no payout in doubt")
			s.AdvanceClock(10 * time.Second)
			for _, job := range fleet {
				require.NoError(t, s.runReleaseWith(b.newRail(), job))
			}
			require.Equal(t, []string{"released", "released", "released"}, s.statusesOf(fleet))
			require.Equal(t, len(fleet), b.Sends(), "each is inquired and not sent again")
			require.Len(t, b.Groups(), 1)
		})
	}
}

func TestUnreachableRailLeavesAGroupPending(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	b, fleet := s.openGroupBank(3, 2)
	b.server.Close()
	require.NoError(t, s.runReleaseBatch(b.newRail()))
	require.Equal(t, []string{"pending", "pending"}, s.statusesOf(fleet))
	require.Equal(t, 2, s.countRows("payout_attempts where outcome = 'not_sent'"))
	require.Zero(t, s.countRows("river.river_job where kind = 'release_payout'"), "they go with a later group")

	s.AdvanceClock(time.Minute)
	worker := &releaseBatch{service: s.Service, rail: b.newRail(), log: s.newLogger()}
	worker.single = &releasePayout{service: s.Service, rail: b.newRail(), log: s.newLogger(), gate: newRailGate(time.Now)}
	isSnoozed(t, worker.Work(t.Context(), &river.Job[payouts.ReleaseBatch]{}))
	require.Equal(t, 4, s.countRows("payout_attempts where outcome = 'not_sent'"))
	s.AdvanceClock(time.Minute)
	isSnoozed(t, worker.Work(t.Context(), &river.Job[payouts.ReleaseBatch]{}))
	require.Equal(t, 4, s.countRows("payout_attempts"), "the gate is closed: no further attempts")
}

// TestGroupsStopWhenEveryOrderIsInDoubt answers 503 to a whole group of many: the others
// stay pending until the bank is back.
func TestGroupsStopWhenEveryOrderIsInDoubt(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	b, fleet := s.openGroupBank(maxDoubts, 2*maxDoubts)
	b.SetBehaviour(answerServerError, answerServerError, nil)
	worker := &releaseBatch{service: s.Service, rail: b.newRail(), log: s.newLogger()}
	at := time.Now()
	worker.single = &releasePayout{service: s.Service, rail: b.newRail(), log: s.newLogger(), gate: newRailGate(func() time.Time { return at })}
	isSnoozed(t, worker.Work(t.Context(), &river.Job[payouts.ReleaseBatch]{}))
	require.Equal(t, maxDoubts, s.countRows("payouts where status = 'reconciling'"))
	require.Equal(t, maxDoubts, s.countRows("payouts where status = 'pending'"))
	at = at.Add(gateDelays[0])
	b.SetBehaviour(nil, nil, nil)
	require.NoError(t, worker.Work(t.Context(), &river.Job[payouts.ReleaseBatch]{}))
	require.Equal(t, maxDoubts, s.countRows("payouts where status = 'released'"))
	require.Len(t, fleet, 2*maxDoubts)
}

func TestTooLargeGroupIsHalved(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	b, fleet := s.openGroupBank(5, 5)
	b.OnGroup(1, nil)
	require.NoError(t, s.runReleaseBatch(b.newRail()))
	require.Equal(t, []string{"released", "released", "released", "released", "released"}, s.statusesOf(fleet))
	require.Equal(t, len(fleet), b.Sends())
	require.Equal(t, []int{5, 2, 1, 1, 3, 1, 2, 1, 1}, b.Groups())
}

func TestStopOfReleasesHoldsAGroup(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	b, fleet := s.openGroupBank(2, 2)
	worker := &releasePayout{service: s.Service, rail: b.newRail(), log: s.newLogger(), onStep: func(at releaseStep) {
		if at == stepLeased { // after the intents, before the call
			_, err := s.Service.Controls.StopReleases(t.Context(), s.Operator, controls.StopRequest{Reason: "The bank called."})
			require.NoError(t, err)
		}
	}}
	_, err := worker.releaseGroup(t.Context(), b.newRail(), 2)
	require.NoError(t, err)
	require.Zero(t, b.Sends())
	require.Equal(t, []string{"pending", "pending"}, s.statusesOf(fleet))
	require.NoError(t, s.runReleaseBatch(b.newRail()))
	require.Zero(t, b.Sends())
}

func TestExpiredGroupIsNotSent(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	b, fleet := s.openGroupBank(2, 2)
	late := time.Duration(0)
	now := func() time.Time { return time.Now().Add(late) }
	worker := &releasePayout{service: s.Service, rail: b.newRail(), log: s.newLogger(), now: now, onStep: func(at releaseStep) {
		if at == stepLeased {
			late = payouts.ReleaseLease
		}
	}}
	_, err := worker.releaseGroup(t.Context(), b.newRail(), 2)
	require.NoError(t, err)
	require.Zero(t, b.Sends())
	require.Equal(t, []string{"pending", "pending"}, s.statusesOf(fleet))

	// The client's own check is the last one before the body leaves.
	order := rail.Instruction{Key: "pol_1.a.1", Amount: s.readPayout(fleet[0]).Amount, Payee: rail.Payee{Number: numberFor(rail.Accept)}, ExpiresAt: time.Now().Add(-time.Second)}
	for _, result := range b.newRail().SendGroup(t.Context(), []rail.Instruction{order, order}) {
		require.Equal(t, rail.Result{Outcome: rail.NotSent, Code: rail.CodeExpired}, result)
	}
	require.Zero(t, b.Sends())
}

// TestPayoutThatNeedsItsOwnCallsLeavesTheGroup makes one payout look as after a restore:
// pending, and sent before under its key.
func TestPayoutThatNeedsItsOwnCallsLeavesTheGroup(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	b, fleet := s.openGroupBank(3, 3)
	require.NoError(t, s.Service.Releases.RegisterRail(t.Context(), IdentityOf(b.newRail())))
	s.execSQL("update payouts set attempts = 1 where id = (select id from payouts order by id limit 1)")
	s.execSQL(`insert into payout_attempts (payout_id, partner, number, key, started_at, ended_at, outcome, rail, rail_identity)
		select id, partner, 1, $1, now(), now(), 'unknown', 'http', $2 from payouts order by id limit 1`, s.RailKey(fleet[0].ID, 1), IdentityOf(b.newRail()).ID())
	require.NoError(t, s.runReleaseBatch(b.newRail()))
	require.Equal(t, []string{"pending", "released", "released"}, s.statusesOf(fleet))
	require.Equal(t, []int{2}, b.Groups())
	require.Equal(t, 1, s.countRows("river.river_job where kind = 'release_payout' and args ->> 'id' = $1", fleet[0].ID))
	require.NoError(t, s.runReleaseWith(b.newRail(), fleet[0]))
	require.Equal(t, "released", s.readPayout(fleet[0]).Status)
	require.Equal(t, 3, b.Sends())
}

// TestAnswerToAGroupMeetsAChangedPayout changes a payout between the call and its answer:
// the bank's notice of the same payment arrives first.
func TestAnswerToAGroupMeetsAChangedPayout(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	b, fleet := s.openGroupBank(2, 2)
	group, err := s.Service.Releases.BeginReleaseGroup(t.Context(), IdentityOf(b.newRail()), 5)
	require.NoError(t, err)
	require.Len(t, group.Orders, 2)
	accepted := payouts.RailAnswer{Outcome: payouts.OutcomeAccepted, Reference: "T-1"}
	_, err = s.Service.Releases.EndRelease(t.Context(), httprail.Name, group.Orders[0], accepted)
	require.NoError(t, err)
	ended, err := s.Service.Releases.EndReleaseGroup(t.Context(), httprail.Name, group.Orders, []payouts.RailAnswer{accepted, {Outcome: payouts.OutcomeAccepted, Reference: "T-2"}})
	require.NoError(t, err)
	require.Len(t, ended, 2)
	require.Equal(t, []string{"released", "released"}, s.statusesOf(fleet))
	require.Equal(t, 2, s.countRows("events where type = 'payout.released'"))

	// A refusal after the acceptance is a contradiction of its key alone.
	refused := payouts.RailAnswer{Outcome: payouts.OutcomeRefused, Code: "account_closed"}
	ended, err = s.Service.Releases.EndReleaseGroup(t.Context(), httprail.Name, group.Orders, []payouts.RailAnswer{refused, accepted})
	require.NoError(t, err)
	require.True(t, ended[0].Contradiction)
	require.False(t, ended[1].Contradiction)
	require.Equal(t, []string{"released", "released"}, s.statusesOf(fleet))
}

// newGroupSimulator returns a simulator that takes groups.
func newGroupSimulator(pool *pgxpool.Pool, size int) *rail.Simulator {
	return rail.NewSimulator(NewSimulatorStore(pool), rail.WithWait(noWait), rail.WithGroups(size))
}

func TestSimulatorTakesGroups(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.resetService(true)
	fleet := s.createPendingPayouts(5)
	require.NoError(t, s.runReleaseBatch(newGroupSimulator(s.pool, 2)))
	for _, status := range s.statusesOf(fleet) {
		require.Equal(t, "released", status)
	}
	require.Equal(t, len(fleet), s.countRows("simulator_transfers"))

	orders := make([]rail.Instruction, 0, 3)
	for i, behaviour := range []rail.Behaviour{rail.Accept, rail.RejectAtSend, rail.TimeOutAfterPaying} {
		orders = append(orders, rail.Instruction{Key: []string{"a.1", "b.1", "c.1"}[i], Amount: s.readPayout(fleet[0]).Amount, Payee: rail.Payee{Number: numberFor(behaviour)}})
	}
	simulator := newGroupSimulator(s.pool, 3)
	for _, want := range [][]rail.Outcome{{rail.Accepted, rail.Refused, rail.Unknown}, {rail.Accepted, rail.Refused, rail.Accepted}} {
		results := simulator.SendGroup(t.Context(), orders)
		require.Equal(t, want, []rail.Outcome{results[0].Outcome, results[1].Outcome, results[2].Outcome}, "an answer is lost once")
	}
	_, _, takes := rail.TakesGroups(newGroupSimulator(s.pool, 1))
	require.False(t, takes)
}
