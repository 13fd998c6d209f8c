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

func TestTakenReferenceNamesItsEndpoint(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	holder := newEndpoint(t, b, webhooks.EndpointRequest{PartnerReference: new("hooks-1")})
	other := newEndpoint(t, b, webhooks.EndpointRequest{})
	_, err := b.Service.Webhooks.CreateEndpoint(t.Context(), b.Acme, webhooks.EndpointRequest{URL: new("https://example.com/hooks"), PartnerReference: new("hooks-1")})
	require.Equal(t, holder.ID, modeltest.DomainError(t, err).ResourceID)
	_, err = b.Service.Webhooks.ChangeEndpoint(t.Context(), b.Acme, other.ID, webhooks.EndpointRequest{PartnerReference: new("hooks-1")})
	refused := modeltest.DomainError(t, err)
	require.Equal(t, apperr.CodeReferenceTaken, refused.Code)
	require.Equal(t, holder.ID, refused.ResourceID)
}

func TestChangeToTheSameValuesIsNoChange(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	endpoint := newEndpoint(t, b, webhooks.EndpointRequest{PartnerReference: new("hooks-1"), Metadata: map[string]string{"a": "1"}, EventTypes: []string{"quote.bound"}, Ordered: new(true)})
	same := map[string]webhooks.EndpointRequest{
		"url":               {URL: &endpoint.URL},
		"event_types":       {EventTypes: []string{"quote.bound"}},
		"ordered":           {Ordered: new(true)},
		"partner_reference": {PartnerReference: new("hooks-1")},
		"metadata":          {Metadata: map[string]string{"a": "1"}},
		"member":            {MergeMetadata: map[string]*string{"a": new("1"), "b": nil}},
	}
	for name, in := range same {
		changed := modeltest.Must(b.Service.Webhooks.ChangeEndpoint(t.Context(), b.Acme, endpoint.ID, in))
		require.Equal(t, endpoint.Version, changed.Version, name)
	}
	other := []webhooks.EndpointRequest{
		{URL: new("https://example.com/other")},
		{EventTypes: []string{"quote.created"}},
		{Ordered: new(false)},
		{PartnerReference: new("hooks-2")},
		{ClearReference: true},
		{PartnerReference: new("hooks-3")},
		{Metadata: map[string]string{}},
		{MergeMetadata: map[string]*string{"a": new("2")}},
	}
	for i, in := range other {
		changed := modeltest.Must(b.Service.Webhooks.ChangeEndpoint(t.Context(), b.Acme, endpoint.ID, in))
		require.Equal(t, endpoint.Version+int64(i)+1, changed.Version, "change %d", i)
	}
}
