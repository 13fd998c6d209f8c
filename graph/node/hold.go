package node

import (
	"context"

	"parapet/model"
)

// BlockPayoutInput is a payout to hold.
type BlockPayoutInput struct {
	PayoutID         string
	Version          *int64
	Reason           string
	Note             string
	ClientMutationID *string
}

// PayoutPayload is a payout as it is now.
type PayoutPayload struct {
	Payout           *Payout
	ClientMutationID *string
}

// BlockPayout keeps a payout from going out.
func (r *Reader) BlockPayout(ctx context.Context, in BlockPayoutInput) (*PayoutPayload, error) {
	request := model.HoldRequest{PayoutID: in.PayoutID, Reason: model.BlockedReason(in.Reason), Note: in.Note}
	record, err := operate(ctx, r, in.ClientMutationID, in.PayoutID, in.Version, request, r.Service.BlockPayout)
	payout, err := one(r.payouts)(record, err)
	return &PayoutPayload{payout, in.ClientMutationID}, err
}

// UnblockPayoutInput is a hold to lift.
type UnblockPayoutInput struct {
	model.LiftRequest
	Version          *int64
	ClientMutationID *string
}

// UnblockPayout lifts a hold.
func (r *Reader) UnblockPayout(ctx context.Context, in UnblockPayoutInput) (*PayoutPayload, error) {
	record, err := operate(ctx, r, in.ClientMutationID, in.PayoutID, in.Version, in.LiftRequest, r.Service.UnblockPayout)
	payout, err := one(r.payouts)(record, err)
	return &PayoutPayload{payout, in.ClientMutationID}, err
}
