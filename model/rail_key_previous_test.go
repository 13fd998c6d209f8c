package model_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/model/modeltest"
)

// TestReportSettlesAPayoutOfThePreviousRelease covers payouts without a debt digest, whose
// key is their id.
func TestReportSettlesAPayoutOfThePreviousRelease(t *testing.T) {
	t.Parallel()
	b, claim, payout := newPayoutWithAnswer(t, modeltest.Unknown)
	debtKey := b.RailKey(payout.ID, 1)
	_, err := b.DB.Pool.Exec(t.Context(), "update payouts set debt_digest = null")
	require.NoError(t, err)
	of := func(key string) model.ReportLine {
		return model.ReportLine{Key: key, Reference: "ref-1", Amount: payout.Amount, Status: model.LineSettled}
	}
	require.Equal(t, map[string]int{"unknown": 1}, reconcile(t, b, "r1", of(debtKey)).Results)
	require.NotEqual(t, "reconciled", only(t, b, claim).Status)
	require.Equal(t, map[string]int{"reconciled": 1}, reconcile(t, b, "r2", of(payout.ID+".1")).Results)
	require.Equal(t, "reconciled", only(t, b, claim).Status)
}
