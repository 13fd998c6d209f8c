package rest

import (
	"context"

	"parapet/model"
	"parapet/model/wire"
)

func (d *door) getPayouts(ctx context.Context, c *call, page model.PageRequest) (*model.Page[wire.Payout], error) {
	return d.Service.GetPayouts(ctx, c.actor, c.path("claim_id"), page)
}

func (d *door) getPayout(ctx context.Context, c *call) (*wire.Payout, error) {
	return d.Service.GetPayout(ctx, c.actor, c.path("payout_id"))
}
