package node

import (
	"context"
	"slices"

	"parapet/model"
	"parapet/model/wire"
)

// WebhookEndpoint is where a partner wants to hear of events.
type WebhookEndpoint struct {
	*wire.WebhookEndpoint
	kin *kin
}

// IsNode makes it findable.
func (*WebhookEndpoint) IsNode() {}

func (r *Reader) webhookEndpoints(records []*wire.WebhookEndpoint) []*WebhookEndpoint {
	return together(r, records, func(e *wire.WebhookEndpoint) string { return e.ID }, func(e *wire.WebhookEndpoint, k *kin) *WebhookEndpoint {
		return &WebhookEndpoint{e, k}
	})
}

// WebhookEndpoint is one endpoint. Errors: not_found.
func (r *Reader) WebhookEndpoint(ctx context.Context, id string) (*WebhookEndpoint, error) {
	return one(r.webhookEndpoints)(r.Service.GetWebhookEndpoint(ctx, r.Actor, id))
}

// WebhookEndpoints are endpoints, newest first.
func (r *Reader) WebhookEndpoints(ctx context.Context, first *int, after *string, filter *model.Filter, order *string) (*WebhookEndpointConnection, error) {
	return listed(r.webhookEndpoints)(r.Service.ListWebhookEndpoints(ctx, r.Actor, orEmpty(filter), ordered(first, after, order)))
}

// EventTypes are what it asked for; nil for all.
func (e *WebhookEndpoint) EventTypes() []string {
	if slices.Contains(e.WebhookEndpoint.EventTypes, model.AllEvents) {
		return nil
	}
	return e.WebhookEndpoint.EventTypes
}

// Deliveries are what was sent there.
func (e *WebhookEndpoint) Deliveries(ctx context.Context, first *int, after, status *string) (*DeliveryConnection, error) {
	r := e.kin.read
	return members(ctx, e.kin, e.ID, "deliveries "+orEmpty(status), pageOf(first, after), r.Service.DeliveriesOf(orEmpty(status)), r.deliveries)
}

// Delivery is one event on its way to one endpoint.
type Delivery struct {
	*wire.Delivery
	kin *kin
}

// IsNode makes it findable.
func (*Delivery) IsNode() {}

func (r *Reader) deliveries(records []*wire.Delivery) []*Delivery {
	return together(r, records, func(d *wire.Delivery) string { return d.ID }, func(d *wire.Delivery, k *kin) *Delivery {
		k.refer("event", &d.EventID)
		k.refer("endpoint", &d.EndpointID)
		return &Delivery{d, k}
	})
}

// Event is what is sent.
func (d *Delivery) Event(ctx context.Context) (*Event, error) {
	r := d.kin.read
	return referred(ctx, d.kin, "event", &d.EventID, r.Service.EventsByID, r.events)
}

// Endpoint is where it is sent.
func (d *Delivery) Endpoint(ctx context.Context) (*WebhookEndpoint, error) {
	r := d.kin.read
	return referred(ctx, d.kin, "endpoint", &d.EndpointID, r.Service.WebhookEndpointsByID, r.webhookEndpoints)
}
