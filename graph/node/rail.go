package node

import (
	"context"

	"parapet/model/payouts/release"
)

// AdoptRailInput declares two identities to be one bank.
type AdoptRailInput struct {
	release.AdoptionRequest
	ClientMutationID *string
}

// AdoptRailPayload is the declared adoption.
type AdoptRailPayload struct {
	Adoption         *release.RailAdoption
	ClientMutationID *string
}

// AdoptRail declares two identities to be one bank.
func (r *Reader) AdoptRail(ctx context.Context, in AdoptRailInput) (*AdoptRailPayload, error) {
	adoption, err := runMutation(ctx, r, in.ClientMutationID, in.AdoptionRequest, r.Service.Releases.AdoptRail)
	return &AdoptRailPayload{adoption, in.ClientMutationID}, err
}

// RailIdentities lists the banks to which orders were sent.
func (r *Reader) RailIdentities(ctx context.Context) ([]*release.KnownRail, error) {
	rails, err := r.Service.Releases.KnownRails(ctx, r.Actor)
	return pointersTo(rails), err
}
