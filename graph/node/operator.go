package node

import (
	"context"

	"parapet/model"
)

// seen is a request of an operator about a record, with the version they decided
// upon where they named it.
type seen[In any] struct {
	Request In
	Version *int64
}

// operate is mutate for a record that must still be what the operator saw.
func operate[In, R any](ctx context.Context, r *Reader, client *string, record string, version *int64, in In, do func(context.Context, model.Actor, In) (*R, error)) (*R, error) {
	return mutate(ctx, r, client, seen[In]{in, version}, func(ctx context.Context, actor model.Actor, in seen[In]) (*R, error) {
		if in.Version != nil {
			actor.Condition = model.AtVersion(record, *in.Version)
		}
		return do(ctx, actor, in.Request)
	})
}

// CancelPolicyInput is a policy to cancel.
type CancelPolicyInput struct {
	model.CancellationRequest
	Version          *int64
	ClientMutationID *string
}

// CancelPolicyPayload is what was cancelled.
type CancelPolicyPayload struct {
	Policy           *Policy
	ClientMutationID *string
}

// CancelPolicy ends cover early.
func (r *Reader) CancelPolicy(ctx context.Context, in CancelPolicyInput) (*CancelPolicyPayload, error) {
	record, err := operate(ctx, r, in.ClientMutationID, in.PolicyID, in.Version, in.CancellationRequest, r.Service.CancelPolicy)
	policy, err := one(r.policies)(record, err)
	return &CancelPolicyPayload{policy, in.ClientMutationID}, err
}
