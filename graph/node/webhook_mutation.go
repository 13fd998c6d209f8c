package node

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"parapet/model"
	"parapet/model/wire"
)

// CreateWebhookEndpointInput is an endpoint to create.
type CreateWebhookEndpointInput struct {
	model.WebhookEndpointRequest
	ClientMutationID *string
}

// WebhookSecretPayload is an endpoint with the secret that is shown once.
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

// CreateWebhookEndpoint registers where events are to be sent.
func (r *Reader) CreateWebhookEndpoint(ctx context.Context, in CreateWebhookEndpointInput) (*WebhookSecretPayload, error) {
	record, err := runMutation(ctx, r, in.ClientMutationID, in.WebhookEndpointRequest, r.Service.CreateWebhookEndpoint)
	return r.newSecretPayload(record, err, in.ClientMutationID)
}

// ChangeWebhookEndpointInput is what to change of an endpoint. Where null takes
// something away, it is told from what is left out.
type ChangeWebhookEndpointInput struct {
	model.WebhookEndpointRequest
	WebhookEndpointID string
	EveryEventType    *bool
	PartnerReference  graphql.Omittable[*string]
	Metadata          graphql.Omittable[map[string]*string]
	ClientMutationID  *string
}

// toModel is the input as the domain takes it, with the endpoint it is about.
func (in *ChangeWebhookEndpointInput) toModel() (webhookEndpointChange, error) {
	out := webhookEndpointChange{in.WebhookEndpointID, in.WebhookEndpointRequest}
	if orEmpty(in.EveryEventType) {
		if in.EventTypes != nil {
			return out, model.Invalid(model.FieldError{Pointer: "/every_event_type", Code: "not_allowed", Detail: "Give eventTypes, or everyEventType, not both."})
		}
		out.EventTypes = []string{model.AllEvents}
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
	model.WebhookEndpointRequest
}

// ChangeWebhookEndpointPayload is what was changed.
type ChangeWebhookEndpointPayload struct {
	WebhookEndpoint  *WebhookEndpoint
	ClientMutationID *string
}

// ChangeWebhookEndpoint changes what is named.
func (r *Reader) ChangeWebhookEndpoint(ctx context.Context, in ChangeWebhookEndpointInput) (*ChangeWebhookEndpointPayload, error) {
	change, err := in.toModel()
	if err != nil {
		return nil, err
	}
	record, err := runMutation(ctx, r, in.ClientMutationID, change, func(ctx context.Context, actor model.Actor, in webhookEndpointChange) (*wire.WebhookEndpoint, error) {
		return r.Service.ChangeWebhookEndpoint(ctx, actor, in.WebhookEndpointID, in.WebhookEndpointRequest)
	})
	endpoint, err := toNode(r.newWebhookEndpoints)(record, err)
	return &ChangeWebhookEndpointPayload{endpoint, in.ClientMutationID}, err
}

// WebhookEndpointInput names an endpoint to do something with.
type WebhookEndpointInput struct {
	WebhookEndpointID string
	ClientMutationID  *string
}

// DeleteWebhookEndpointPayload is what is gone.
type DeleteWebhookEndpointPayload struct {
	WebhookEndpointID string
	ClientMutationID  *string
}

// DeleteWebhookEndpoint forgets an endpoint.
func (r *Reader) DeleteWebhookEndpoint(ctx context.Context, in WebhookEndpointInput) (*DeleteWebhookEndpointPayload, error) {
	_, err := runMutation(ctx, r, in.ClientMutationID, in.WebhookEndpointID, func(ctx context.Context, actor model.Actor, id string) (*wire.WebhookEndpoint, error) {
		return nil, r.Service.DeleteWebhookEndpoint(ctx, actor, id)
	})
	return &DeleteWebhookEndpointPayload{in.WebhookEndpointID, in.ClientMutationID}, err
}

// RotateWebhookSecret makes a new secret.
func (r *Reader) RotateWebhookSecret(ctx context.Context, in WebhookEndpointInput) (*WebhookSecretPayload, error) {
	record, err := runMutation(ctx, r, in.ClientMutationID, in.WebhookEndpointID, r.Service.RotateWebhookSecret)
	return r.newSecretPayload(record, err, in.ClientMutationID)
}

// DeliveryPayload is what is sent.
type DeliveryPayload struct {
	Delivery         *Delivery
	ClientMutationID *string
}

// TestWebhookEndpoint sends an event to try an endpoint.
func (r *Reader) TestWebhookEndpoint(ctx context.Context, in WebhookEndpointInput) (*DeliveryPayload, error) {
	record, err := runMutation(ctx, r, in.ClientMutationID, in.WebhookEndpointID, r.Service.TestWebhookEndpoint)
	delivery, err := toNode(r.newDeliveries)(record, err)
	return &DeliveryPayload{delivery, in.ClientMutationID}, err
}

// RetryDeliveryInput is a delivery to send again.
type RetryDeliveryInput struct {
	DeliveryID       string
	ClientMutationID *string
}

// RetryDelivery sends an event once more.
func (r *Reader) RetryDelivery(ctx context.Context, in RetryDeliveryInput) (*DeliveryPayload, error) {
	record, err := runMutation(ctx, r, in.ClientMutationID, in.DeliveryID, r.Service.RetryDelivery)
	delivery, err := toNode(r.newDeliveries)(record, err)
	return &DeliveryPayload{delivery, in.ClientMutationID}, err
}

// RetryParkedDeliveriesInput is which parked deliveries to send again.
type RetryParkedDeliveriesInput struct {
	WebhookEndpointID           string
	FirstSequence, LastSequence *int64
	ClientMutationID            *string
}

// RetryParkedDeliveriesPayload is how much is sent again.
type RetryParkedDeliveriesPayload struct {
	Count            int
	ClientMutationID *string
}

// RetryParkedDeliveries sends what was parked once more.
func (r *Reader) RetryParkedDeliveries(ctx context.Context, in RetryParkedDeliveriesInput) (*RetryParkedDeliveriesPayload, error) {
	client := in.ClientMutationID
	in.ClientMutationID = nil
	retried, err := runMutation(ctx, r, client, in, func(ctx context.Context, actor model.Actor, in RetryParkedDeliveriesInput) (*wire.Retried, error) {
		return r.Service.RetryFailed(ctx, actor, in.WebhookEndpointID, in.FirstSequence, in.LastSequence)
	})
	if err != nil {
		return nil, err
	}
	return &RetryParkedDeliveriesPayload{retried.Count, client}, nil
}
