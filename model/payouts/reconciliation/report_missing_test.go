package reconciliation_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/store"
	"parapet/model/modeltest"
)

func TestMissingPayoutIsDescribedWithItsOrder(t *testing.T) {
	t.Parallel()
	b, _, payout := modeltest.NewPayoutWithAnswer(t, modeltest.Accepted)
	b.AdvanceClock(10 * modeltest.Day)
	modeltest.Must(b.Service.Reconciliation.OpenMissingExceptions(t.Context(), modeltest.RailName, modeltest.Day, 60*modeltest.Day))
	found := modeltest.Must(b.Service.Reconciliation.ListExceptions(t.Context(), b.Operator, false, store.PageRequest{})).Data
	require.Len(t, found, 1)
	require.Equal(t, []string{b.RailKey(payout.ID, 1), "iban ····3000"}, []string{*found[0].Key, *found[0].Account})
	require.Equal(t, payout.Amount, *found[0].Amount)
}

// TestAdoptedReplacementShowsTheAccountThatWasPaid imports that a replacement was paid
// which this database never sent and which shows no account.
func TestAdoptedReplacementShowsTheAccountThatWasPaid(t *testing.T) {
	t.Parallel()
	b, claim, payout := modeltest.NewPayoutWithAnswer(t, modeltest.Accepted)
	modeltest.Reconcile(t, b, "returned", dated(modeltest.ReportLine(b, payout, "returned"), 1, "back"))
	replacement := b.Claim(claim.ID).Payouts[1]
	require.Nil(t, replacement.PayoutMethodID)
	require.Equal(t, map[string]int{"reconciled": 1}, modeltest.Reconcile(t, b, "settled", dated(modeltest.ReportLine(b, replacement, "settled"), 2, "paid")).Results)
	require.Equal(t, payout.PayoutMethodID, b.Claim(claim.ID).Payouts[1].PayoutMethodID)
}
