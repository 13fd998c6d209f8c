package node

import (
	"context"

	"parapet/model"
	"parapet/model/wire"
)

// Policy is cover that was bound.
type Policy struct {
	*wire.Policy
	kin *kin
}

// IsNode makes it findable.
func (*Policy) IsNode() {}

func (r *Reader) policies(records []*wire.Policy) []*Policy {
	return together(r, records, func(p *wire.Policy) string { return p.ID }, func(p *wire.Policy, k *kin) *Policy {
		k.refer("quote", &p.QuoteID)
		k.refer("product", new(model.ProductID(p.Product, p.ProductVersion)))
		return &Policy{p, k}
	})
}

// Policy is one policy. Errors: not_found.
func (r *Reader) Policy(ctx context.Context, id string) (*Policy, error) {
	return one(r.policies)(r.Service.GetPolicy(ctx, r.Actor, id))
}

// Policies are policies, newest first.
func (r *Reader) Policies(ctx context.Context, first *int, after *string, filter *model.Filter, order *string) (*PolicyConnection, error) {
	return listed(r.policies)(r.Service.ListBarePolicies(ctx, r.Actor, orEmpty(filter), ordered(first, after, order)))
}

// ProductKey is the key of the product.
func (p *Policy) ProductKey() string { return p.Policy.Product }

// Product is what it was quoted by.
func (p *Policy) Product(ctx context.Context) (*Product, error) {
	return p.kin.product(ctx, p.Policy.Product, p.ProductVersion)
}

// Cover is as it was quoted.
func (p *Policy) Cover() Cover { return Cover{p.Policy.Cover} }

// Quote is the quote that was bound.
func (p *Policy) Quote(ctx context.Context) (*Quote, error) {
	r := p.kin.read
	return referred(ctx, p.kin, "quote", &p.QuoteID, r.Service.QuotesByID, r.quotes)
}

// Claims are the claims under it.
func (p *Policy) Claims(ctx context.Context, first *int, after, order *string) (*ClaimConnection, error) {
	r := p.kin.read
	return members(ctx, p.kin, p.ID, "claims", ordered(first, after, order), r.Service.ClaimsOf, r.claims)
}

// Timeline is its own changes and the timelines of its claims.
func (p *Policy) Timeline(ctx context.Context, first *int, after *string, last *int) (*TimelineConnection, error) {
	in, err := timelinePage(first, after, last)
	if err != nil {
		return nil, err
	}
	return members(ctx, p.kin, p.ID, "timeline", in, p.kin.read.Service.PolicyTimelinesOf, asTheyAre[wire.TimelineEntry])
}

// PayoutMethods are the accounts of its claims.
func (p *Policy) PayoutMethods(ctx context.Context, first *int, after, order *string) (*PayoutMethodConnection, error) {
	r := p.kin.read
	return members(ctx, p.kin, p.ID, "payoutMethods", ordered(first, after, order), r.Service.PayoutMethodsOf, r.payoutMethods)
}

// BindPolicyInput is a quote to bind.
type BindPolicyInput struct {
	model.BindRequest
	ClientMutationID *string
}

// BindPolicyPayload is what was bound.
type BindPolicyPayload struct {
	Policy           *Policy
	ClientMutationID *string
}

// BindPolicy makes a quote binding.
func (r *Reader) BindPolicy(ctx context.Context, in BindPolicyInput) (*BindPolicyPayload, error) {
	record, err := mutate(ctx, r, in.ClientMutationID, in.BindRequest, r.Service.BindPolicy)
	policy, err := one(r.policies)(record, err)
	return &BindPolicyPayload{policy, in.ClientMutationID}, err
}
