package model_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/model/modeltest"
)

// A bank reports an order that this database has forgotten. Another bank under the same
// rail name knows nothing about it afterwards.
func TestOrderKnownFromAReportStaysWithTheBankThatReportedIt(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := owed(b)
	payout := only(t, b, claim)
	first, second := model.RailIdentity{Name: modeltest.RailName, Address: "https://first.example"}, model.RailIdentity{Name: modeltest.RailName, Address: "https://second.example"}
	for _, bank := range []model.RailIdentity{first, second} {
		require.NoError(t, b.Service.RegisterRail(t.Context(), bank))
	}
	report := func(bank model.RailIdentity, status string) map[string]int {
		t.Helper()
		of := line(b, payout, status)
		of.At = b.Now().Add(time.Hour)
		done, err := b.Service.Reconcile(t.Context(), b.Operator, model.Report{Rail: bank.Name, Bank: &bank, Name: bank.Address + status}, reading([]model.ReportLine{of}))
		require.NoError(t, err)
		return done.Results
	}
	require.Equal(t, map[string]int{"underway": 1}, report(first, model.LineUnderway))
	require.Equal(t, "released", only(t, b, claim).Status)
	require.Equal(t, map[string]int{"unknown": 1}, report(second, model.LineReturned), "it never had the order")
	require.Equal(t, map[string]int{"reconciled": 1}, report(first, model.LineSettled))
}
