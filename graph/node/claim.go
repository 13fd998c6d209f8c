package node

import (
	"context"

	"parapet/model/wire"
)

// Claim asks for money under a policy.
type Claim struct {
	*wire.Claim
	kin *kin
}

// IsNode makes it findable.
func (*Claim) IsNode() {}

func (r *Reader) claims(records []*wire.Claim) []*Claim {
	return together(r, records, func(c *wire.Claim) string { return c.ID }, func(c *wire.Claim, k *kin) *Claim { return &Claim{c, k} })
}

// Claim is one claim. Errors: not_found.
func (r *Reader) Claim(ctx context.Context, id string) (*Claim, error) {
	return one(r.claims)(r.Service.GetClaim(ctx, r.Actor, id))
}
