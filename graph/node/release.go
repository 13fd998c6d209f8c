package node

import (
	"context"

	"parapet/model/claims"
	"parapet/model/kernel/optional"
	"parapet/model/payouts"
)

// ApprovePayoutInput is the input of ApprovePayout.
type ApprovePayoutInput struct {
	PayoutID         string
	Version          *int64
	Digest           *string
	Note             *string
	ClientMutationID *string
}

// ApprovePayout approves a payout.
func (r *Reader) ApprovePayout(ctx context.Context, in ApprovePayoutInput) (*PayoutPayload, error) {
	request := payouts.ApprovalRequest{PayoutID: in.PayoutID, Digest: optional.OrZero(in.Digest), Note: in.Note}
	record, err := runOperatorMutation(ctx, r, in.ClientMutationID, in.PayoutID, in.Version, request, r.Service.Payouts.Approve)
	payout, err := toNode(r.newPayouts)(record, err)
	return &PayoutPayload{payout, in.ClientMutationID}, err
}

// ReleasePayoutInput is the input of ReleasePayout.
type ReleasePayoutInput struct {
	PayoutID         string
	Version          *int64
	Note             *string
	ClientMutationID *string
}

// ReleasePayout releases a payout.
func (r *Reader) ReleasePayout(ctx context.Context, in ReleasePayoutInput) (*PayoutPayload, error) {
	request := payouts.ReleaseRequest{PayoutID: in.PayoutID, Note: in.Note}
	record, err := runOperatorMutation(ctx, r, in.ClientMutationID, in.PayoutID, in.Version, request, r.Service.Payouts.Release)
	payout, err := toNode(r.newPayouts)(record, err)
	return &PayoutPayload{payout, in.ClientMutationID}, err
}

// ResolvePayoutInput is the input of ResolvePayout.
type ResolvePayoutInput struct {
	PayoutID         string
	Version          *int64
	Outcome          string
	Reference        *string
	Settled          bool
	Note             string
	ClientMutationID *string
}

// ResolvePayout resolves a payout in doubt or a mismatch.
func (r *Reader) ResolvePayout(ctx context.Context, in ResolvePayoutInput) (*PayoutPayload, error) {
	request := payouts.ResolutionRequest{PayoutID: in.PayoutID, Outcome: claims.PayoutStatus(in.Outcome), Reference: optional.OrZero(in.Reference), Settled: in.Settled, Note: in.Note}
	record, err := runOperatorMutation(ctx, r, in.ClientMutationID, in.PayoutID, in.Version, request, r.Service.Payouts.Resolve)
	payout, err := toNode(r.newPayouts)(record, err)
	return &PayoutPayload{payout, in.ClientMutationID}, err
}

// SettlePayoutExternallyInput is the input of SettlePayoutExternally.
type SettlePayoutExternallyInput struct {
	PayoutID         string
	Version          *int64
	Reference        string
	Note             string
	ClientMutationID *string
}

// SettlePayoutExternally closes a payout as already paid; it needs two operators.
func (r *Reader) SettlePayoutExternally(ctx context.Context, in SettlePayoutExternallyInput) (*PayoutPayload, error) {
	request := payouts.SettlementRequest{PayoutID: in.PayoutID, Reference: in.Reference, Note: in.Note}
	record, err := runOperatorMutation(ctx, r, in.ClientMutationID, in.PayoutID, in.Version, request, r.Service.Payouts.SettleExternally)
	payout, err := toNode(r.newPayouts)(record, err)
	return &PayoutPayload{payout, in.ClientMutationID}, err
}

// Approval returns the required and given approvals of the payout.
func (p *Payout) Approval(ctx context.Context) (*payouts.PayoutApproval, error) {
	return loadRelation(ctx, p.batch, p.ID, "approval", func(ctx context.Context) (map[string]*payouts.PayoutApproval, error) {
		return p.batch.reader.Service.Payouts.ApprovalsOf(ctx, p.batch.reader.Actor, p.batch.ids)
	})
}
