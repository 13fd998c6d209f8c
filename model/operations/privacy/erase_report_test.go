package privacy_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
	"parapet/model/operations/privacy"
	"parapet/model/payouts/reconciliation"
)

// TestErasureKeepsReportedAccountsOfOthers erases one of two policyholders. The rail
// reported the payouts of both with their accounts.
func TestErasureKeepsReportedAccountsOfOthers(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	var policies []string
	for range 2 {
		policy := b.QuoteAndBind("quake-circle", nil)
		b.RecordPayoutMethod(modeltest.PolicyIBANMethod(policy.ID))
		policies = append(policies, policy.ID)
	}
	b.RunJobs()
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	b.RunJobs()
	var lines []reconciliation.ReportLine
	for _, order := range b.Rail.Orders {
		lines = append(lines, reconciliation.ReportLine{Key: order.Key, Reference: "ref-1", Amount: order.Amount, Status: reconciliation.LineSettled, Account: "iban ····3000"})
	}
	require.Equal(t, map[string]int{"reconciled": 2}, modeltest.Reconcile(t, b, "day", lines...).Results)
	b.AdvanceClock(366 * 24 * time.Hour)
	b.Sweep()
	modeltest.Must(b.Service.Privacy.ErasePolicyholder(t.Context(), b.Operator, privacy.ErasureRequest{Partner: "acme", PolicyID: policies[0], Reason: "They asked for it."}))
	rows, err := b.DB.Pool.Query(t.Context(), "select account from rail_report_lines")
	require.NoError(t, err)
	accounts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"", "iban ····3000"}, accounts)
}
