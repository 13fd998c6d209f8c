package rest

import (
	"context"

	"parapet/model/events/webhooks"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// webhookFilters are the query parameters of the list of webhook endpoints.
var webhookFilters = []string{"status", "partner_reference", "created_from", "created_to"}

type webhookEndpointRequest struct {
	URL        string   `json:"url" maxLength:"2048" doc:"The address that events are sent to: https, on the public internet, without user name and fragment." example:"https://hooks.example.com/parapet"`
	EventTypes []string `json:"event_types,omitzero" minItems:"1" doc:"Types of the events to send; * stands for all types, including those of later releases. All when left out."`
	Ordered    *bool    `json:"ordered,omitzero" doc:"Whether an event waits until the earlier ones of its subject were delivered or finally failed. false when left out."`
	PartnerFields
}

// webhookEndpointChange lists the changes (RFC 7396): absent members stay unchanged.
type webhookEndpointChange struct {
	URL              *string              `json:"url,omitzero" maxLength:"2048" doc:"Events are sent to it from now on. A failing endpoint is tried again at once."`
	EventTypes       []string             `json:"event_types,omitzero" minItems:"1" doc:"Replaces the list."`
	Ordered          *bool                `json:"ordered,omitzero" doc:"Whether an event waits until the earlier ones of its subject were delivered or finally failed."`
	Status           *string              `json:"status,omitzero" enum:"enabled,disabled" doc:"disabled stops sending; enabled continues where sending stopped, so nothing is lost."`
	PartnerReference **string             `json:"partner_reference,omitzero" maxLength:"128" doc:"Replaces your own name of it; null removes it."`
	Metadata         **map[string]*string `json:"metadata,omitzero" doc:"Changes the keys that it names: null removes a key, and null instead of the object removes all keys."`
}

func (in *webhookEndpointChange) toModel() webhooks.EndpointRequest {
	request := webhooks.EndpointRequest{URL: in.URL, EventTypes: in.EventTypes, Ordered: in.Ordered, Status: in.Status}
	if in.PartnerReference != nil {
		request.PartnerReference, request.ClearReference = *in.PartnerReference, *in.PartnerReference == nil
	}
	switch {
	case in.Metadata == nil:
	case *in.Metadata == nil:
		request.Metadata = map[string]string{}
	default:
		request.MergeMetadata = **in.Metadata
	}
	return request
}

func (s *server) createWebhookEndpoint(ctx context.Context, c *requestContext, in webhookEndpointRequest) (*wire.WebhookEndpoint, error) {
	return s.Service.Webhooks.CreateEndpoint(ctx, c.actor, webhooks.EndpointRequest{
		URL: &in.URL, EventTypes: in.EventTypes, Ordered: in.Ordered, PartnerReference: in.PartnerReference, Metadata: in.Metadata,
	})
}

func (s *server) getWebhookEndpoints(ctx context.Context, c *requestContext, filter store.Filter, page store.PageRequest) (*store.Page[wire.WebhookEndpoint], error) {
	return s.Service.Webhooks.ListEndpoints(ctx, c.actor, filter, page)
}

func (s *server) getWebhookEndpoint(ctx context.Context, c *requestContext) (*wire.WebhookEndpoint, error) {
	return s.Service.Webhooks.GetEndpoint(ctx, c.actor, c.pathParam("endpoint_id"))
}

func (s *server) changeWebhookEndpoint(ctx context.Context, c *requestContext, in webhookEndpointChange) (*wire.WebhookEndpoint, error) {
	return s.Service.Webhooks.ChangeEndpoint(ctx, c.actor, c.pathParam("endpoint_id"), in.toModel())
}

func (s *server) deleteWebhookEndpoint(ctx context.Context, c *requestContext) error {
	return s.Service.Webhooks.DeleteEndpoint(ctx, c.actor, c.pathParam("endpoint_id"))
}

func (s *server) rotateWebhookSecret(ctx context.Context, c *requestContext) (*wire.WebhookEndpoint, error) {
	return s.Service.Webhooks.RotateSecret(ctx, c.actor, c.pathParam("endpoint_id"))
}

func (s *server) testWebhookEndpoint(ctx context.Context, c *requestContext) (*wire.Delivery, error) {
	return s.Service.Webhooks.TestEndpoint(ctx, c.actor, c.pathParam("endpoint_id"))
}

func (s *server) getDeliveries(ctx context.Context, c *requestContext, filter store.Filter, page store.PageRequest) (*store.Page[wire.Delivery], error) {
	return s.Service.Webhooks.ListDeliveries(ctx, c.actor, c.pathParam("endpoint_id"), filter.Status, page)
}

func (s *server) retryDelivery(ctx context.Context, c *requestContext) (*wire.Delivery, error) {
	return s.Service.Webhooks.RetryDelivery(ctx, c.actor, c.pathParam("delivery_id"))
}
