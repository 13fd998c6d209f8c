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
	"parapet/model"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// promise is where a payout gets by itself for each behaviour of an account.
type promise struct {
	status  string
	reason  string // why it is blocked
	refused int    // lines in the rail's books that pay nobody
}

var promises = map[rail.Behaviour]promise{
	rail.Accept:             {status: "released"},
	rail.Slow:               {status: "released"},
	rail.RejectAtSend:       {status: "blocked", reason: "rail_rejected", refused: 1},
	rail.RefuseVerification: {status: "blocked", reason: "payout_method_missing"},
	rail.TimeOutAfterPaying: {status: "reconciling"},
}

// TestEveryMagicNumberPaysOnce lets every test number be paid in its own claim,
// cures what got stuck, and then reads the rail's own books.
func TestEveryMagicNumberPaysOnce(t *testing.T) {
	t.Parallel()
	s := open(t)
	claims := make(map[string]rail.TestNumber)
	policies := make(map[rail.TestNumber]*wire.Policy)
	for _, test := range rail.TestNumbers() {
		policies[test] = s.Cover("quake-circle", nil)
	}
	s.Observe(modeltest.Quake("us1000chhc", s.Now(), epicentre, "6.4"))
	s.start()
	s.rest()
	for test, policy := range policies {
		claim := s.OnlyClaim(policy).ID
		claims[claim] = test
		in := modeltest.IBAN(claim)
		in.Number = number(test)
		s.Record(in)
	}

	for claim, test := range claims {
		want := promises[test.Behaviour]
		s.eventually(func() bool {
			p := s.payout(claim)
			return p.Status == want.status && (want.reason == "" || *p.BlockedReason == want.reason)
		}, test.Number+" becomes "+want.status+" "+want.reason)
		require.Equal(t, want.refused, s.transfers(s.payout(claim).ID, rail.Refused))
		if want.status == "blocked" {
			require.Zero(t, s.transfers(s.payout(claim).ID, rail.Accepted))
			s.Record(modeltest.IBAN(claim))
		}
	}
	s.hurry(time.Minute)

	for claim, test := range claims {
		payout := s.becomes(claim, "released")
		s.settled(payout, promises[test.Behaviour])
		require.Equal(t, test.Behaviour == rail.TimeOutAfterPaying || test.Behaviour == rail.RejectAtSend, payout.Attempts == 2, test.Number)
	}
	s.rest()
	require.NotContains(t, s.log.String(), "Lin Mei-hua")
	require.NotContains(t, s.log.String(), "DE89370400440532013000")
	require.NotContains(t, s.log.String(), "DE84370400440000000003", "also of an account in doubt")
	require.Contains(t, s.log.String(), `"msg":"job waits","kind":"release_payout"`)
	require.Contains(t, s.log.String(), `"msg":"rail in doubt"`, "why nobody knows is for the log alone")
}

// settled holds a released payout against the rail's books: one transfer, under
// the key that grew with each refusal and not with doubt.
func (s *shop) settled(payout wire.Payout, p promise) {
	s.t.Helper()
	require.Equal(s.t, 1, s.transfers(payout.ID, rail.Accepted))
	require.Equal(s.t, p.refused, s.transfers(payout.ID, rail.Refused))
	entry, found, err := NewLedger(s.pool).Find(s.t.Context(), s.RailKey(payout.ID, p.refused+1))
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
	s := open(t)
	claim, job := s.owed(numberFor(rail.Accept))
	ended := make([]error, 8)
	var all sync.WaitGroup
	for i := range ended {
		all.Go(func() { ended[i] = s.release(job) })
	}
	all.Wait()
	for _, err := range ended {
		var snooze *rivertype.JobSnoozeError
		require.True(t, err == nil || errors.As(err, &snooze), "%v", err)
	}
	payout := s.payout(claim)
	require.Equal(t, "released", payout.Status)
	require.Equal(t, 1, payout.Attempts)
	require.Equal(t, 1, s.count("payout_attempts"))
	s.settled(payout, promise{})
}

// A second worker comes while the first one's call is under way.
func TestASecondWorkerWaitsForTheFirstOnesCall(t *testing.T) {
	t.Parallel()
	called, answer := make(chan struct{}), make(chan struct{})
	s := openWith(t, func(ctx context.Context, _ time.Duration) error {
		close(called)
		<-answer
		return ctx.Err()
	})
	claim, job := s.owed(numberFor(rail.Slow))
	first := make(chan error, 1)
	go func() { first <- s.release(job) }()
	<-called
	var snooze *rivertype.JobSnoozeError
	require.ErrorAs(t, s.release(job), &snooze)
	require.Greater(t, snooze.Duration, railTimeout, "until the first one's call must have ended")
	close(answer)
	require.NoError(t, <-first)
	require.NoError(t, s.release(job), "nothing is left to do")
	require.Equal(t, 1, s.payout(claim).Attempts)
	s.settled(s.payout(claim), promise{})
}

// TestADeadWorkerLeavesDoubt ends a worker between its intent and the record of
// the outcome, before or after the rail heard of it: it is asked first, and the
// payout goes out once.
func TestADeadWorkerLeavesDoubt(t *testing.T) {
	t.Parallel()
	for name, sent := range map[string]bool{"before the call": false, "after the call": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			claim, job := s.owed(numberFor(rail.Accept))
			order, wait, err := s.Service.BeginRelease(t.Context(), IdentityOf(s.rail), job.Partner, job.ID)
			require.NoError(t, err)
			require.Zero(t, wait)
			require.False(t, order.Doubt)
			if sent {
				require.Equal(t, rail.Accepted, s.rail.Send(t.Context(), rail.Instruction{
					Key: order.Key, PayoutID: order.PayoutID, Amount: order.Amount,
					Payee: rail.Payee{Beneficiary: order.Beneficiary, Number: order.Number},
				}).Outcome)
			}
			var snooze *rivertype.JobSnoozeError
			require.ErrorAs(t, s.release(job), &snooze, "nobody takes over before the lease ends")
			s.After(time.Minute)
			s.start()
			payout := s.becomes(claim, "released")
			require.Equal(t, 2, payout.Attempts)
			s.settled(payout, promise{})
			require.Equal(t, 2, s.count("payout_attempts where key = $1", order.Key))

			// The dead worker was only slow: its word changes nothing any more.
			_, err = s.Service.EndRelease(t.Context(), s.rail.Name(), order, model.RailAnswer{Outcome: model.OutcomeUnknown})
			require.NoError(t, err)
			require.Equal(t, "released", s.payout(claim).Status)
		})
	}
}

// TestTheSweepRevivesWhatLostItsJob deletes the alarm; the due time is the truth.
func TestTheSweepRevivesWhatLostItsJob(t *testing.T) {
	t.Parallel()
	s := open(t)
	quote := s.Quote("quake-circle", nil)
	claim, _ := s.owed(numberFor(rail.Accept))
	s.exec("delete from river.river_job")
	s.After(25 * time.Hour)
	s.start()
	s.settled(s.becomes(claim, "released"), promise{})
	s.eventually(func() bool {
		read, err := s.Service.GetQuote(t.Context(), s.Acme, quote.ID)
		return err == nil && read.Status == "expired"
	}, "the quote expires after its validity")
}

// What the rail said becomes the domain's word; only what it confirms to the
// cent and the account counts as paid.
func TestAnswerKeepsDoubtApartFromRefusal(t *testing.T) {
	t.Parallel()
	order := rail.Instruction{Key: "pay_1.1", PayoutID: "pay_1", Payee: rail.Payee{Number: numberFor(rail.Accept)}}
	order.Amount.Amount, order.Amount.Currency = 2_000_000, "USD"
	paid := rail.NewSimulator(rail.NewMemory()).Send(t.Context(), order)
	less := paid
	less.Paid.Amount--
	for _, test := range []struct {
		said rail.Result
		want model.Outcome
	}{
		{paid, model.OutcomeAccepted},
		{less, model.OutcomeMismatch},
		{rail.Result{Outcome: rail.Accepted}, model.OutcomeMismatch},
		{rail.Result{Outcome: rail.Refused}, model.OutcomeRefused},
		{rail.Result{Outcome: rail.Unknown}, model.OutcomeUnknown},
		{rail.Result{Outcome: rail.NotFound}, model.OutcomeUnknown},
		{rail.Result{Outcome: "news"}, model.OutcomeUnknown},
		{rail.Result{}, model.OutcomeUnknown},
	} {
		require.Equal(t, test.want, answer(test.said, order).Outcome, "%+v", test.said)
	}
}

// TestAnOldRefusalDoesNotTouchANewKey lets a worker come back after its payout
// was refused, got another method and is under way again under the next key: its
// late word is about the old key alone, or the money on its way would be sent again.
func TestAnOldRefusalDoesNotTouchANewKey(t *testing.T) {
	t.Parallel()
	s := open(t)
	claim, job := s.owed(numberFor(rail.RejectAtSend))
	begin := func() *model.Release {
		order, _, err := s.Service.BeginRelease(t.Context(), IdentityOf(s.rail), job.Partner, job.ID)
		require.NoError(t, err)
		require.NotNil(t, order)
		return order
	}
	slow := begin()
	s.After(time.Minute)
	require.NoError(t, s.release(job))
	require.Equal(t, "rail_rejected", *s.payout(claim).BlockedReason)
	method := s.Record(modeltest.IBAN(claim))
	require.NoError(t, s.Service.RecordVerification(t.Context(), "acme", method.ID, s.rail.Name(), rail.CodeFound, true))
	require.Equal(t, s.RailKey(slow.PayoutID, 2), begin().Key)

	for _, outcome := range []model.Outcome{model.OutcomeRefused, model.OutcomeUnknown} {
		_, err := s.Service.EndRelease(t.Context(), s.rail.Name(), slow, model.RailAnswer{Outcome: outcome, Code: rail.CodeRejected})
		require.NoError(t, err)
		require.Equal(t, "releasing", s.payout(claim).Status, outcome)
	}
	s.After(time.Minute)
	require.NoError(t, s.release(job))
	s.settled(s.payout(claim), promise{refused: 1})
}
