package reconciliation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/payouts/reconciliation"
	"parapet/model/wire"
)

// dated is a line of a day of January 2027.
func dated(l reconciliation.ReportLine, day int, reference string) reconciliation.ReportLine {
	l.At, l.Reference = time.Date(2027, 1, day, 0, 0, 0, 0, time.UTC), reference
	return l
}

// TestRepeatedReturnDoesNotTakeBackALaterArrival imports a statement that repeats the
// lines of earlier ones after a return was undone.
func TestRepeatedReturnDoesNotTakeBackALaterArrival(t *testing.T) {
	t.Parallel()
	for name, undone := range map[string]int{"on a later day": 4, "on the same day": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, claim, payout := modeltest.NewPayoutWithAnswer(t, modeltest.Accepted)
			settled, back := dated(modeltest.ReportLine(b, payout, "settled"), 1, "paid"), dated(modeltest.ReportLine(b, payout, "returned"), 3, "back")
			modeltest.Reconcile(t, b, "settled", settled)
			modeltest.Reconcile(t, b, "returned", back)
			require.Equal(t, map[string]int{"reversed": 1}, modeltest.Reconcile(t, b, "undone", dated(settled, undone, "reversal")).Results)
			require.Equal(t, map[string]int{"duplicate": 2}, modeltest.Reconcile(t, b, "repeats the old lines", settled, back).Results)
			requireNotPaidAgain(t, b, claim)
		})
	}
}

// TestReturnOlderThanTheArrivalDoesNotTakeItBack imports the statements in another order.
func TestReturnOlderThanTheArrivalDoesNotTakeItBack(t *testing.T) {
	t.Parallel()
	b, claim, first := modeltest.NewPayoutWithAnswer(t, modeltest.Mismatched)
	modeltest.Must(modeltest.ResolvePayout(t, b, first, claims.PayoutCancelled, "", false))
	modeltest.Reconcile(t, b, "arrived", dated(modeltest.ReportLine(b, first, "settled"), 4, "paid again"))
	modeltest.Reconcile(t, b, "came back before", dated(modeltest.ReportLine(b, first, "returned"), 3, "back"))
	requireNotPaidAgain(t, b, claim)
	modeltest.Reconcile(t, b, "came back after", dated(modeltest.ReportLine(b, first, "returned"), 5, "back again"))
	modeltest.Must(modeltest.ResolvePayout(t, b, b.Claim(claim.ID).Payouts[1], claims.PayoutCancelled, "", false))
	require.Equal(t, "approval_required", *b.Claim(claim.ID).Payouts[2].BlockedReason)
}

// TestRepeatedSettlementOfWhatCameBackBarsNothing repeats both lines of a payout that was
// cancelled: together they change nothing.
func TestRepeatedSettlementOfWhatCameBackBarsNothing(t *testing.T) {
	t.Parallel()
	b, claim, first := modeltest.NewPayoutWithAnswer(t, modeltest.Mismatched)
	modeltest.Must(modeltest.ResolvePayout(t, b, first, claims.PayoutCancelled, "", false))
	settled, back := dated(modeltest.ReportLine(b, first, "settled"), 1, "paid"), dated(modeltest.ReportLine(b, first, "returned"), 3, "back")
	modeltest.Reconcile(t, b, "one", settled)
	modeltest.Reconcile(t, b, "two", back)
	modeltest.Must(modeltest.ResolvePayout(t, b, b.Claim(claim.ID).Payouts[1], claims.PayoutCancelled, "", false))
	modeltest.Must(modeltest.ApprovePayoutAs(t, b, "ann", b.Claim(claim.ID).Payouts[2]))
	require.Equal(t, map[string]int{"duplicate": 1, "state": 1}, modeltest.Reconcile(t, b, "both again", settled, back).Results)
	require.Equal(t, "pending", b.Claim(claim.ID).Payouts[2].Status)
}

// requireNotPaidAgain checks that the second payout of a claim, which replaces the first,
// can only be cancelled as paid.
func requireNotPaidAgain(t *testing.T, b *modeltest.Bundle, claim *wire.Claim) {
	t.Helper()
	second := b.Claim(claim.ID).Payouts[1]
	require.Equal(t, "rail_mismatch", *second.BlockedReason)
	_, err := modeltest.ResolvePayout(t, b, second, claims.PayoutCancelled, "", false)
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code)
}
