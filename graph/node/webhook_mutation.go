package node

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"parapet/model/events/webhooks"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/optional"
	"parapet/model/wire"
)

// CreateWebhookEndpointInput is the input of CreateWebhookEndpoint.
type CreateWebhookEndpointInput struct {
	webhooks.EndpointRequest
	ClientMutationID *string
}

// WebhookSecretPayload is an endpoint with its secret, which is shown once.
type WebhookSecretPayload struct {
	WebhookEndpoint  *WebhookEndpoint
	Secret           *string
	ClientMutationID *string
}

func (r *Reader) newSecretPayload(record *wire.WebhookEndpoint, err error, client *string) (*WebhookSecretPayload, error) {
	endpoint, err := toNode(r.newWebhookEndpoints)(record, err)
	if err != nil {
		return nil, err
	}
	return &WebhookSecretPayload{endpoint, record.Secret, client}, nil
}

// CreateWebhookEndpoint creates an endpoint.
func (r *Reader) CreateWebhookEndpoint(ctx context.Context, in CreateWebhookEndpointInput) (*WebhookSecretPayload, error) {
	record, err := runMutation(ctx, r, in.ClientMutationID, in.EndpointRequest, r.Service.Webhooks.CreateEndpoint)
	return r.newSecretPayload(record, err, in.ClientMutationID)
}

// ChangeWebhookEndpointInput is the changes to an endpoint. For nullable members, null
// removes the value and an absent member keeps it.
type ChangeWebhookEndpointInput struct {
	webhooks.EndpointRequest
	WebhookEndpointID string
	EveryEventType    *bool
	PartnerReference  graphql.Omittable[*string]
	Metadata          graphql.Omittable[map[string]*string]
	ClientMutationID  *string
}

// toModel converts the input to the request of the domain with the endpoint's id.
func (in *ChangeWebhookEndpointInput) toModel() (webhookEndpointChange, error) {
	out := webhookEndpointChange{in.WebhookEndpointID, in.EndpointRequest}
	if optional.OrZero(in.EveryEventType) {
		if in.EventTypes != nil {
			return out, apperr.Invalid(apperr.FieldError{Pointer: "/every_event_type", Code: "not_allowed", Detail: "Give eventTypes, or everyEventType, not both."})
		}
		out.EventTypes = []string{webhooks.AllEvents}
	}
	name, named := in.PartnerReference.ValueOK()
	out.PartnerReference, out.ClearReference = name, named && name == nil
	out.MergeMetadata, named = in.Metadata.ValueOK()
	if named && out.MergeMetadata == nil {
		out.Metadata = map[string]string{}
	}
	return out, nil
}

type webhookEndpointChange struct {
	WebhookEndpointID string
	webhooks.EndpointRequest
}

// ChangeWebhookEndpointPayload is the changed endpoint.
type ChangeWebhookEndpointPayload struct {
	WebhookEndpoint  *WebhookEndpoint
	ClientMutationID *string
}

// ChangeWebhookEndpoint changes the given members of an endpoint.
func (r *Reader) ChangeWebhookEndpoint(ctx context.Context, in ChangeWebhookEndpointInput) (*ChangeWebhookEndpointPayload, error) {
	change, err := in.toModel()
	if err != nil {
		return nil, err
	}
	record, err := runMutation(ctx, r, in.ClientMutationID, change, func(ctx context.Context, actor actor.Actor, in webhookEndpointChange) (*wire.WebhookEndpoint, error) {
		return r.Service.Webhooks.ChangeEndpoint(ctx, actor, in.WebhookEndpointID, in.EndpointRequest)
	})
	endpoint, err := toNode(r.newWebhookEndpoints)(record, err)
	return &ChangeWebhookEndpointPayload{endpoint, in.ClientMutationID}, err
}

// WebhookEndpointInput names the endpoint of a mutation.
type WebhookEndpointInput struct {
	WebhookEndpointID string
	ClientMutationID  *string
}

// DeleteWebhookEndpointPayload names the deleted endpoint.
type DeleteWebhookEndpointPayload struct {
	WebhookEndpointID string
	ClientMutationID  *string
}

// DeleteWebhookEndpoint deletes an endpoint.
func (r *Reader) DeleteWebhookEndpoint(ctx context.Context, in WebhookEndpointInput) (*DeleteWebhookEndpointPayload, error) {
	_, err := runMutation(ctx, r, in.ClientMutationID, in.WebhookEndpointID, func(ctx context.Context, actor actor.Actor, id string) (*wire.WebhookEndpoint, error) {
		return nil, r.Service.Webhooks.DeleteEndpoint(ctx, actor, id)
	})
	return &DeleteWebhookEndpointPayload{in.WebhookEndpointID, in.ClientMutationID}, err
}

// RotateWebhookSecret creates a new secret.
func (r *Reader) RotateWebhookSecret(ctx context.Context, in WebhookEndpointInput) (*WebhookSecretPayload, error) {
	record, err := runMutation(ctx, r, in.ClientMutationID, in.WebhookEndpointID, r.Service.Webhooks.RotateSecret)
	return r.newSecretPayload(record, err, in.ClientMutationID)
}

// DeliveryPayload is the delivery after a mutation.
type DeliveryPayload struct {
	Delivery         *Delivery
	ClientMutationID *string
}

// TestWebhookEndpoint sends a test event to an endpoint.
func (r *Reader) TestWebhookEndpoint(ctx context.Context, in WebhookEndpointInput) (*DeliveryPayload, error) {
	record, err := runMutation(ctx, r, in.ClientMutationID, in.WebhookEndpointID, r.Service.Webhooks.TestEndpoint)
	delivery, err := toNode(r.newDeliveries)(record, err)
	return &DeliveryPayload{delivery, in.ClientMutationID}, err
}

// RetryDeliveryInput is the input of RetryDelivery.
type RetryDeliveryInput struct {
	DeliveryID       string
	ClientMutationID *string
}

// RetryDelivery sends an event again.
func (r *Reader) RetryDelivery(ctx context.Context, in RetryDeliveryInput) (*DeliveryPayload, error) {
	record, err := runMutation(ctx, r, in.ClientMutationID, in.DeliveryID, r.Service.Webhooks.RetryDelivery)
	delivery, err := toNode(r.newDeliveries)(record, err)
	return &DeliveryPayload{delivery, in.ClientMutationID}, err
}

// RetryFailedDeliveriesInput selects failed deliveries to retry.
type RetryFailedDeliveriesInput struct {
	WebhookEndpointID           string
	FirstSequence, LastSequence *int64
	ClientMutationID            *string
}

// RetryFailedDeliveriesPayload is the number of retried deliveries.
type RetryFailedDeliveriesPayload struct {
	Count            int
	ClientMutationID *string
}

// RetryFailedDeliveries retries failed deliveries.
func (r *Reader) RetryFailedDeliveries(ctx context.Context, in RetryFailedDeliveriesInput) (*RetryFailedDeliveriesPayload, error) {
	client := in.ClientMutationID
	in.ClientMutationID = nil
	retried, err := runMutation(ctx, r, client, in, func(ctx context.Context, actor actor.Actor, in RetryFailedDeliveriesInput) (*wire.Retried, error) {
		return r.Service.Webhooks.RetryFailed(ctx, actor, in.WebhookEndpointID, in.FirstSequence, in.LastSequence)
	})
	if err != nil {
		return nil, err
	}
	return &RetryFailedDeliveriesPayload{retried.Count, client}, nil
}
