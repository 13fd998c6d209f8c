package rest

import (
	"context"

	"parapet/model"
	"parapet/model/wire"
)

type bindRequest struct {
	QuoteID      string              `json:"quote_id" doc:"The quote that becomes binding." example:"quo_01kag5x3k8e4xtn0nq9yqg3s5v"`
	Policyholder *policyholderFields `json:"policyholder,omitzero" doc:"Who holds the policy; overrides the quote's context."`
	References
}

// policyholderFields is wire.Person as it is asked for: every member optional.
type policyholderFields struct {
	Name    *string `json:"name,omitzero" doc:"Natural or legal name."`
	Email   *string `json:"email,omitzero" format:"email"`
	Country *string `json:"country,omitzero" doc:"ISO 3166-1 alpha-2, in capitals." example:"TW"`
}

func (d *door) bindPolicy(ctx context.Context, c *call, in bindRequest) (*wire.Policy, error) {
	return d.Service.BindPolicy(ctx, c.actor, model.BindRequest{
		QuoteID: in.QuoteID, Policyholder: (*wire.Person)(in.Policyholder),
		PartnerReference: in.PartnerReference, Metadata: in.Metadata,
	})
}

func (d *door) getPolicies(ctx context.Context, c *call, filter model.Filter, page model.PageRequest) (*model.Page[wire.Policy], error) {
	return d.Service.ListPolicies(ctx, c.actor, filter, page)
}

func (d *door) getPolicy(ctx context.Context, c *call) (*wire.Policy, error) {
	return d.Service.GetPolicy(ctx, c.actor, c.path("policy_id"))
}

func (d *door) getPolicyTimeline(ctx context.Context, c *call, page model.PageRequest) (*model.Page[wire.TimelineEntry], error) {
	return d.Service.GetPolicyTimeline(ctx, c.actor, c.path("policy_id"), page)
}

func (d *door) cancelPolicy(ctx context.Context, c *call) (*wire.Policy, error) {
	return d.Service.CancelPolicy(ctx, c.actor, model.CancellationRequest{PolicyID: c.path("policy_id")})
}
