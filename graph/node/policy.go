package node

import (
	"context"

	"parapet/model/kernel/optional"
	"parapet/model/kernel/store"
	"parapet/model/quoting/catalog"
	"parapet/model/underwriting"
	"parapet/model/wire"
)

// Policy is bound cover.
type Policy struct {
	*wire.Policy
	batch *batch
}

// IsNode implements Node.
func (*Policy) IsNode() {}

var policyReferences = references[*wire.Policy]{
	"quote":   func(p *wire.Policy) *string { return &p.QuoteID },
	"product": func(p *wire.Policy) *string { return new(catalog.ProductID(p.Product, p.ProductVersion)) },
}

func (r *Reader) newPolicies(records []*wire.Policy) []*Policy {
	return newBatch(r, records, func(p *wire.Policy) string { return p.ID }, policyReferences, func(p *wire.Policy, b *batch) *Policy {
		return &Policy{p, b}
	})
}

// Policy returns a policy. Errors: not_found.
func (r *Reader) Policy(ctx context.Context, id string) (*Policy, error) {
	return toNode(r.newPolicies)(r.Service.Policies.GetBare(ctx, r.Actor, id))
}

// Policies lists policies, newest first.
func (r *Reader) Policies(ctx context.Context, first *int, after *string, filter *store.Filter, order *string) (*PolicyConnection, error) {
	return toConnection(r.newPolicies)(r.Service.Policies.ListBare(ctx, r.Actor, optional.OrZero(filter), selectedPage(ctx, first, after, order)))
}

// ProductKey returns the key of the product.
func (p *Policy) ProductKey() string { return p.Policy.Product }

// Product returns the product version of the quote.
func (p *Policy) Product(ctx context.Context) (*Product, error) {
	return p.batch.loadProduct(ctx, p.Policy.Product, p.ProductVersion)
}

// Cover returns the cover as quoted.
func (p *Policy) Cover() Cover { return Cover{p.Policy.Cover} }

// Quote returns the quote that was bound.
func (p *Policy) Quote(ctx context.Context) (*Quote, error) {
	r := p.batch.reader
	return loadOne(ctx, p.batch, "quote", &p.QuoteID, r.Service.Quotes.ByID, r.newQuotes)
}

// Claims lists the claims under the policy.
func (p *Policy) Claims(ctx context.Context, first *int, after, order *string) (*ClaimConnection, error) {
	r := p.batch.reader
	return loadPages(ctx, p.batch, p.ID, "claims", orderedPage(first, after, order), r.Service.Claims.ClaimsOf, r.newClaims)
}

// Timeline lists the policy's own changes and the timelines of its claims.
func (p *Policy) Timeline(ctx context.Context, first *int, after *string, last *int) (*TimelineConnection, error) {
	in, err := timelinePage(first, after, last)
	if err != nil {
		return nil, err
	}
	return loadPages(ctx, p.batch, p.ID, "timeline", in, p.batch.reader.Service.Claims.TimelinesByPolicy, asNodes[wire.TimelineEntry])
}

// PayoutMethods lists the accounts of the policy's claims.
func (p *Policy) PayoutMethods(ctx context.Context, first *int, after, order *string) (*PayoutMethodConnection, error) {
	r := p.batch.reader
	return loadPages(ctx, p.batch, p.ID, "payoutMethods", orderedPage(first, after, order), r.Service.Payouts.MethodsByParent, r.newPayoutMethods)
}

// BindPolicyInput is the input of BindPolicy.
type BindPolicyInput struct {
	underwriting.BindRequest
	ClientMutationID *string
}

// BindPolicyPayload is the bound policy.
type BindPolicyPayload struct {
	Policy           *Policy
	ClientMutationID *string
}

// BindPolicy binds a quote.
func (r *Reader) BindPolicy(ctx context.Context, in BindPolicyInput) (*BindPolicyPayload, error) {
	record, err := runMutation(ctx, r, in.ClientMutationID, in.BindRequest, r.Service.Policies.Bind)
	policy, err := toNode(r.newPolicies)(record, err)
	return &BindPolicyPayload{policy, in.ClientMutationID}, err
}
