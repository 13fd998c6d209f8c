package reconciliation_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
	"parapet/model/payouts"
	"parapet/model/payouts/reconciliation"
)

// A bank reports an order that this database has forgotten. Another bank under the same
// rail name knows nothing about it afterwards.
func TestOrderKnownFromAReportStaysWithTheBankThatReportedIt(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	payout := modeltest.OnlyPayout(t, b, claim)
	first, second := payouts.RailIdentity{Name: modeltest.RailName, Address: "https://first.example"}, payouts.RailIdentity{Name: modeltest.RailName, Address: "https://second.example"}
	for _, bank := range []payouts.RailIdentity{first, second} {
		require.NoError(t, b.Service.Releases.RegisterRail(t.Context(), bank))
	}
	report := func(bank payouts.RailIdentity, status string) map[string]int {
		t.Helper()
		of := modeltest.ReportLine(b, payout, status)
		of.At = b.Now().Add(time.Hour)
		done, err := b.Service.Reconciliation.Reconcile(t.Context(), b.Operator, reconciliation.Report{Rail: bank.Name, Bank: &bank, Name: bank.Address + status}, modeltest.ReadLines([]reconciliation.ReportLine{of}))
		require.NoError(t, err)
		return done.Results
	}
	require.Equal(t, map[string]int{"underway": 1}, report(first, reconciliation.LineUnderway))
	require.Equal(t, "released", modeltest.OnlyPayout(t, b, claim).Status)
	require.Equal(t, map[string]int{"unknown": 1}, report(second, reconciliation.LineReturned), "it never had the order")
	require.Equal(t, map[string]int{"reconciled": 1}, report(first, reconciliation.LineSettled))
}

// An earlier key of an order that was sent before a restore was refused, or its money
// came back: a late line about it changes nothing.
func TestLateLineAboutAnEarlierLostKeyChangesNothing(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	payout := modeltest.OnlyPayout(t, b, claim)
	second := modeltest.ReportLine(b, payout, reconciliation.LineUnderway)
	first := second
	second.Key, second.Reference = strings.TrimSuffix(first.Key, ".1")+".2", "sent again"
	require.Equal(t, map[string]int{"underway": 1}, modeltest.Reconcile(t, b, "the last order", second).Results)
	require.Equal(t, "released", modeltest.OnlyPayout(t, b, claim).Status)
	require.Equal(t, map[string]int{"underway": 1}, modeltest.Reconcile(t, b, "the first order", first).Results)
	require.Equal(t, "released", modeltest.OnlyPayout(t, b, claim).Status)
}
