package jobs

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"parapet/jobs/rail"
	"parapet/jobs/rail/httprail"
	"parapet/model/claims"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/payouts"
	"parapet/model/payouts/reconciliation"
	"parapet/model/payouts/release"
)

// countContradictions counts the open exceptions for contradictory rail answers.
func (s *fixture) countContradictions() (open []reconciliation.Exception) {
	s.t.Helper()
	list, err := s.Service.Reconciliation.ListExceptions(s.t.Context(), s.Operator, false, store.PageRequest{})
	require.NoError(s.t, err)
	for _, exception := range list.Data {
		if exception.Kind == release.ExceptionContradiction {
			open = append(open, exception)
		}
	}
	return open
}

// otherAccount gives a claim another verified account.
func (s *fixture) otherAccount(claim string) {
	s.t.Helper()
	other := s.RecordPayoutMethod(modeltest.IBANMethod(claim))
	require.NoError(s.t, s.Service.Payouts.RecordVerification(s.t.Context(), "acme", other.ID, s.rail.Name(), rail.CodeFound, true))
}

var refusal = rail.Result{Outcome: rail.Refused, Code: "account_closed"}

// TestFalseRefusalByNoticePaysOnce makes the bank pay, lose its answer, sign the answer
// to the inquiry wrongly and then send a refusal notice: nothing is sent under another
// key, and the next inquiry returns the true outcome.
func TestFalseRefusalByNoticePaysOnce(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	b := openBank(t)
	by := named{b.newRail(), "false refusal"}
	claim, job := s.createPendingPayout(numberFor(rail.Accept))
	b.SetBehaviour(b.hangUntilEnd, answerServerError, nil)
	isSnoozed(t, s.runReleaseWith(by, job))
	s.AdvanceClock(time.Minute)
	isSnoozed(t, s.runReleaseWith(by, job))
	key := s.RailKey(job.ID, 1)
	for range 3 { // a rail may repeat itself
		require.NoError(t, s.noticeRecorder(by).Record(t.Context(), key, refusal))
	}
	require.Equal(t, "reconciling", s.readPayout(job).Status)
	require.Equal(t, 1, s.countRows("timeline_entries where summary like '%asked to confirm that.'"))
	require.False(t, s.readPayout(job).NextAttemptAt.After(s.Now()), "it is asked at once")
	s.otherAccount(claim)
	b.SetBehaviour(nil, nil, nil)
	require.NoError(t, s.runReleaseWith(by, job))
	require.Equal(t, "released", s.readPayout(job).Status)
	require.Equal(t, 1, b.Sends())
	_, again := b.Executed(s.RailKey(job.ID, 2))
	require.False(t, again)
	require.Len(t, s.countContradictions(), 1, "it said no and had paid")
	require.InDelta(t, 1, testutil.ToFloat64(contradictionCount.WithLabelValues("false refusal")), 0)
	require.Contains(t, s.log.String(), `"msg":"rail contradiction"`)
	require.Empty(t, s.Violations())
}

// TestRefusalAfterAcceptanceIsAnException makes a bank refuse what it accepted: the
// payout stays as it is, and an exception is opened.
func TestRefusalAfterAcceptanceIsAnException(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	by := named{s.rail, "turncoat"}
	job := s.createPendingPayouts(1)[0]
	require.NoError(t, s.runReleaseWith(by, job))
	version := s.readPayout(job).Version
	for range 3 {
		require.NoError(t, s.noticeRecorder(by).Record(t.Context(), s.RailKey(job.ID, 1), refusal))
	}
	payout := s.readPayout(job)
	require.Equal(t, "released", payout.Status)
	require.Equal(t, version+1, payout.Version, "recorded once")
	found := s.countContradictions()
	require.Len(t, found, 1)
	require.Equal(t, job.ID, *found[0].PayoutID)
	require.InDelta(t, 3, testutil.ToFloat64(contradictionCount.WithLabelValues("turncoat")), 0)
	require.Equal(t, 1, s.countRows("payout_attempts where outcome = 'accepted'"), "a definite outcome is never overwritten")
	require.Empty(t, s.Violations())
}

// TestAcceptanceOfAKeyThatWasGivenUpIsAnException makes a bank accept what it had
// refused: while the payout is blocked, and after it was sent under the next key.
func TestAcceptanceOfAKeyThatWasGivenUpIsAnException(t *testing.T) {
	t.Parallel()
	for name, paidAgain := range map[string]bool{"before it is sent again": false, "after it was sent again": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFixture(t)
			claim, job := s.createPendingPayout(numberFor(rail.Accept))
			by := named{s.rail, "late yes " + name}
			require.NoError(t, s.runReleaseWith(&wrappedRail{Rail: by, send: func(context.Context, rail.Instruction) rail.Result { return refusal }}, job))
			if paidAgain {
				s.otherAccount(claim)
				require.NoError(t, s.runReleaseWith(by, job))
				require.Equal(t, "released", s.readPayout(job).Status)
			}
			yes := rail.Result{Outcome: rail.Accepted, Paid: s.readPayout(job).Amount, Payee: numberFor(rail.Accept).String(), Reference: "late"}
			require.NoError(t, s.noticeRecorder(by).Record(t.Context(), s.RailKey(job.ID, 1), yes))
			require.Len(t, s.countContradictions(), 1)
			require.InDelta(t, 1, testutil.ToFloat64(contradictionCount.WithLabelValues(by.name)), 0)
			require.Equal(t, paidAgain, s.readPayout(job).Status == "released")
			require.Equal(t, !paidAgain, s.readPayout(job).Status == "blocked" && *s.readPayout(job).BlockedReason == "rail_mismatch")
		})
	}
}

// TestNextKeyWaitsUntilTheEarlierOneIsVoided refuses a payout falsely at a bank that voids
// keys: it had paid, so the next key is never used.
func TestNextKeyWaitsUntilTheEarlierOneIsVoided(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	b := openBank(t)
	b.voids = true
	lying := func(w http.ResponseWriter, r *http.Request, _ func()) {
		b.WriteSigned(w, r, http.StatusUnprocessableEntity, httprail.Transfer{Key: r.Header.Get("Idempotency-Key"), Status: "refused", Code: "account_closed"})
	}
	claim, job := s.createPendingPayout(numberFor(rail.Accept))
	b.SetBehaviour(lying, nil, nil)
	require.NoError(t, s.runReleaseWith(b.newRail(), job))
	require.Equal(t, "rail_rejected", *s.readPayout(job).BlockedReason)
	b.SetBehaviour(nil, nil, nil)
	s.otherAccount(claim)
	require.NoError(t, s.runReleaseWith(b.newRail(), job))
	require.Equal(t, "rail_mismatch", *s.readPayout(job).BlockedReason)
	require.Equal(t, 1, b.Sends(), "the bank had paid under the first key")
	require.Len(t, s.countContradictions(), 1)
}

// TestVoidedKeyFreesTheNext resolves a payout as never received at a bank that voids
// keys. Nothing is sent until the void is answered; then the next key pays, and a delayed
// order under the first key is refused.
func TestVoidedKeyFreesTheNext(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	b := openBank(t)
	b.voids = true
	job := s.createPendingPayouts(1)[0]
	deaf := &wrappedRail{Rail: b.newRail(), send: func(context.Context, rail.Instruction) rail.Result { return rail.InDoubt("answer_lost", errHung) }}
	isSnoozed(t, s.runReleaseWith(deaf, job))
	_, err := s.Service.Payouts.Resolve(t.Context(), s.Operator, payouts.ResolutionRequest{PayoutID: job.ID, Outcome: claims.PayoutBlocked, Note: "The bank's letter."})
	require.NoError(t, err)
	_, err = s.Service.Payouts.Unblock(t.Context(), s.Operator, payouts.LiftHoldRequest{PayoutID: job.ID, Note: "It may go."})
	require.NoError(t, err)
	mute := &wrappedRail{Rail: b.newRail(), void: func(context.Context, string) rail.Result { return rail.InDoubt("answer_lost", errHung) }}
	isSnoozed(t, s.runReleaseWith(mute, job))
	require.Equal(t, "pending", s.readPayout(job).Status)
	require.Equal(t, 1, s.countRows("payout_attempts where outcome = 'not_sent' and code = $1", codeNotVoided))
	require.Zero(t, b.Sends())
	s.AdvanceClock(time.Minute)
	require.NoError(t, s.runReleaseWith(b.newRail(), job))
	require.Equal(t, "released", s.readPayout(job).Status)
	require.Equal(t, 1, b.Voids())
	_, executed := b.Executed(s.RailKey(job.ID, 2))
	require.True(t, executed)
	require.Equal(t, 1, s.countRows("payout_attempts where voided_at is not null and key = $1", s.RailKey(job.ID, 1)))

	// A delayed copy of the first order arrives.
	late := b.newRail().Send(t.Context(), rail.Instruction{Key: s.RailKey(job.ID, 1), PayoutID: job.ID, Amount: s.readPayout(job).Amount, Payee: rail.Payee{Number: numberFor(rail.Accept)}})
	require.Equal(t, rail.Result{Outcome: rail.Refused, Code: rail.CodeVoided}, late)
	require.Empty(t, s.Violations())
}

// TestKeyIsVoidedOnce refuses a payout three times: each earlier key is voided once.
func TestKeyIsVoidedOnce(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	b := openBank(t)
	b.voids = true
	claim, job := s.createPendingPayout(numberFor(rail.Accept))
	for n := range 3 {
		refusing := &wrappedRail{Rail: b.newRail(), send: func(context.Context, rail.Instruction) rail.Result { return refusal }}
		require.NoError(t, s.runReleaseWith(refusing, job))
		require.Equal(t, n, b.Voids())
		s.otherAccount(claim)
	}
	require.NoError(t, s.runReleaseWith(b.newRail(), job))
	require.Equal(t, 3, b.Voids())
	require.Equal(t, "released", s.readPayout(job).Status)
}

// TestEarlierKeyThatPaidBlocksTheReplacement refuses the first key falsely and returns what
// the second one paid. The bank answers the void of the first key before the replacement's
// is used: the replacement is blocked once, and after a report of the first key's return
// another one is paid.
func TestEarlierKeyThatPaidBlocksTheReplacement(t *testing.T) {
	t.Parallel()
	for name, erased := range map[string]bool{"whose account is known": false, "whose account was erased": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFixture(t)
			b := openBank(t)
			claim, first, second := s.falselyRefusedAndReturned(b)
			if erased {
				_, err := s.DB.Pool.Exec(t.Context(), "update payout_methods set sealed = '' where id = (select payout_method_id from payouts where replaces_payout_id is null)")
				require.NoError(t, err)
			}
			for range 3 {
				require.NoError(t, s.runReleaseWith(b.newRail(), payouts.ReleasePayout{Partner: "acme", ID: second}))
				require.Equal(t, "rail_mismatch", *s.Claim(claim).Payouts[1].BlockedReason)
				s.AdvanceClock(2 * time.Minute)
			}
			require.Equal(t, 1, s.countRows("payout_attempts where code = $1", codeEarlierKeyPaid))
			require.Equal(t, 2, b.Sends())
			require.Len(t, s.countContradictions(), 1)

			s.applyBankReport(b.newRail(), reconciliation.ReportLine{Key: s.RailKey(first, 1), Reference: "first key", Amount: s.Claim(claim).Payouts[0].Amount, Status: reconciliation.LineReturned, Code: "R01"})
			_, err := s.Service.Payouts.Resolve(t.Context(), s.Operator, payouts.ResolutionRequest{PayoutID: second, Outcome: claims.PayoutCancelled, Note: "It came back."})
			require.NoError(t, err)
			third := s.Claim(claim).Payouts[2].ID
			_, err = s.Service.Payouts.Approve(t.Context(), s.Operator, payouts.ApprovalRequest{PayoutID: third})
			require.NoError(t, err)
			require.NoError(t, s.runReleaseWith(b.newRail(), payouts.ReleasePayout{Partner: "acme", ID: third}))
			require.Equal(t, "released", s.Claim(claim).Payouts[2].Status)
		})
	}
}

// falselyRefusedAndReturned returns a payout whose first key the bank paid and reported
// as refused, and whose second key's payment was returned; its replacement is approved.
// From then on the bank voids keys.
func (s *fixture) falselyRefusedAndReturned(b *testBank) (claim, first, second string) {
	s.t.Helper()
	claim, job := s.createPendingPayout(numberFor(rail.Accept))
	b.SetBehaviour(func(w http.ResponseWriter, r *http.Request, _ func()) {
		b.WriteSigned(w, r, http.StatusUnprocessableEntity, httprail.Transfer{Key: r.Header.Get("Idempotency-Key"), Status: "refused", Code: "account_closed"})
	}, nil, nil)
	require.NoError(s.t, s.runReleaseWith(b.newRail(), job))
	b.SetBehaviour(nil, nil, nil)
	s.otherAccount(claim)
	require.NoError(s.t, s.runReleaseWith(b.newRail(), job))
	s.applyBankReport(b.newRail(), reconciliation.ReportLine{Key: s.RailKey(job.ID, 2), Reference: "second key", Amount: s.readPayout(job).Amount, Status: reconciliation.LineReturned, Code: "R01"})
	b.voids = true
	s.otherAccount(claim)
	second = s.Claim(claim).Payouts[1].ID
	_, err := s.Service.Payouts.Approve(s.t.Context(), s.Operator, payouts.ApprovalRequest{PayoutID: second})
	require.NoError(s.t, err)
	return claim, job.ID, second
}

// TestReportedRefusalDecidesWhereTheRailCannotTell resolves a doubt by a reported
// refusal: at a bank that does not know the key, and at one that this server no longer
// uses.
func TestReportedRefusalDecidesWhereTheRailCannotTell(t *testing.T) {
	t.Parallel()
	for name, elsewhere := range map[string]bool{"unknown key": false, "another bank": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFixture(t)
			b := openBank(t)
			job := s.createPendingPayouts(1)[0]
			isSnoozed(t, s.runReleaseWith(&wrappedRail{Rail: b.newRail(), send: func(context.Context, rail.Instruction) rail.Result { return rail.InDoubt("answer_lost", errHung) }}, job))
			s.applyBankReport(b.newRail(), reconciliation.ReportLine{Key: s.RailKey(job.ID, 1), Reference: "no", Amount: s.readPayout(job).Amount, Status: reconciliation.LineRejected, Code: "AC04"})
			require.Equal(t, "reconciling", s.readPayout(job).Status)
			now := b.newRail()
			if elsewhere {
				now = b.newRailAt("http://127.0.0.1:9/v1")
			}
			require.NoError(t, s.runReleaseWith(now, job))
			require.Equal(t, "rail_rejected", *s.readPayout(job).BlockedReason)
			require.Zero(t, b.Sends())
		})
	}
}
