package payouts_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"parapet/model/claims"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/payouts"
	"parapet/model/payouts/reconciliation"
	"parapet/model/payouts/release"
	"parapet/model/wire"
)

var notSent = payouts.RailAnswer{Outcome: payouts.OutcomeNotSent, Code: "connection refused"}

// duplicateStory merges two approved claims of a policy: one payout is released, the other
// one is at the rail.
type duplicateStory struct {
	*modeltest.Bundle

	t              *testing.T
	first, second  *wire.Claim // by the time of their decision
	order          *release.Release
	exception      reconciliation.Exception
	paysFirstClaim bool // order pays the first claim
}

func newDuplicateStory(t *testing.T, paysFirstClaim bool, options ...modeltest.Option) *duplicateStory {
	t.Helper()
	b := modeltest.New(t, options...)
	policy := b.QuoteAndBind("quake-circle", nil)
	at := b.Now()
	b.AdvanceClock(10 * time.Minute)
	for i, id := range []string{"us1", "us2"} {
		b.Observe(modeltest.Quake(id, at.Add(time.Duration(i)*2*time.Minute), modeltest.Epicentre, "6.4"))
		b.RunJobs()
	}
	both := b.Claims(policy)
	s := &duplicateStory{Bundle: b, t: t, first: both[0], second: both[1], paysFirstClaim: paysFirstClaim}
	b.RecordPayoutMethod(modeltest.IBANMethod(s.paid().ID))
	b.RunJobs()
	require.Equal(t, "released", modeltest.OnlyPayout(t, b, s.paid()).Status)
	b.RecordPayoutMethod(modeltest.IBANMethod(s.sending().ID))
	b.RunAccountChecks()
	s.order = s.begin()
	require.NotNil(t, s.order)
	joined := modeltest.Quake("us1", at, modeltest.Epicentre, "6.4")
	joined.Aliases = []string{"us2"}
	b.Observe(joined)
	b.RunJobs()
	exceptions := modeltest.Must(b.Service.Reconciliation.ListExceptions(t.Context(), b.Operator, false, store.PageRequest{})).Data
	require.Len(t, exceptions, 1)
	s.exception = exceptions[0]
	require.Equal(t, payouts.ExceptionPaidTwice, s.exception.Kind)
	require.Equal(t, modeltest.OnlyPayout(t, b, s.sending()).ID, *s.exception.PayoutID)
	return s
}

// sending returns the claim whose payout is at the rail.
func (s *duplicateStory) sending() *wire.Claim {
	if s.paysFirstClaim {
		return s.first
	}
	return s.second
}

// paid returns the claim whose payout is released.
func (s *duplicateStory) paid() *wire.Claim {
	if s.paysFirstClaim {
		return s.second
	}
	return s.first
}

// payout returns the newest payout of the claim that is not paid.
func (s *duplicateStory) payout() wire.Payout {
	all := s.Claim(s.sending().ID).Payouts
	return all[len(all)-1]
}

func (s *duplicateStory) begin() *release.Release {
	order, _, err := s.Service.Releases.BeginRelease(s.t.Context(), modeltest.ScriptedRail, "acme", s.payout().ID)
	require.NoError(s.t, err)
	return order
}

func (s *duplicateStory) end(answer payouts.RailAnswer) {
	_, err := s.Service.Releases.EndRelease(s.t.Context(), modeltest.RailName, s.order, answer)
	require.NoError(s.t, err)
}

func (s *duplicateStory) closeException() error {
	_, err := s.Service.Reconciliation.CloseException(s.t.Context(), s.Operator, reconciliation.CloseExceptionRequest{ID: s.exception.ID, Reason: "These were two earthquakes."})
	return err
}

// runDue runs what is due for a day.
func (s *duplicateStory) runDue() {
	for range 3 {
		s.AdvanceClock(12 * time.Hour)
		s.Sweep()
		s.RunJobs()
	}
}

// requireHeld checks that the payout is held, and paid exactly when an operator has closed the
// exception and lifted the hold.
func (s *duplicateStory) requireHeld() {
	s.t.Helper()
	require.Equal(s.t, "compliance_hold", *s.payout().BlockedReason)
	_, err := modeltest.LiftHold(s.t, s.Bundle, s.payout())
	require.Equal(s.t, apperr.CodeStateConflict, modeltest.DomainError(s.t, err).Code)
	require.Contains(s.t, modeltest.DomainError(s.t, err).Detail, "paid_twice")
	require.NoError(s.t, s.closeException())
	s.runDue()
	require.Equal(s.t, "compliance_hold", *s.payout().BlockedReason, "to close the exception pays nothing")
	modeltest.Must(modeltest.LiftHold(s.t, s.Bundle, s.payout()))
	s.runDue()
	require.Equal(s.t, "released", s.payout().Status)
}

// bothClaims runs a test with the payout of either claim at the rail.
func bothClaims(t *testing.T, test func(*testing.T, *duplicateStory)) {
	t.Helper()
	for name, first := range map[string]bool{"first claim": true, "second claim": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newDuplicateStory(t, first))
		})
	}
}

func TestUnsentPayoutOfMergedClaimIsHeldAtItsRelease(t *testing.T) {
	t.Parallel()
	bothClaims(t, func(t *testing.T, s *duplicateStory) {
		t.Helper()
		s.end(notSent)
		require.Equal(t, "pending", s.payout().Status)
		s.AdvanceClock(time.Minute)
		require.Nil(t, s.begin())
		s.requireHeld()
	})
}

func TestUnsentPayoutOfMergedClaimIsHeldInItsBatch(t *testing.T) {
	t.Parallel()
	bothClaims(t, func(t *testing.T, s *duplicateStory) {
		t.Helper()
		s.end(notSent)
		s.AdvanceClock(time.Minute)
		taken, _, err := s.Service.Releases.ReleaseBatch(t.Context(), modeltest.ScriptedRail, 10, func(context.Context, *pgx.Conn, []*release.Release) ([]payouts.RailAnswer, error) {
			panic("nothing is sent")
		})
		require.NoError(t, err)
		require.Equal(t, 1, taken)
		s.requireHeld()
	})
}

func TestRefusedPayoutOfMergedClaimIsHeldWithItsNextAccount(t *testing.T) {
	t.Parallel()
	bothClaims(t, func(_ *testing.T, s *duplicateStory) {
		s.end(modeltest.Refused)
		s.RecordPayoutMethod(modeltest.BritishIBAN(s.sending().ID))
		s.RunJobs()
		s.requireHeld()
	})
}

// TestPayoutInDoubtOfMergedClaimIsNotSentAgain loses the rail's answer: the rail is asked, but
// gets no second order, and the exception cannot be closed before its answer.
func TestPayoutInDoubtOfMergedClaimIsNotSentAgain(t *testing.T) {
	t.Parallel()
	bothClaims(t, func(t *testing.T, s *duplicateStory) {
		t.Helper()
		closing := modeltest.DomainError(t, s.closeException())
		require.Equal(t, apperr.CodeStateConflict, closing.Code)
		require.Contains(t, closing.Detail, s.payout().ID)
		s.end(modeltest.Unknown)
		s.AdvanceClock(time.Minute)
		s.order = s.begin()
		require.True(t, s.order.InquireOnly)
		s.end(modeltest.Accepted)
		require.NoError(t, s.closeException())
		require.Equal(t, "released", s.payout().Status)
	})
}

// TestClosedExceptionHoldsWhatItKeptFromBeingSent closes the exception before the payout is
// tried again.
func TestClosedExceptionHoldsWhatItKeptFromBeingSent(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]payouts.RailAnswer{"not sent": notSent, "refused": modeltest.Refused} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bothClaims(t, func(t *testing.T, s *duplicateStory) {
				t.Helper()
				s.end(answer)
				require.NoError(t, s.closeException())
				require.Equal(t, "compliance_hold", *s.payout().BlockedReason)
				s.RecordPayoutMethod(modeltest.BritishIBAN(s.sending().ID))
				s.runDue()
				require.Equal(t, "compliance_hold", *s.payout().BlockedReason)
				modeltest.Must(modeltest.LiftHold(t, s.Bundle, s.payout()))
				s.runDue()
				require.Equal(t, "released", s.payout().Status)
			})
		})
	}
}

func TestReplacementOfReturnedDuplicateIsHeld(t *testing.T) {
	t.Parallel()
	s := newDuplicateStory(t, false)
	s.end(modeltest.Accepted)
	modeltest.Reconcile(t, s.Bundle, "day", modeltest.ReportLine(s.Bundle, s.payout(), "returned"))
	require.NotNil(t, s.payout().ReplacesPayoutID)
	require.Equal(t, "compliance_hold", *s.payout().BlockedReason)
	_, err := modeltest.ApprovePayoutAs(t, s.Bundle, "ann", s.payout())
	require.NoError(t, err)
	s.requireHeld()
}

func TestLiftedOperatorHoldShowsDoublePayment(t *testing.T) {
	t.Parallel()
	s := newDuplicateStory(t, false)
	s.end(notSent)
	modeltest.Must(modeltest.HoldPayout(t, s.Bundle, s.payout(), claims.BlockedOperator))
	modeltest.Must(modeltest.LiftHold(t, s.Bundle, s.payout()))
	s.requireHeld()
}

// TestDoublePaymentHoldsOnlyWhatRepeatsAPayment sets the state of the payout that an exception
// reports while the one that it repeats waits, as if both had been at the rail at the merge.
func TestDoublePaymentHoldsOnlyWhatRepeatsAPayment(t *testing.T) {
	t.Parallel()
	for state, holds := range map[string]bool{
		"status = 'pending', released_at = null":                                   false,
		"status = 'blocked', blocked_reason = 'operator_hold', released_at = null": false,
		"status = 'cancelled', released_at = null":                                 false,
		"status = 'returned'":                                                      false,
		"status = 'cancelled', settled_externally = true, released_at = null":      true,
		"status = 'blocked', blocked_reason = 'rail_mismatch', released_at = null": true,
		"status = 'releasing', released_at = null":                                 true,
		"status = 'reconciling', released_at = null":                               true,
		"status = 'released'":                                                      true,
		"status = 'reconciled', reconciled_at = business_now()":                    true,
	} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			s := newDuplicateStory(t, true, modeltest.WithoutChecks())
			s.end(notSent)
			modeltest.ExecSQL(t, s.Bundle, "update reconciliation_exceptions set payout_id = related_payout_id, related_payout_id = payout_id")
			_, err := s.DB.Pool.Exec(t.Context(), "update payouts set next_attempt_at = null, "+state+" where claim_id = (select claim_id from payouts where status = 'released')")
			require.NoError(t, err)
			s.AdvanceClock(time.Minute)
			require.Equal(t, holds, s.begin() == nil)
		})
	}
}

func TestOtherExceptionsAndPartsAreNoDoublePayment(t *testing.T) {
	t.Parallel()
	const ofPaidOne = "with paid as (select id, claim_id from payouts where status = 'released'), " +
		"other as (update reconciliation_exceptions set payout_id = paid.id, related_payout_id = paid.id from paid) "
	for name, change := range map[string]string{
		"another kind of exception": "update reconciliation_exceptions set kind = 'contradiction', related_payout_id = null",
		"another claim":             ofPaidOne + "select",
		"another part of the claim": ofPaidOne + "update payouts set claim_id = paid.claim_id, claim_sequence = 2, installment = 2 from paid where status = 'pending'",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newDuplicateStory(t, false, modeltest.WithoutChecks())
			s.end(notSent)
			payout := s.payout()
			_, err := s.DB.Pool.Exec(t.Context(), change)
			require.NoError(t, err)
			modeltest.Must(modeltest.HoldPayout(t, s.Bundle, payout, claims.BlockedCompliance))
			require.Equal(t, "pending", modeltest.Must(modeltest.LiftHold(t, s.Bundle, payout)).Status)
			order, _, err := s.Service.Releases.BeginRelease(t.Context(), modeltest.ScriptedRail, "acme", payout.ID)
			require.NoError(t, err)
			require.NotNil(t, order)
		})
	}
}
