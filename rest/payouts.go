package rest

import (
	"context"

	"parapet/model"
	"parapet/model/wire"
)

func (d *door) getPayouts(ctx context.Context, c *call, page model.PageRequest) (*model.Page[wire.Payout], error) {
	return d.withApprovals(ctx, c)(d.Service.GetPayouts(ctx, c.actor, c.path("claim_id"), page))
}

func (d *door) listPayouts(ctx context.Context, c *call, filter model.Filter, page model.PageRequest) (*model.Page[wire.Payout], error) {
	return d.withApprovals(ctx, c)(d.Service.ListPayouts(ctx, c.actor, filter, page))
}

func (d *door) getPayout(ctx context.Context, c *call) (*wire.Payout, error) {
	payout, err := d.Service.GetPayout(ctx, c.actor, c.path("payout_id"))
	if err != nil {
		return nil, err
	}
	return payout, d.Service.AddApprovals(ctx, c.actor, payout)
}

// withApprovals adds to a page of payouts what operators see before they approve.
func (d *door) withApprovals(ctx context.Context, c *call) func(*model.Page[wire.Payout], error) (*model.Page[wire.Payout], error) {
	return func(found *model.Page[wire.Payout], err error) (*model.Page[wire.Payout], error) {
		if err != nil {
			return nil, err
		}
		payouts := make([]*wire.Payout, len(found.Data))
		for i := range found.Data {
			payouts[i] = &found.Data[i]
		}
		return found, d.Service.AddApprovals(ctx, c.actor, payouts...)
	}
}
