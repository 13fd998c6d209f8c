package model_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/model/modeltest"
)

func TestBalancesOfAPolicyLeaveOutOtherPolicies(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	before := books(t, b, policy.ID)
	require.NotEmpty(t, before)
	b.QuoteAndBind("quake-circle", nil)
	require.Equal(t, before, books(t, b, policy.ID))
}

func TestCancellationReversesThePremiumOfItsOwnQuote(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	later := b.Now().AddDate(0, 0, 2).Format(time.RFC3339)
	kept := b.QuoteAndBind("quake-circle", modeltest.Context{"starts_at": later})
	before := books(t, b, kept.ID)
	cancelled := b.QuoteAndBind("quake-circle", modeltest.Context{"starts_at": later, "limit": map[string]any{"amount": 5_000_000, "currency": "USD"}})
	require.NotEqual(t, before, books(t, b, cancelled.ID))
	b.QuoteAndBind("quake-circle", modeltest.Context{"starts_at": later})
	must(b.Service.CancelPolicy(t.Context(), b.Acme, model.CancellationRequest{PolicyID: cancelled.ID}))
	require.Empty(t, books(t, b, cancelled.ID))
	require.Equal(t, before, books(t, b, kept.ID))
}
