package webhooks_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/events/webhooks"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
)

func TestEndpointIsDeletedAtTheRequiredVersionOnly(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	endpoint := modeltest.Must(b.Service.Webhooks.CreateEndpoint(t.Context(), b.Acme, webhooks.EndpointRequest{URL: new("https://example.com/hooks")}))
	caller := b.Acme
	caller.Precondition = actor.RequireVersion(endpoint.ID, endpoint.Version+1)
	require.Equal(t, apperr.CodeVersionMismatch, apperr.CodeOf(b.Service.Webhooks.DeleteEndpoint(t.Context(), caller, endpoint.ID)))
	caller.Precondition = actor.RequireVersion(endpoint.ID, endpoint.Version)
	require.NoError(t, b.Service.Webhooks.DeleteEndpoint(t.Context(), caller, endpoint.ID))
}
