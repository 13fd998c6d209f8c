package model_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/model/modeltest"
)

// TestReturnRepeatedWithinOneReportDoesNotTakeBackTheArrival matches all lines in one
// transaction, so that none of them is saved yet.
func TestReturnRepeatedWithinOneReportDoesNotTakeBackTheArrival(t *testing.T) {
	t.Parallel()
	b, claim, payout := newPayoutWithAnswer(t, modeltest.Accepted)
	settled, back := dated(line(b, payout, "settled"), 1, "paid"), dated(line(b, payout, "returned"), 3, "back")
	done := reconcile(t, b, "all", settled, back, dated(settled, 3, "reversal"), back)
	require.Equal(t, map[string]int{"reconciled": 1, "returned": 1, "reversed": 1, "duplicate": 1}, done.Results)
	requireNotPaidAgain(t, b, claim)
}

// TestOrderUnderwayWithAnotherAmountIsNotAnArrival reports an order of another amount that
// this database never sent. It has not paid yet: an operator may cancel it.
func TestOrderUnderwayWithAnotherAmountIsNotAnArrival(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := owed(b)
	underway := line(b, only(t, b, claim), string(model.LineUnderway))
	underway.Amount.Amount--
	require.Equal(t, map[string]int{"amount": 1}, reconcile(t, b, "underway", underway).Results)
	blocked := only(t, b, claim)
	require.Equal(t, "rail_mismatch", *blocked.BlockedReason)
	_, err := resolvePayout(t, b, blocked, model.PayoutCancelled, "", false)
	require.NoError(t, err)
}
