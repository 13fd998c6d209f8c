package webhooks_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/events/webhooks"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
)

func TestSweepRemovesDeletedEndpoints(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	endpoint, err := b.Service.Webhooks.CreateEndpoint(t.Context(), b.Acme, webhooks.EndpointRequest{URL: new("https://example.com/hooks")})
	require.NoError(t, err)
	b.Sweep()
	require.Equal(t, 1, b.CountRows()["webhook_endpoints"])
	require.NoError(t, b.Service.Webhooks.DeleteEndpoint(t.Context(), b.Acme, endpoint.ID))
	b.Sweep()
	require.Zero(t, b.CountRows()["webhook_endpoints"])
}

// The sweep runs every few seconds, and a server keeps the deliveries of a month.
func TestPurgeReadsOnlyDeliveriesThatItDeletes(t *testing.T) {
	t.Parallel()
	const kept, gone, most = 3000, 300, 1000
	b := modeltest.New(t, modeltest.WithoutChecks())
	copyDeliveries := func(endpoint string, n int) {
		modeltest.ExecSQL(t, b, `insert into deliveries (id, partner, created_at, updated_at, endpoint_id, event_id, sequence, subject_id, status, attempts_in_round, attempts)
			select gen_random_uuid(), 'acme', now(), now(), $1::uuid, gen_random_uuid(), i, gen_random_uuid(), 'delivered', 1, '[]' from generate_series(1, $2::int) as i`, modeltest.Must(store.ResourceEndpoint.ParseID(endpoint)), n)
	}
	stays, deleted := newEndpoint(t, b, webhooks.EndpointRequest{}), newEndpoint(t, b, webhooks.EndpointRequest{})
	copyDeliveries(deleted.ID, gone)
	copyDeliveries(stays.ID, kept)
	require.NoError(t, b.Service.Webhooks.DeleteEndpoint(t.Context(), b.Acme, deleted.ID))
	require.NoError(t, b.Service.InTx(t.Context(), actor.System(), func(ctx context.Context, tx *store.Tx) error {
		read := modeltest.CountRowsRead(ctx, t, tx, "deliveries", func() {
			for _, want := range []int{store.SweepBatchSize, gone - store.SweepBatchSize} {
				n, err := webhooks.PurgeDeliveries(ctx, tx)
				require.NoError(t, err)
				require.Equal(t, want, n)
			}
		})
		require.Less(t, read, most)
		return nil
	}))
	b.Sweep()
	rows := b.CountRows()
	require.Equal(t, []int{kept, 1}, []int{rows["deliveries"], rows["webhook_endpoints"]})
}
