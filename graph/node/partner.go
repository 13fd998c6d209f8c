package node

import (
	"context"

	"parapet/model"
	"parapet/model/wire"
)

// Partner is one partner. Errors: not_found.
func (r *Reader) Partner(ctx context.Context, slug string) (*wire.Partner, error) {
	return r.Service.GetPartner(ctx, r.Actor, slug)
}

// Partners are all partners, by slug.
func (r *Reader) Partners(ctx context.Context, first *int, after *string) (*PartnerConnection, error) {
	return toConnection(asNodes[wire.Partner])(r.Service.ListPartners(ctx, r.Actor, pageRequest(first, after)))
}

// RegisterPartnerInput is a partner to register.
type RegisterPartnerInput struct {
	model.PartnerRequest
	ClientMutationID *string
}

// PartnerPayload is a partner as it is now.
type PartnerPayload struct {
	Partner          *wire.Partner
	ClientMutationID *string
}

// RegisterPartner makes a partner known.
func (r *Reader) RegisterPartner(ctx context.Context, in RegisterPartnerInput) (*PartnerPayload, error) {
	partner, err := runMutation(ctx, r, in.ClientMutationID, in.PartnerRequest,
		func(ctx context.Context, actor model.Actor, in model.PartnerRequest) (*wire.Partner, error) {
			partner, _, err := r.Service.RegisterPartner(ctx, actor, in)
			return partner, err
		})
	return &PartnerPayload{partner, in.ClientMutationID}, err
}

// PartnerStatusInput is a partner to disable or enable.
type PartnerStatusInput struct {
	model.PartnerStatusRequest
	ClientMutationID *string
}

// DisablePartner refuses what a partner asks.
func (r *Reader) DisablePartner(ctx context.Context, in PartnerStatusInput) (*PartnerPayload, error) {
	partner, err := runMutation(ctx, r, in.ClientMutationID, in.PartnerStatusRequest, r.Service.DisablePartner)
	return &PartnerPayload{partner, in.ClientMutationID}, err
}

// EnablePartner lets a partner act again.
func (r *Reader) EnablePartner(ctx context.Context, in PartnerStatusInput) (*PartnerPayload, error) {
	partner, err := runMutation(ctx, r, in.ClientMutationID, in.PartnerStatusRequest, r.Service.EnablePartner)
	return &PartnerPayload{partner, in.ClientMutationID}, err
}
