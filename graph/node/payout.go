package node

import (
	"context"

	"parapet/model"
	"parapet/model/account"
	"parapet/model/wire"
)

// Payout is money on its way to a beneficiary.
type Payout struct {
	*wire.Payout
	kin *kin
}

// IsNode makes it findable.
func (*Payout) IsNode() {}

func (r *Reader) payouts(records []*wire.Payout) []*Payout {
	return together(r, records, func(p *wire.Payout) string { return p.ID }, func(p *wire.Payout, k *kin) *Payout {
		k.refer("claim", &p.ClaimID)
		k.refer("policy", &p.PolicyID)
		k.refer("payoutMethod", p.PayoutMethodID)
		return &Payout{p, k}
	})
}

// Payout is one payout. Errors: not_found.
func (r *Reader) Payout(ctx context.Context, id string) (*Payout, error) {
	return one(r.payouts)(r.Service.GetPayout(ctx, r.Actor, id))
}

// Payouts are payouts, newest first.
func (r *Reader) Payouts(ctx context.Context, first *int, after *string, filter *model.Filter, order *string) (*PayoutConnection, error) {
	return listed(r.payouts)(r.Service.ListPayouts(ctx, r.Actor, orEmpty(filter), ordered(first, after, order)))
}

// Claim is what it pays.
func (p *Payout) Claim(ctx context.Context) (*Claim, error) {
	r := p.kin.read
	return referred(ctx, p.kin, "claim", &p.ClaimID, r.Service.ClaimsByID, r.claims)
}

// Policy is what pays.
func (p *Payout) Policy(ctx context.Context) (*Policy, error) {
	r := p.kin.read
	return referred(ctx, p.kin, "policy", &p.PolicyID, r.Service.BarePoliciesByID, r.policies)
}

// PayoutMethod is where it goes.
func (p *Payout) PayoutMethod(ctx context.Context) (*PayoutMethod, error) {
	r := p.kin.read
	return referred(ctx, p.kin, "payoutMethod", p.PayoutMethodID, r.Service.PayoutMethodsByID, r.payoutMethods)
}

// PayoutMethod is an account that a payout can go to.
type PayoutMethod struct {
	*wire.PayoutMethod
	kin *kin
}

// IsNode makes it findable.
func (*PayoutMethod) IsNode() {}

func (r *Reader) payoutMethods(records []*wire.PayoutMethod) []*PayoutMethod {
	return together(r, records, func(m *wire.PayoutMethod) string { return m.ID }, func(m *wire.PayoutMethod, k *kin) *PayoutMethod {
		return &PayoutMethod{m, k}
	})
}

// PayoutMethod is one payout method. Errors: not_found.
func (r *Reader) PayoutMethod(ctx context.Context, id string) (*PayoutMethod, error) {
	return one(r.payoutMethods)(r.Service.GetPayoutMethod(ctx, r.Actor, id))
}

// PayoutMethods are payout methods, newest first.
func (r *Reader) PayoutMethods(ctx context.Context, first *int, after *string, filter *model.Filter, order *string) (*PayoutMethodConnection, error) {
	return listed(r.payoutMethods)(r.Service.ListPayoutMethods(ctx, r.Actor, orEmpty(filter), ordered(first, after, order)))
}

// RecordPayoutMethodInput is an account to pay to, its number beside its kind.
type RecordPayoutMethodInput struct {
	model.PayoutMethodRequest
	account.Number
	ClientMutationID *string
}

// RecordPayoutMethodPayload is what was recorded.
type RecordPayoutMethodPayload struct {
	PayoutMethod     *PayoutMethod
	ClientMutationID *string
}

// RecordPayoutMethod keeps an account.
func (r *Reader) RecordPayoutMethod(ctx context.Context, in RecordPayoutMethodInput) (*RecordPayoutMethodPayload, error) {
	in.PayoutMethodRequest.Number = in.Number
	record, err := mutate(ctx, r, in.ClientMutationID, in.PayoutMethodRequest, r.Service.RecordPayoutMethod)
	method, err := one(r.payoutMethods)(record, err)
	return &RecordPayoutMethodPayload{method, in.ClientMutationID}, err
}
