package rest

import (
	"context"

	"parapet/model/kernel/store"
	"parapet/model/underwriting"
	"parapet/model/wire"
)

type bindRequest struct {
	QuoteID      string              `json:"quote_id" example:"quo_01kag5x3k8e4xtn0nq9yqg3s5v"`
	Policyholder *policyholderFields `json:"policyholder,omitzero"`
	PartnerFields
}

// policyholderFields is wire.Person in a request: every member is optional.
type policyholderFields struct {
	Name    *string `json:"name,omitzero"`
	Email   *string `json:"email,omitzero" format:"email"`
	Country *string `json:"country,omitzero" example:"TW"`
}

func (s *server) bindPolicy(ctx context.Context, c *requestContext, in bindRequest) (*wire.Policy, error) {
	return s.Service.Policies.Bind(ctx, c.actor, underwriting.BindRequest{
		QuoteID: in.QuoteID, Policyholder: (*wire.Person)(in.Policyholder),
		PartnerReference: in.PartnerReference, Metadata: in.Metadata,
	})
}

func (s *server) getPolicies(ctx context.Context, c *requestContext, filter store.Filter, page store.PageRequest) (*store.Page[wire.StoredPolicy], error) {
	return s.Service.Policies.List(ctx, c.actor, filter, page)
}

func (s *server) getPolicy(ctx context.Context, c *requestContext) (*wire.StoredPolicy, error) {
	return s.Service.Policies.Get(ctx, c.actor, c.pathParam("policy_id"))
}

func (s *server) getPolicyTimeline(ctx context.Context, c *requestContext, page store.PageRequest) (*store.Page[wire.TimelineEntry], error) {
	return s.Service.Claims.GetPolicyTimeline(ctx, c.actor, c.pathParam("policy_id"), page)
}

func (s *server) cancelPolicy(ctx context.Context, c *requestContext) (*wire.Policy, error) {
	return s.Service.Policies.Cancel(ctx, c.actor, underwriting.CancellationRequest{PolicyID: c.pathParam("policy_id")})
}
