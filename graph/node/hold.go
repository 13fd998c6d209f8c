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
	record, err := runOperatorMutation(ctx, r, in.ClientMutationID, in.PayoutID, in.Version, request, r.Service.BlockPayout)
	payout, err := toNode(r.newPayouts)(record, err)
	return &PayoutPayload{payout, in.ClientMutationID}, err
}

// UnblockPayoutInput is a hold to lift.
type UnblockPayoutInput struct {
	model.LiftHoldRequest
	Version          *int64
	ClientMutationID *string
}

// UnblockPayout lifts a hold.
func (r *Reader) UnblockPayout(ctx context.Context, in UnblockPayoutInput) (*PayoutPayload, error) {
	record, err := runOperatorMutation(ctx, r, in.ClientMutationID, in.PayoutID, in.Version, in.LiftHoldRequest, r.Service.UnblockPayout)
	payout, err := toNode(r.newPayouts)(record, err)
	return &PayoutPayload{payout, in.ClientMutationID}, err
}
