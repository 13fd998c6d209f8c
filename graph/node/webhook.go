package node

import (
	"context"
	"slices"

	"parapet/model/events/webhooks"
	"parapet/model/kernel/optional"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// WebhookEndpoint is an address to which a partner's events are delivered.
type WebhookEndpoint struct {
	*wire.WebhookEndpoint
	batch *batch
}

// IsNode implements Node.
func (*WebhookEndpoint) IsNode() {}

func (r *Reader) newWebhookEndpoints(records []*wire.WebhookEndpoint) []*WebhookEndpoint {
	return newBatch(r, records, func(e *wire.WebhookEndpoint) string { return e.ID }, nil, func(e *wire.WebhookEndpoint, b *batch) *WebhookEndpoint {
		return &WebhookEndpoint{e, b}
	})
}

// WebhookEndpoint returns an endpoint. Errors: not_found.
func (r *Reader) WebhookEndpoint(ctx context.Context, id string) (*WebhookEndpoint, error) {
	return toNode(r.newWebhookEndpoints)(r.Service.Webhooks.GetEndpoint(ctx, r.Actor, id))
}

// WebhookEndpoints lists endpoints, newest first.
func (r *Reader) WebhookEndpoints(ctx context.Context, first *int, after *string, filter *store.Filter, order *string) (*WebhookEndpointConnection, error) {
	return toConnection(r.newWebhookEndpoints)(r.Service.Webhooks.ListEndpoints(ctx, r.Actor, optional.OrZero(filter), orderedPage(first, after, order)))
}

// EventTypes returns the subscribed event types; nil for all.
func (e *WebhookEndpoint) EventTypes() []string {
	if slices.Contains(e.WebhookEndpoint.EventTypes, webhooks.AllEvents) {
		return nil
	}
	return e.WebhookEndpoint.EventTypes
}

// Deliveries lists the deliveries to the endpoint.
func (e *WebhookEndpoint) Deliveries(ctx context.Context, first *int, after, status *string) (*DeliveryConnection, error) {
	r := e.batch.reader
	return loadPages(ctx, e.batch, e.ID, "deliveries "+optional.OrZero(status), pageRequest(first, after), r.Service.Webhooks.DeliveriesOf(optional.OrZero(status)), r.newDeliveries)
}

// Delivery is the delivery of one event to one endpoint.
type Delivery struct {
	*wire.Delivery
	batch *batch
}

// IsNode implements Node.
func (*Delivery) IsNode() {}

var deliveryReferences = references[*wire.Delivery]{
	"event":    func(d *wire.Delivery) *string { return &d.EventID },
	"endpoint": func(d *wire.Delivery) *string { return &d.EndpointID },
}

func (r *Reader) newDeliveries(records []*wire.Delivery) []*Delivery {
	return newBatch(r, records, func(d *wire.Delivery) string { return d.ID }, deliveryReferences, func(d *wire.Delivery, b *batch) *Delivery {
		return &Delivery{d, b}
	})
}

// Event returns the delivered event.
func (d *Delivery) Event(ctx context.Context) (*Event, error) {
	r := d.batch.reader
	return loadOne(ctx, d.batch, "event", &d.EventID, r.Service.Events.ByID, r.newEvents)
}

// Endpoint returns the endpoint.
func (d *Delivery) Endpoint(ctx context.Context) (*WebhookEndpoint, error) {
	r := d.batch.reader
	return loadOne(ctx, d.batch, "endpoint", &d.EndpointID, r.Service.Webhooks.EndpointsByID, r.newWebhookEndpoints)
}
