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
	return together(r, records, func(p *wire.Policy) string { return p.ID }, func(p *wire.Policy, k *kin) *Policy { return &Policy{p, k} })
}

// Policy is one policy. Errors: not_found.
func (r *Reader) Policy(ctx context.Context, id string) (*Policy, error) {
	return one(r.policies)(r.Service.GetPolicy(ctx, r.Actor, id))
}

// ProductKey is the key of the product.
func (p *Policy) ProductKey() string { return p.Product }

// Cover is as it was quoted.
func (p *Policy) Cover() Cover { return Cover{p.Policy.Cover} }

// Quote is the quote that was bound.
func (p *Policy) Quote(ctx context.Context) (*Quote, error) {
	return p.kin.read.Quote(ctx, p.QuoteID)
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
