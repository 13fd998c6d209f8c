package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/store"
	"parapet/model/modeltest"
)

// TestClientsOfOnePartnerShareIdempotencyKeys repeats a partner's request with another
// client's token.
func TestClientsOfOnePartnerShareIdempotencyKeys(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	first, err := b.Service.Quotes.Create(t.Context(), modeltest.WithKey(b.Acme, "k1", "a"), b.QuoteRequest("quake-circle", nil))
	require.NoError(t, err)
	other := modeltest.WithKey(b.Acme, "k1", "a")
	other.Name, other.Client, other.Subject = "acme-batch", "acme-batch", "acme-batch"
	_, err = b.Service.Quotes.Create(t.Context(), other, b.QuoteRequest("quake-circle", nil))
	replay := new(store.Replay)
	require.ErrorAs(t, err, &replay)
	require.Equal(t, first.ID, replay.ResourceID)
}
