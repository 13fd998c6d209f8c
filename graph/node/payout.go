package node

import (
	"context"

	"parapet/model/account"
	"parapet/model/kernel/optional"
	"parapet/model/kernel/store"
	"parapet/model/payouts"
	"parapet/model/wire"
)

// Payout is a payment to a beneficiary.
type Payout struct {
	*wire.Payout
	batch *batch
}

// IsNode implements Node.
func (*Payout) IsNode() {}

var payoutReferences = references[*wire.Payout]{
	"claim":        func(p *wire.Payout) *string { return &p.ClaimID },
	"policy":       func(p *wire.Payout) *string { return &p.PolicyID },
	"payoutMethod": func(p *wire.Payout) *string { return p.PayoutMethodID },
}

func (r *Reader) newPayouts(records []*wire.Payout) []*Payout {
	return newBatch(r, records, func(p *wire.Payout) string { return p.ID }, payoutReferences, func(p *wire.Payout, b *batch) *Payout {
		return &Payout{p, b}
	})
}

// Payout returns a payout. Errors: not_found.
func (r *Reader) Payout(ctx context.Context, id string) (*Payout, error) {
	return toNode(r.newPayouts)(r.Service.Claims.GetPayout(ctx, r.Actor, id))
}

// Payouts lists payouts, newest first.
func (r *Reader) Payouts(ctx context.Context, first *int, after *string, filter *store.Filter, order *string) (*PayoutConnection, error) {
	return toConnection(r.newPayouts)(r.Service.Claims.ListPayouts(ctx, r.Actor, optional.OrZero(filter), orderedPage(first, after, order)))
}

// Claim returns the claim that is paid.
func (p *Payout) Claim(ctx context.Context) (*Claim, error) {
	r := p.batch.reader
	return loadOne(ctx, p.batch, "claim", &p.ClaimID, r.Service.Claims.ByID, r.newClaims)
}

// Policy returns the policy that is paid under.
func (p *Payout) Policy(ctx context.Context) (*Policy, error) {
	r := p.batch.reader
	return loadOne(ctx, p.batch, "policy", &p.PolicyID, r.Service.Policies.BareByID, r.newPolicies)
}

// PayoutMethod returns the account that is paid.
func (p *Payout) PayoutMethod(ctx context.Context) (*PayoutMethod, error) {
	r := p.batch.reader
	return loadOne(ctx, p.batch, "payoutMethod", p.PayoutMethodID, r.Service.Payouts.MethodsByID, r.newPayoutMethods)
}

// PayoutMethod is an account to which a payout can be paid.
type PayoutMethod struct {
	*wire.PayoutMethod
	batch *batch
}

// IsNode implements Node.
func (*PayoutMethod) IsNode() {}

func (r *Reader) newPayoutMethods(records []*wire.PayoutMethod) []*PayoutMethod {
	return newBatch(r, records, func(m *wire.PayoutMethod) string { return m.ID }, nil, func(m *wire.PayoutMethod, b *batch) *PayoutMethod {
		return &PayoutMethod{m, b}
	})
}

// PayoutMethod returns a payout method. Errors: not_found.
func (r *Reader) PayoutMethod(ctx context.Context, id string) (*PayoutMethod, error) {
	return toNode(r.newPayoutMethods)(r.Service.Payouts.GetMethod(ctx, r.Actor, id))
}

// PayoutMethods lists payout methods, newest first.
func (r *Reader) PayoutMethods(ctx context.Context, first *int, after *string, filter *store.Filter, order *string) (*PayoutMethodConnection, error) {
	return toConnection(r.newPayoutMethods)(r.Service.Payouts.ListMethods(ctx, r.Actor, optional.OrZero(filter), orderedPage(first, after, order)))
}

// RecordPayoutMethodInput is the input of RecordPayoutMethod, with the account number
// next to its type.
type RecordPayoutMethodInput struct {
	payouts.MethodRequest
	account.Number
	ClientMutationID *string
}

// RecordPayoutMethodPayload is the recorded payout method.
type RecordPayoutMethodPayload struct {
	PayoutMethod     *PayoutMethod
	ClientMutationID *string
}

// RecordPayoutMethod records a payout method.
func (r *Reader) RecordPayoutMethod(ctx context.Context, in RecordPayoutMethodInput) (*RecordPayoutMethodPayload, error) {
	in.MethodRequest.Number = in.Number
	record, err := runMutation(ctx, r, in.ClientMutationID, in.MethodRequest, r.Service.Payouts.RecordMethod)
	method, err := toNode(r.newPayoutMethods)(record, err)
	return &RecordPayoutMethodPayload{method, in.ClientMutationID}, err
}
