package node

import (
	"context"
	"time"

	"parapet/model/audit"
	"parapet/model/claims"
	"parapet/model/claims/adjudication"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// DecideClaimInput is an operator's decision about a claim.
type DecideClaimInput struct {
	ClaimID          string
	Version          *int64
	Outcome          string
	Amount           *wire.Money
	ReasonCodes      []string
	NextReviewAt     *time.Time
	Message          *string
	Note             *string
	ClientMutationID *string
}

// ClaimPayload is the claim after a mutation.
type ClaimPayload struct {
	Claim            *Claim
	ClientMutationID *string
}

// DecideClaim approves, defers or declines a claim.
func (r *Reader) DecideClaim(ctx context.Context, in DecideClaimInput) (*ClaimPayload, error) {
	request := adjudication.DecisionRequest{
		ClaimID: in.ClaimID, Outcome: claims.ClaimStatus(in.Outcome), Amount: in.Amount, NextReviewAt: in.NextReviewAt, Message: in.Message, Note: in.Note,
	}
	for _, code := range in.ReasonCodes {
		request.ReasonCodes = append(request.ReasonCodes, claims.ReasonCode(code))
	}
	record, err := runOperatorMutation(ctx, r, in.ClientMutationID, in.ClaimID, in.Version, request, r.Service.Adjudication.Decide)
	claim, err := toNode(r.newClaims)(record, err)
	return &ClaimPayload{claim, in.ClientMutationID}, err
}

// WithdrawClaimInput is the input of WithdrawClaim.
type WithdrawClaimInput struct {
	adjudication.WithdrawalRequest
	Version          *int64
	ClientMutationID *string
}

// WithdrawClaim withdraws a claim.
func (r *Reader) WithdrawClaim(ctx context.Context, in WithdrawClaimInput) (*ClaimPayload, error) {
	record, err := runOperatorMutation(ctx, r, in.ClientMutationID, in.ClaimID, in.Version, in.WithdrawalRequest, r.Service.Adjudication.Withdraw)
	claim, err := toNode(r.newClaims)(record, err)
	return &ClaimPayload{claim, in.ClientMutationID}, err
}

// OperatorActions lists the operator actions on the claim.
func (c *Claim) OperatorActions(ctx context.Context) ([]audit.OperatorAction, error) {
	list, err := loadRelation(ctx, c.batch, c.ID, "operatorActions", func(ctx context.Context) (map[string]*store.Page[audit.OperatorAction], error) {
		return c.batch.reader.Service.Audit.OperatorActionsOf(ctx, c.batch.reader.Actor, c.batch.ids, store.PageRequest{Limit: store.MaxPageSize})
	})
	if err != nil {
		return nil, err
	}
	return list.Data, nil
}
