package node

import (
	"context"

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
	return together(r, records, func(p *wire.Payout) string { return p.ID }, func(p *wire.Payout, k *kin) *Payout { return &Payout{p, k} })
}

// Payout is one payout. Errors: not_found.
func (r *Reader) Payout(ctx context.Context, id string) (*Payout, error) {
	return one(r.payouts)(r.Service.GetPayout(ctx, r.Actor, id))
}
