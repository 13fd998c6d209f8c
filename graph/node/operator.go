package node

import (
	"context"

	"parapet/model/kernel/actor"
	"parapet/model/underwriting"
)

// versionedRequest is an operator's request about a record, with the version on which the
// decision was based, if given.
type versionedRequest[In any] struct {
	Request In
	Version *int64
}

// runOperatorMutation is runMutation for a record that must still have the version the
// operator saw.
func runOperatorMutation[In, R any](ctx context.Context, r *Reader, client *string, record string, version *int64, in In, do func(context.Context, actor.Actor, In) (*R, error)) (*R, error) {
	return runMutation(ctx, r, client, versionedRequest[In]{in, version}, func(ctx context.Context, caller actor.Actor, in versionedRequest[In]) (*R, error) {
		if in.Version != nil {
			caller.Precondition = actor.RequireVersion(record, *in.Version)
		}
		return do(ctx, caller, in.Request)
	})
}

// CancelPolicyInput is the input of CancelPolicy.
type CancelPolicyInput struct {
	underwriting.CancellationRequest
	Version          *int64
	ClientMutationID *string
}

// CancelPolicyPayload is the cancelled policy.
type CancelPolicyPayload struct {
	Policy           *Policy
	ClientMutationID *string
}

// CancelPolicy cancels a policy.
func (r *Reader) CancelPolicy(ctx context.Context, in CancelPolicyInput) (*CancelPolicyPayload, error) {
	record, err := runOperatorMutation(ctx, r, in.ClientMutationID, in.PolicyID, in.Version, in.CancellationRequest, r.Service.Policies.Cancel)
	policy, err := toNode(r.newPolicies)(record, err)
	return &CancelPolicyPayload{policy, in.ClientMutationID}, err
}
