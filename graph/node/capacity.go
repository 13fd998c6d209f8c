package node

import (
	"context"

	"parapet/model/kernel/optional"
	"parapet/model/underwriting/capacity"
	"parapet/model/wire"
)

// CapacityFilter filters the list of capacities.
type CapacityFilter struct{ Product *string }

// Capacities lists the limits of the sum insured.
func (r *Reader) Capacities(ctx context.Context, first *int, after *string, filter *CapacityFilter) (*CapacityConnection, error) {
	return toConnection(asNodes[wire.Capacity])(r.Service.Capacity.List(ctx, r.Actor, optional.OrZero(optional.OrZero(filter).Product), pageRequest(first, after)))
}

// SetCapacityInput is the input of SetCapacity.
type SetCapacityInput struct {
	capacity.Request
	ClientMutationID *string
}

// SetCapacityPayload is the result of SetCapacity.
type SetCapacityPayload struct {
	Capacity         *wire.Capacity
	ClientMutationID *string
}

// SetCapacity sets or removes a limit of the sum insured.
func (r *Reader) SetCapacity(ctx context.Context, in SetCapacityInput) (*SetCapacityPayload, error) {
	capacity, err := runMutation(ctx, r, in.ClientMutationID, in.Request, r.Service.Capacity.Set)
	if in.Amount == nil {
		capacity = nil
	}
	return &SetCapacityPayload{capacity, in.ClientMutationID}, err
}
