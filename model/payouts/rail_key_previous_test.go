package payouts_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
	"parapet/model/payouts/reconciliation"
)

// TestReportSettlesAPayoutOfThePreviousRelease covers payouts without a debt digest, whose
// key is their id.
func TestReportSettlesAPayoutOfThePreviousRelease(t *testing.T) {
	t.Parallel()
	b, claim, payout := modeltest.NewPayoutWithAnswer(t, modeltest.Unknown)
	debtKey := b.RailKey(payout.ID, 1)
	_, err := b.DB.Pool.Exec(t.Context(), "update payouts set debt_digest = null")
	require.NoError(t, err)
	of := func(key string) reconciliation.ReportLine {
		return reconciliation.ReportLine{Key: key, Reference: "ref-1", Amount: payout.Amount, Status: reconciliation.LineSettled}
	}
	require.Equal(t, map[string]int{"unknown": 1}, modeltest.Reconcile(t, b, "r1", of(debtKey)).Results)
	require.NotEqual(t, "reconciled", modeltest.OnlyPayout(t, b, claim).Status)
	require.Equal(t, map[string]int{"reconciled": 1}, modeltest.Reconcile(t, b, "r2", of(payout.ID+".1")).Results)
	require.Equal(t, "reconciled", modeltest.OnlyPayout(t, b, claim).Status)
}
