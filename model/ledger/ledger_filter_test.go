package ledger_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
	"parapet/model/underwriting"
)

func TestBalancesOfAPolicyLeaveOutOtherPolicies(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	before := modeltest.LedgerBalances(t, b, policy.ID)
	require.NotEmpty(t, before)
	b.QuoteAndBind("quake-circle", nil)
	require.Equal(t, before, modeltest.LedgerBalances(t, b, policy.ID))
}

func TestCancellationReversesThePremiumOfItsOwnQuote(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	later := b.Now().AddDate(0, 0, 2).Format(time.RFC3339)
	kept := b.QuoteAndBind("quake-circle", modeltest.Context{"starts_at": later})
	before := modeltest.LedgerBalances(t, b, kept.ID)
	cancelled := b.QuoteAndBind("quake-circle", modeltest.Context{"starts_at": later, "limit": map[string]any{"amount": 5_000_000, "currency": "USD"}})
	require.NotEqual(t, before, modeltest.LedgerBalances(t, b, cancelled.ID))
	b.QuoteAndBind("quake-circle", modeltest.Context{"starts_at": later})
	modeltest.Must(b.Service.Policies.Cancel(t.Context(), b.Acme, underwriting.CancellationRequest{PolicyID: cancelled.ID}))
	require.Empty(t, modeltest.LedgerBalances(t, b, cancelled.ID))
	require.Equal(t, before, modeltest.LedgerBalances(t, b, kept.ID))
}
