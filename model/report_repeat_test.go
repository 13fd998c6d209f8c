package model_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// dated is a line of a day of January 2027.
func dated(l model.ReportLine, day int, reference string) model.ReportLine {
	l.At, l.Reference = time.Date(2027, 1, day, 0, 0, 0, 0, time.UTC), reference
	return l
}

// TestRepeatedReturnDoesNotTakeBackALaterArrival lets a statement repeat the lines of
// earlier ones after a return was undone.
func TestRepeatedReturnDoesNotTakeBackALaterArrival(t *testing.T) {
	t.Parallel()
	for name, undone := range map[string]int{"on a later day": 4, "on the same day": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, claim, payout := newPayoutWithAnswer(t, modeltest.Accepted)
			settled, back := dated(line(b, payout, "settled"), 1, "paid"), dated(line(b, payout, "returned"), 3, "back")
			reconcile(t, b, "settled", settled)
			reconcile(t, b, "returned", back)
			require.Equal(t, map[string]int{"reversed": 1}, reconcile(t, b, "undone", dated(settled, undone, "reversal")).Results)
			require.Equal(t, map[string]int{"duplicate": 2}, reconcile(t, b, "repeats the old lines", settled, back).Results)
			requireNotPaidAgain(t, b, claim)
		})
	}
}

// TestReturnOlderThanTheArrivalDoesNotTakeItBack brings the statements in another order.
func TestReturnOlderThanTheArrivalDoesNotTakeItBack(t *testing.T) {
	t.Parallel()
	b, claim, first := newPayoutWithAnswer(t, modeltest.Mismatched)
	must(resolvePayout(t, b, first, model.PayoutCancelled, "", false))
	reconcile(t, b, "arrived", dated(line(b, first, "settled"), 4, "paid again"))
	reconcile(t, b, "came back before", dated(line(b, first, "returned"), 3, "back"))
	requireNotPaidAgain(t, b, claim)
	reconcile(t, b, "came back after", dated(line(b, first, "returned"), 5, "back again"))
	must(resolvePayout(t, b, b.Claim(claim.ID).Payouts[1], model.PayoutCancelled, "", false))
	require.Equal(t, "approval_required", *b.Claim(claim.ID).Payouts[2].BlockedReason)
}

// TestRepeatedSettlementOfWhatCameBackBarsNothing repeats both lines of a payout that was
// cancelled: together they change nothing.
func TestRepeatedSettlementOfWhatCameBackBarsNothing(t *testing.T) {
	t.Parallel()
	b, claim, first := newPayoutWithAnswer(t, modeltest.Mismatched)
	must(resolvePayout(t, b, first, model.PayoutCancelled, "", false))
	settled, back := dated(line(b, first, "settled"), 1, "paid"), dated(line(b, first, "returned"), 3, "back")
	reconcile(t, b, "one", settled)
	reconcile(t, b, "two", back)
	must(resolvePayout(t, b, b.Claim(claim.ID).Payouts[1], model.PayoutCancelled, "", false))
	must(approvePayoutAs(t, b, "ann", b.Claim(claim.ID).Payouts[2]))
	require.Equal(t, map[string]int{"duplicate": 1, "state": 1}, reconcile(t, b, "both again", settled, back).Results)
	require.Equal(t, "pending", b.Claim(claim.ID).Payouts[2].Status)
}

// requireNotPaidAgain checks that the second payout of a claim, which replaces the first,
// can only be cancelled as paid.
func requireNotPaidAgain(t *testing.T, b *modeltest.Bundle, claim *wire.Claim) {
	t.Helper()
	second := b.Claim(claim.ID).Payouts[1]
	require.Equal(t, "rail_mismatch", *second.BlockedReason)
	_, err := resolvePayout(t, b, second, model.PayoutCancelled, "", false)
	require.Equal(t, apperr.CodeStateConflict, domainError(t, err).Code)
}
