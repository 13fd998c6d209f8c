package reconciliation_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"parapet/model/claims"
	"parapet/model/modeltest"
	"parapet/model/payouts/reconciliation"
)

// TestReturnRepeatedWithinOneReportDoesNotTakeBackTheArrival matches a return, its undoing
// and the same return again in one transaction, in which none of them is saved yet.
func TestReturnRepeatedWithinOneReportDoesNotTakeBackTheArrival(t *testing.T) {
	t.Parallel()
	b, claim, payout := modeltest.NewPayoutWithAnswer(t, modeltest.Accepted)
	settled, returned := modeltest.ReportLine(b, payout, "settled"), modeltest.ReportLine(b, payout, "returned")
	modeltest.Reconcile(t, b, "first", dated(settled, 1, "paid"), dated(returned, 3, "back"))
	done := modeltest.Reconcile(t, b, "second", dated(settled, 3, "reversal"), dated(returned, 4, "back 2"), dated(settled, 4, "reversal 2"), dated(returned, 4, "back 2"))
	require.Equal(t, map[string]int{"reversed": 2, "duplicate": 2}, done.Results)
	requireNotPaidAgain(t, b, claim)
}

// TestOrderUnderwayWithAnotherAmountIsNotAnArrival reports an order with another amount
// that this database never sent. It has not paid yet: an operator may cancel it.
func TestOrderUnderwayWithAnotherAmountIsNotAnArrival(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	underway := modeltest.ReportLine(b, modeltest.OnlyPayout(t, b, claim), reconciliation.LineUnderway)
	underway.Amount.Amount--
	require.Equal(t, map[string]int{"amount": 1}, modeltest.Reconcile(t, b, "underway", underway).Results)
	blocked := modeltest.OnlyPayout(t, b, claim)
	require.Equal(t, "rail_mismatch", *blocked.BlockedReason)
	modeltest.Must(modeltest.ResolvePayout(t, b, blocked, claims.PayoutCancelled, "", false))
	require.Equal(t, "payout_method_missing", *b.Claim(claim.ID).Payouts[1].BlockedReason, "the replacement is not barred")
}

// TestReportedRefusalOfAForgottenOrderIsAnAttempt reports a refusal of an order that this
// database never sent.
func TestReportedRefusalOfAForgottenOrderIsAnAttempt(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	rejected := modeltest.ReportLine(b, modeltest.OnlyPayout(t, b, claim), reconciliation.LineRejected)
	rejected.Code = "AC04"
	modeltest.Reconcile(t, b, "rejected", rejected)
	var attempts []string
	rows, err := b.DB.Pool.Query(t.Context(), "select concat_ws(' ', number, outcome, code, key) from payout_attempts")
	require.NoError(t, err)
	attempts, err = pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Equal(t, []string{"1 refused AC04 " + rejected.Key}, attempts)
}

// TestReturnAfterAnUndoneReturnInOneReportTakesBackTheArrival matches two different lines
// of one payout in one transaction.
func TestReturnAfterAnUndoneReturnInOneReportTakesBackTheArrival(t *testing.T) {
	t.Parallel()
	b, claim, payout := modeltest.NewPayoutWithAnswer(t, modeltest.Accepted)
	settled, returned := modeltest.ReportLine(b, payout, "settled"), modeltest.ReportLine(b, payout, "returned")
	modeltest.Reconcile(t, b, "first", dated(settled, 1, "paid"), dated(returned, 3, "back"))
	modeltest.Reconcile(t, b, "second", dated(settled, 3, "reversal"), dated(returned, 4, "back 2"))
	second := b.Claim(claim.ID).Payouts[1]
	require.Equal(t, "rail_mismatch", *second.BlockedReason)
	modeltest.Must(modeltest.ResolvePayout(t, b, second, claims.PayoutCancelled, "", false))
	require.Equal(t, "approval_required", *b.Claim(claim.ID).Payouts[2].BlockedReason)
}

// TestAttemptToSendQueuesTheLineOfItsDebt creates a debt that a report named before,
// without a sweep in between.
func TestAttemptToSendQueuesTheLineOfItsDebt(t *testing.T) {
	t.Parallel()
	b, paid, _, quake := lostDebt(t, "payout_methods")
	require.Equal(t, map[string]int{"unknown": 1}, modeltest.Reconcile(t, b, "monday", paid).Results)
	b.Observe(quake)
	b.RunJobs()
	require.Empty(t, b.Rail.Orders)
	var queued bool
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select match_result is null from rail_report_lines").Scan(&queued))
	require.True(t, queued, "it is matched with the debt")
}
