package webhooks_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/events/webhooks"
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
