package model_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/model/modeltest"
)

func TestSweepRemovesDeletedEndpoints(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	endpoint, err := b.Service.CreateWebhookEndpoint(t.Context(), b.Acme, model.WebhookEndpointRequest{URL: new("https://example.com/hooks")})
	require.NoError(t, err)
	b.Sweep()
	require.Equal(t, 1, b.CountRows()["webhook_endpoints"])
	require.NoError(t, b.Service.DeleteWebhookEndpoint(t.Context(), b.Acme, endpoint.ID))
	b.Sweep()
	require.Zero(t, b.CountRows()["webhook_endpoints"])
}
