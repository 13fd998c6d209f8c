package jobs

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"

	"parapet/jobs/rail"
	"parapet/model/modeltest"
	"parapet/model/payouts"
	"parapet/model/payouts/release"
	"parapet/model/wire"
)

// behaviourCase is the final status of a payout for each behaviour of an account.
type behaviourCase struct {
	status  string
	reason  string // the reason why it is blocked
	refused int    // refusals recorded by the rail
}

var behaviourCases = map[rail.Behaviour]behaviourCase{
	rail.Accept:             {status: "released"},
	rail.Slow:               {status: "released"},
	rail.ReturnAfterPaying:  {status: "released"},
	rail.ReportOtherAmount:  {status: "released"},
	rail.RejectAtSend:       {status: "blocked", reason: "rail_rejected", refused: 1},
	rail.RefuseVerification: {status: "blocked", reason: "payout_method_missing"},
	rail.TimeOutAfterPaying: {status: "reconciling"},
}

// TestEveryTestNumberPaysOnce pays every test number in its own claim, resolves the
// payouts that stay in doubt or blocked, and then reads the rail's transfers.
func TestEveryTestNumberPaysOnce(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	claims := make(map[string]rail.TestNumber)
	policies := make(map[rail.TestNumber]*wire.Policy)
	for _, test := range rail.TestNumbers() {
		policies[test] = s.QuoteAndBind("quake-circle", nil)
	}
	s.Observe(modeltest.Quake("us1000chhc", s.Now(), epicentre, "6.4"))
	s.startWorkers()
	s.waitUntilIdle()
	for test, policy := range policies {
		claim := s.OnlyClaim(policy).ID
		claims[claim] = test
		in := modeltest.IBANMethod(claim)
		in.Number = number(test)
		s.RecordPayoutMethod(in)
	}

	for claim, test := range claims {
		want := behaviourCases[test.Behaviour]
		s.requireEventually(func() bool {
			p := s.onlyPayout(claim)
			return p.Status == want.status && (want.reason == "" || *p.BlockedReason == want.reason)
		}, test.Number+" becomes "+want.status+" "+want.reason)
		require.Equal(t, want.refused, s.countTransfers(s.onlyPayout(claim).ID, rail.Refused))
		if want.status == "blocked" {
			require.Zero(t, s.countTransfers(s.onlyPayout(claim).ID, rail.Accepted))
			s.RecordPayoutMethod(modeltest.IBANMethod(claim))
		}
	}
	s.advanceJobs(time.Minute)

	for claim, test := range claims {
		payout := s.waitForPayoutStatus(claim, "released")
		s.settled(payout, behaviourCases[test.Behaviour])
		require.Equal(t, test.Behaviour == rail.TimeOutAfterPaying || test.Behaviour == rail.RejectAtSend, payout.Attempts == 2, test.Number)
	}
	s.waitUntilIdle()
	require.NotContains(t, s.log.String(), "Lin Mei-hua")
	require.NotContains(t, s.log.String(), "DE89370400440532013000")
	require.NotContains(t, s.log.String(), "DE84370400440000000003", "also of an account in doubt")
	require.Contains(t, s.log.String(), `"msg":"job snoozed","kind":"release_payout"`)
	require.Contains(t, s.log.String(), `"msg":"rail outcome unknown"`, "the cause is only in the log")
}

// settled compares a released payout with the rail's transfers: there is one transfer,
// under a key whose number increased with each refusal and with no doubt.
func (s *fixture) settled(payout wire.Payout, p behaviourCase) {
	s.t.Helper()
	require.Equal(s.t, 1, s.countTransfers(payout.ID, rail.Accepted))
	require.Equal(s.t, p.refused, s.countTransfers(payout.ID, rail.Refused))
	entry, found, err := NewSimulatorStore(s.pool).Find(s.t.Context(), s.RailKey(payout.ID, p.refused+1))
	require.NoError(s.t, err)
	require.True(s.t, found)
	require.Equal(s.t, rail.Accepted, entry.Outcome)
	require.Equal(s.t, payout.Amount, entry.Amount)
	require.Equal(s.t, entry.Reference, *payout.ProviderReference)
	require.Equal(s.t, rail.SimulatorName, *payout.Provider)
	require.NotNil(s.t, payout.ReleasedAt)
	require.Nil(s.t, payout.NextAttemptAt)
}

func TestManyWorkersOnOnePayoutCallTheRailOnce(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	claim, job := s.createPendingPayout(numberFor(rail.Accept))
	ended := make([]error, 8)
	var all sync.WaitGroup
	for i := range ended {
		all.Go(func() { ended[i] = s.runRelease(job) })
	}
	all.Wait()
	for _, err := range ended {
		var snooze *rivertype.JobSnoozeError
		require.True(t, err == nil || errors.As(err, &snooze), "%v", err)
	}
	payout := s.onlyPayout(claim)
	require.Equal(t, "released", payout.Status)
	require.Equal(t, 1, payout.Attempts)
	require.Equal(t, 1, s.countRows("payout_attempts"))
	s.settled(payout, behaviourCase{})
}

// A second worker begins while the call of the first one runs.
func TestASecondWorkerWaitsForTheFirstOnesCall(t *testing.T) {
	t.Parallel()
	called, answer := make(chan struct{}), make(chan struct{})
	s := newFixtureWith(t, func(ctx context.Context, _ time.Duration) error {
		close(called)
		<-answer
		return ctx.Err()
	})
	claim, job := s.createPendingPayout(numberFor(rail.Slow))
	first := make(chan error, 1)
	go func() { first <- s.runRelease(job) }()
	<-called
	var snooze *rivertype.JobSnoozeError
	require.ErrorAs(t, s.runRelease(job), &snooze)
	require.Greater(t, snooze.Duration, railTimeout, "until the first one's call must have ended")
	close(answer)
	require.NoError(t, <-first)
	require.NoError(t, s.runRelease(job), "nothing is left to do")
	require.Equal(t, 1, s.onlyPayout(claim).Attempts)
	s.settled(s.onlyPayout(claim), behaviourCase{})
}

// TestDeadWorkerLeavesPayoutInDoubt ends a worker between its intent and the record of
// the outcome, before or after the rail received the order: the rail gets an inquiry
// first, and the payout is sent once.
func TestDeadWorkerLeavesPayoutInDoubt(t *testing.T) {
	t.Parallel()
	for name, sent := range map[string]bool{"before the call": false, "after the call": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFixture(t)
			claim, job := s.createPendingPayout(numberFor(rail.Accept))
			order, wait, err := s.Service.Releases.BeginRelease(t.Context(), IdentityOf(s.rail), job.Partner, job.ID)
			require.NoError(t, err)
			require.Zero(t, wait)
			require.False(t, order.InDoubt)
			if sent {
				require.Equal(t, rail.Accepted, s.rail.Send(t.Context(), rail.Instruction{
					Key: order.Key, PayoutID: order.PayoutID, Amount: order.Amount,
					Payee: rail.Payee{Beneficiary: order.Beneficiary, Number: order.Number},
				}).Outcome)
			}
			var snooze *rivertype.JobSnoozeError
			require.ErrorAs(t, s.runRelease(job), &snooze, "no other worker takes over before the lease ends")
			s.AdvanceClock(time.Minute)
			s.startWorkers()
			payout := s.waitForPayoutStatus(claim, "released")
			require.Equal(t, 2, payout.Attempts)
			s.settled(payout, behaviourCase{})
			require.Equal(t, 2, s.countRows("payout_attempts where key = $1", order.Key))

			// The first worker was only slow: its answer changes nothing now.
			_, err = s.Service.Releases.EndRelease(t.Context(), s.rail.Name(), order, payouts.RailAnswer{Outcome: payouts.OutcomeUnknown})
			require.NoError(t, err)
			require.Equal(t, "released", s.onlyPayout(claim).Status)
		})
	}
}

// TestSweepReenqueuesLostJobs deletes the job; the due time in the table decides.
func TestSweepReenqueuesLostJobs(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	quote := s.Quote("quake-circle", nil)
	claim, _ := s.createPendingPayout(numberFor(rail.Accept))
	s.execSQL("delete from river.river_job")
	s.AdvanceClock(25 * time.Hour)
	s.startWorkers()
	s.settled(s.waitForPayoutStatus(claim, "released"), behaviourCase{})
	s.requireEventually(func() bool {
		read, err := s.Service.Quotes.Get(t.Context(), s.Acme, quote.ID)
		return err == nil && read.Status == "expired"
	}, "the quote expires after its validity")
}

// The rail's result is converted to the domain's; only an exact match of amount and
// account counts as paid.
func TestUnknownOutcomeIsNotRefusal(t *testing.T) {
	t.Parallel()
	order := rail.Instruction{Key: "pay_1.1", PayoutID: "pay_1", Payee: rail.Payee{Number: numberFor(rail.Accept)}}
	order.Amount.Amount, order.Amount.Currency = 2_000_000, "USD"
	paid := rail.NewSimulator(rail.NewMemoryStore()).Send(t.Context(), order)
	less := paid
	less.Paid.Amount--
	for _, test := range []struct {
		said rail.Result
		want payouts.Outcome
	}{
		{paid, payouts.OutcomeAccepted},
		{less, payouts.OutcomeMismatch},
		{rail.Result{Outcome: rail.Accepted}, payouts.OutcomeMismatch},
		{rail.Result{Outcome: rail.Refused}, payouts.OutcomeRefused},
		{rail.Result{Outcome: rail.Unknown}, payouts.OutcomeUnknown},
		{rail.Result{Outcome: rail.NotFound}, payouts.OutcomeUnknown},
		{rail.Result{Outcome: "news"}, payouts.OutcomeUnknown},
		{rail.Result{}, payouts.OutcomeUnknown},
	} {
		require.Equal(t, test.want, toRailAnswer(test.said, order).Outcome, "%+v", test.said)
	}
}

// TestAnOldRefusalDoesNotTouchANewKey makes a worker report late, after its payout was
// refused, got another method and is in flight under the next key: the late result
// applies only to the old key; otherwise the payment in flight would be sent again.
func TestAnOldRefusalDoesNotTouchANewKey(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	claim, job := s.createPendingPayout(numberFor(rail.RejectAtSend))
	begin := func() *release.Release {
		order, _, err := s.Service.Releases.BeginRelease(t.Context(), IdentityOf(s.rail), job.Partner, job.ID)
		require.NoError(t, err)
		require.NotNil(t, order)
		return order
	}
	slow := begin()
	s.AdvanceClock(time.Minute)
	require.NoError(t, s.runRelease(job))
	require.Equal(t, "rail_rejected", *s.onlyPayout(claim).BlockedReason)
	method := s.RecordPayoutMethod(modeltest.IBANMethod(claim))
	require.NoError(t, s.Service.Payouts.RecordVerification(t.Context(), "acme", method.ID, s.rail.Name(), rail.CodeFound, true))
	require.Equal(t, s.RailKey(slow.PayoutID, 2), begin().Key)

	for _, outcome := range []payouts.Outcome{payouts.OutcomeRefused, payouts.OutcomeUnknown} {
		_, err := s.Service.Releases.EndRelease(t.Context(), s.rail.Name(), slow, payouts.RailAnswer{Outcome: outcome, Code: rail.CodeRejected})
		require.NoError(t, err)
		require.Equal(t, "releasing", s.onlyPayout(claim).Status, outcome)
	}
	s.AdvanceClock(time.Minute)
	require.NoError(t, s.runRelease(job))
	s.settled(s.onlyPayout(claim), behaviourCase{refused: 1})
}
