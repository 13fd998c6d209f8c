package node

import (
	"context"

	"parapet/model/hazard/sources"
	"parapet/model/wire"
)

// Source returns a registered source. Errors: not_found.
func (r *Reader) Source(ctx context.Context, name string) (*wire.Source, error) {
	return r.Service.Sources.Get(ctx, r.Actor, name)
}

// Sources lists the registered sources by name.
func (r *Reader) Sources(ctx context.Context, first *int, after *string) (*SourceConnection, error) {
	return toConnection(asNodes[wire.Source])(r.Service.Sources.List(ctx, r.Actor, pageRequest(first, after)))
}

// RegisterSourceInput is the input of RegisterSource.
type RegisterSourceInput struct {
	sources.Request
	ClientMutationID *string
}

// RegisterSourcePayload is the source after a mutation.
type RegisterSourcePayload struct {
	Source           *wire.Source
	ClientMutationID *string
}

// RegisterSource registers a source or replaces its registration.
func (r *Reader) RegisterSource(ctx context.Context, in RegisterSourceInput) (*RegisterSourcePayload, error) {
	source, err := runMutation(ctx, r, in.ClientMutationID, in.Request, r.Service.Sources.Register)
	return &RegisterSourcePayload{source, in.ClientMutationID}, err
}
