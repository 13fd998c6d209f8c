package node

import (
	"context"

	"parapet/model"
	"parapet/model/wire"
)

// CapacityFilter narrows the list of capacities.
type CapacityFilter struct{ Product *string }

// Capacities are the bounds of what may be at risk.
func (r *Reader) Capacities(ctx context.Context, first *int, after *string, filter *CapacityFilter) (*CapacityConnection, error) {
	return toConnection(asNodes[wire.Capacity])(r.Service.ListCapacities(ctx, r.Actor, orEmpty(orEmpty(filter).Product), pageRequest(first, after)))
}

// SetCapacityInput is a bound to set.
type SetCapacityInput struct {
	model.CapacityRequest
	ClientMutationID *string
}

// SetCapacityPayload is what was set.
type SetCapacityPayload struct {
	Capacity         *wire.Capacity
	ClientMutationID *string
}

// SetCapacity bounds what may be at risk.
func (r *Reader) SetCapacity(ctx context.Context, in SetCapacityInput) (*SetCapacityPayload, error) {
	capacity, err := runMutation(ctx, r, in.ClientMutationID, in.CapacityRequest, r.Service.SetCapacity)
	if in.Amount == nil {
		capacity = nil
	}
	return &SetCapacityPayload{capacity, in.ClientMutationID}, err
}
