package rest

import (
	"context"

	"parapet/model/kernel/store"
	"parapet/model/wire"
)

func (s *server) getPayouts(ctx context.Context, c *requestContext, page store.PageRequest) (*store.Page[wire.Payout], error) {
	return s.withApprovals(ctx, c)(s.Service.Claims.GetPayouts(ctx, c.actor, c.pathParam("claim_id"), page))
}

func (s *server) listPayouts(ctx context.Context, c *requestContext, filter store.Filter, page store.PageRequest) (*store.Page[wire.Payout], error) {
	return s.withApprovals(ctx, c)(s.Service.Claims.ListPayouts(ctx, c.actor, filter, page))
}

func (s *server) getPayout(ctx context.Context, c *requestContext) (*wire.Payout, error) {
	payout, err := s.Service.Claims.GetPayout(ctx, c.actor, c.pathParam("payout_id"))
	if err != nil {
		return nil, err
	}
	return payout, s.Service.Payouts.EmbedApprovals(ctx, c.actor, payout)
}

// withApprovals adds the approvals to a page of payouts for operators.
func (s *server) withApprovals(ctx context.Context, c *requestContext) func(*store.Page[wire.Payout], error) (*store.Page[wire.Payout], error) {
	return func(found *store.Page[wire.Payout], err error) (*store.Page[wire.Payout], error) {
		if err != nil {
			return nil, err
		}
		payouts := make([]*wire.Payout, len(found.Data))
		for i := range found.Data {
			payouts[i] = &found.Data[i]
		}
		return found, s.Service.Payouts.EmbedApprovals(ctx, c.actor, payouts...)
	}
}
