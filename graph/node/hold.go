package node

import (
	"context"

	"parapet/model/claims"
	"parapet/model/payouts"
)

// BlockPayoutInput is the input of BlockPayout.
type BlockPayoutInput struct {
	PayoutID         string
	Version          *int64
	Reason           string
	Note             string
	ClientMutationID *string
}

// PayoutPayload is the payout after a mutation.
type PayoutPayload struct {
	Payout           *Payout
	ClientMutationID *string
}

// BlockPayout puts a hold on a payout.
func (r *Reader) BlockPayout(ctx context.Context, in BlockPayoutInput) (*PayoutPayload, error) {
	request := payouts.HoldRequest{PayoutID: in.PayoutID, Reason: claims.BlockedReason(in.Reason), Note: in.Note}
	record, err := runOperatorMutation(ctx, r, in.ClientMutationID, in.PayoutID, in.Version, request, r.Service.Payouts.Block)
	payout, err := toNode(r.newPayouts)(record, err)
	return &PayoutPayload{payout, in.ClientMutationID}, err
}

// UnblockPayoutInput is the input of UnblockPayout.
type UnblockPayoutInput struct {
	payouts.LiftHoldRequest
	Version          *int64
	ClientMutationID *string
}

// UnblockPayout lifts a hold.
func (r *Reader) UnblockPayout(ctx context.Context, in UnblockPayoutInput) (*PayoutPayload, error) {
	record, err := runOperatorMutation(ctx, r, in.ClientMutationID, in.PayoutID, in.Version, in.LiftHoldRequest, r.Service.Payouts.Unblock)
	payout, err := toNode(r.newPayouts)(record, err)
	return &PayoutPayload{payout, in.ClientMutationID}, err
}
