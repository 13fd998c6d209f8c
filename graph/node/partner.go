package node

import (
	"context"

	"parapet/model/kernel/actor"
	"parapet/model/partners"
	"parapet/model/wire"
)

// Partner returns a partner. Errors: not_found.
func (r *Reader) Partner(ctx context.Context, slug string) (*wire.Partner, error) {
	return r.Service.Partners.Get(ctx, r.Actor, slug)
}

// Partners lists all partners by slug.
func (r *Reader) Partners(ctx context.Context, first *int, after *string) (*PartnerConnection, error) {
	return toConnection(asNodes[wire.Partner])(r.Service.Partners.List(ctx, r.Actor, pageRequest(first, after)))
}

// RegisterPartnerInput is the input of RegisterPartner.
type RegisterPartnerInput struct {
	partners.Request
	ClientMutationID *string
}

// PartnerPayload is the partner after a mutation.
type PartnerPayload struct {
	Partner          *wire.Partner
	ClientMutationID *string
}

// RegisterPartner registers a partner.
func (r *Reader) RegisterPartner(ctx context.Context, in RegisterPartnerInput) (*PartnerPayload, error) {
	partner, err := runMutation(ctx, r, in.ClientMutationID, in.Request,
		func(ctx context.Context, actor actor.Actor, in partners.Request) (*wire.Partner, error) {
			partner, _, err := r.Service.Partners.Register(ctx, actor, in)
			return partner, err
		})
	return &PartnerPayload{partner, in.ClientMutationID}, err
}

// PartnerStatusInput is the input of DisablePartner and EnablePartner.
type PartnerStatusInput struct {
	partners.StatusRequest
	ClientMutationID *string
}

// DisablePartner makes the API reject a partner's requests.
func (r *Reader) DisablePartner(ctx context.Context, in PartnerStatusInput) (*PartnerPayload, error) {
	partner, err := runMutation(ctx, r, in.ClientMutationID, in.StatusRequest, r.Service.Partners.Disable)
	return &PartnerPayload{partner, in.ClientMutationID}, err
}

// EnablePartner enables a disabled partner.
func (r *Reader) EnablePartner(ctx context.Context, in PartnerStatusInput) (*PartnerPayload, error) {
	partner, err := runMutation(ctx, r, in.ClientMutationID, in.StatusRequest, r.Service.Partners.Enable)
	return &PartnerPayload{partner, in.ClientMutationID}, err
}

// SetPartnerTermsInput is the input of SetPartnerTerms.
type SetPartnerTermsInput struct {
	partners.TermsRequest
	ClientMutationID *string
}

// SetPartnerTerms replaces the terms of a partner.
func (r *Reader) SetPartnerTerms(ctx context.Context, in SetPartnerTermsInput) (*PartnerPayload, error) {
	partner, err := runMutation(ctx, r, in.ClientMutationID, in.TermsRequest, r.Service.Partners.SetTerms)
	return &PartnerPayload{partner, in.ClientMutationID}, err
}
