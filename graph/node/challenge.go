package node

import (
	"context"

	"parapet/model/claims/challenge"
	"parapet/model/wire"
)

// MeasurementState returns how far the sources of the policy's terms have come.
func (c *Claim) MeasurementState(ctx context.Context) (*wire.MeasurementState, error) {
	r := c.batch.reader
	return loadRelation(ctx, c.batch, c.ID, "measurementState", func(ctx context.Context) (map[string]*wire.MeasurementState, error) {
		return r.Service.Measured.States(ctx, r.Actor, c.batch.ids)
	})
}

// ChallengeClaimInput is the input of ChallengeClaim.
type ChallengeClaimInput struct {
	challenge.Request
	ClientMutationID *string
}

// ChallengeClaim challenges the decision on a claim.
func (r *Reader) ChallengeClaim(ctx context.Context, in ChallengeClaimInput) (*ClaimPayload, error) {
	record, err := runMutation(ctx, r, in.ClientMutationID, in.Request, r.Service.Challenges.Open)
	claim, err := toNode(r.newClaims)(record, err)
	return &ClaimPayload{claim, in.ClientMutationID}, err
}

// DecideChallengeInput is an operator's decision about the challenge of a claim.
type DecideChallengeInput struct {
	ClaimID          string
	Version          *int64
	Outcome          string
	FurtherAmount    *wire.Money
	Message          *string
	Note             *string
	ClientMutationID *string
}

// DecideChallenge accepts or rejects the open challenge of a claim.
func (r *Reader) DecideChallenge(ctx context.Context, in DecideChallengeInput) (*ClaimPayload, error) {
	request := challenge.DecisionRequest{ClaimID: in.ClaimID, Outcome: challenge.Status(in.Outcome), FurtherAmount: in.FurtherAmount, Message: in.Message, Note: in.Note}
	record, err := runOperatorMutation(ctx, r, in.ClientMutationID, in.ClaimID, in.Version, request, r.Service.Challenges.Decide)
	claim, err := toNode(r.newClaims)(record, err)
	return &ClaimPayload{claim, in.ClientMutationID}, err
}
