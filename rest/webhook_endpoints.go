package rest

import (
	"context"

	"parapet/model"
	"parapet/model/wire"
)

// webhookFilters are the query parameters of the list of webhook endpoints.
var webhookFilters = []string{"status", "partner_reference", "created_from", "created_to"}

type webhookEndpointRequest struct {
	URL        string   `json:"url" maxLength:"2048" doc:"Where events are to be sent: https, on the public internet, without user name and fragment." example:"https://hooks.example.com/parapet"`
	EventTypes []string `json:"event_types,omitzero" minItems:"1" doc:"Which events; * stands for all, those of later releases included. All when left out."`
	Ordered    *bool    `json:"ordered,omitzero" doc:"Whether an event waits until the earlier ones of its subject were delivered or parked. false when left out."`
	References
}

// webhookEndpointChange names what is to change (RFC 7396): what is left out stays.
type webhookEndpointChange struct {
	URL              *string              `json:"url,omitzero" maxLength:"2048" doc:"Sends there from now on. An endpoint that failed is tried anew at once."`
	EventTypes       []string             `json:"event_types,omitzero" minItems:"1" doc:"Replaces the list."`
	Ordered          *bool                `json:"ordered,omitzero" doc:"Whether an event waits until the earlier ones of its subject were delivered or parked."`
	Status           *string              `json:"status,omitzero" enum:"enabled,disabled" doc:"disabled stops sending; enabled goes on where sending stopped, so nothing is lost."`
	PartnerReference **string             `json:"partner_reference,omitzero" maxLength:"128" doc:"Replaces your own name of it; null takes it away."`
	Metadata         **map[string]*string `json:"metadata,omitzero" doc:"Changes the keys it names: null takes a key away, and null for the whole takes all."`
}

func (in *webhookEndpointChange) model() model.WebhookEndpointRequest {
	request := model.WebhookEndpointRequest{URL: in.URL, EventTypes: in.EventTypes, Ordered: in.Ordered, Status: in.Status}
	if in.PartnerReference != nil {
		request.PartnerReference, request.Unnamed = *in.PartnerReference, *in.PartnerReference == nil
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

func (d *door) createWebhookEndpoint(ctx context.Context, c *call, in webhookEndpointRequest) (*wire.WebhookEndpoint, error) {
	return d.Service.CreateWebhookEndpoint(ctx, c.actor, model.WebhookEndpointRequest{
		URL: &in.URL, EventTypes: in.EventTypes, Ordered: in.Ordered, PartnerReference: in.PartnerReference, Metadata: in.Metadata,
	})
}

func (d *door) getWebhookEndpoints(ctx context.Context, c *call, filter model.Filter, page model.PageRequest) (*model.Page[wire.WebhookEndpoint], error) {
	return d.Service.ListWebhookEndpoints(ctx, c.actor, filter, page)
}

func (d *door) getWebhookEndpoint(ctx context.Context, c *call) (*wire.WebhookEndpoint, error) {
	return d.Service.GetWebhookEndpoint(ctx, c.actor, c.path("endpoint_id"))
}

func (d *door) changeWebhookEndpoint(ctx context.Context, c *call, in webhookEndpointChange) (*wire.WebhookEndpoint, error) {
	return d.Service.ChangeWebhookEndpoint(ctx, c.actor, c.path("endpoint_id"), in.model())
}

func (d *door) deleteWebhookEndpoint(ctx context.Context, c *call) error {
	return d.Service.DeleteWebhookEndpoint(ctx, c.actor, c.path("endpoint_id"))
}

func (d *door) rotateWebhookSecret(ctx context.Context, c *call) (*wire.WebhookEndpoint, error) {
	return d.Service.RotateWebhookSecret(ctx, c.actor, c.path("endpoint_id"))
}

func (d *door) testWebhookEndpoint(ctx context.Context, c *call) (*wire.Delivery, error) {
	return d.Service.TestWebhookEndpoint(ctx, c.actor, c.path("endpoint_id"))
}

func (d *door) getDeliveries(ctx context.Context, c *call, filter model.Filter, page model.PageRequest) (*model.Page[wire.Delivery], error) {
	return d.Service.ListDeliveries(ctx, c.actor, c.path("endpoint_id"), filter.Status, page)
}

func (d *door) retryDelivery(ctx context.Context, c *call) (*wire.Delivery, error) {
	return d.Service.RetryDelivery(ctx, c.actor, c.path("delivery_id"))
}
