package partners_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
)

func TestNodesShareOneQuota(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	var mu sync.Mutex
	var nodes sync.WaitGroup
	total := 0
	for range 8 {
		quota := b.Service.Partners.Quota(1, 200)
		nodes.Go(func() {
			for range 10 {
				grant, err := quota.Lease(t.Context(), "partner/acme", 50)
				require.NoError(t, err)
				require.Positive(t, grant.Until)
				mu.Lock()
				total += grant.Granted
				mu.Unlock()
			}
		})
	}
	nodes.Wait()
	require.GreaterOrEqual(t, total, 200)
	require.Less(t, total, 300, "80 leases of 50 wanted 4,000; a second fills one more")
	grant, err := b.Service.Partners.Quota(1, 200).Lease(t.Context(), "partner/globex", 500)
	require.NoError(t, err)
	require.Equal(t, 200, grant.Granted, "another one has an allowance of its own")
}

func TestIdempotencyKeyIsPurgedAfterThirtyDays(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	first, err := b.Service.Quotes.Create(t.Context(), modeltest.WithKey(b.Acme, "k1", "same"), b.QuoteRequest("quake-circle", nil))
	require.NoError(t, err)
	_, err = b.Service.Quotes.Create(t.Context(), modeltest.WithKey(b.Acme, "k1", "same"), b.QuoteRequest("quake-circle", nil))
	require.ErrorContains(t, err, "answered before")
	b.AdvanceClock(31 * 24 * time.Hour)
	b.Sweep()
	second, err := b.Service.Quotes.Create(t.Context(), modeltest.WithKey(b.Acme, "k1", "same"), b.QuoteRequest("quake-circle", nil))
	require.NoError(t, err)
	require.NotEqual(t, first.ID, second.ID)
}
