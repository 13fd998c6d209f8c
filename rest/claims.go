package rest

import (
	"context"
	"time"

	"parapet/model/claims"
	"parapet/model/claims/adjudication"
	"parapet/model/claims/challenge"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

type claimRequest struct {
	PolicyID        string             `json:"policy_id"`
	Origin          claims.Origin      `json:"origin,omitzero" enum:"trigger,approval"`
	ObservationID   *string            `json:"observation_id,omitzero"`
	SourceEvent     *sourceEventFields `json:"source_event,omitzero" doc:"The event as its source names it. Give this or observation_id, or neither for a claim that an operator decides."`
	OccurredAt      *time.Time         `json:"occurred_at,omitzero"`
	Description     *string            `json:"description,omitzero" maxLength:"10000"`
	RequestedAmount *wire.Money        `json:"requested_amount,omitzero"`
	PartnerFields
}

type sourceEventFields struct {
	Source string `json:"source" example:"usgs"`
	ID     string `json:"id" doc:"The source's own id of the event; at a station <station>/<day>, or the id under which the policy's station reported the day, of any day of it." example:"us1000chhc"`
}

func (in *claimRequest) toModel() adjudication.ClaimRequest {
	return adjudication.ClaimRequest{
		PolicyID: in.PolicyID, Origin: in.Origin, ObservationID: in.ObservationID, SourceEvent: (*adjudication.SourceEvent)(in.SourceEvent), OccurredAt: in.OccurredAt,
		Description: in.Description, RequestedAmount: in.RequestedAmount,
		PartnerReference: in.PartnerReference, Metadata: in.Metadata,
	}
}

func (s *server) openClaim(ctx context.Context, c *requestContext, in claimRequest) (*wire.Claim, bool, error) {
	return s.Service.Adjudication.Open(ctx, c.actor, in.toModel())
}

func (s *server) getClaims(ctx context.Context, c *requestContext, filter store.Filter, in store.PageRequest) (*store.Page[wire.Claim], error) {
	page, err := s.Service.Claims.List(ctx, c.actor, filter, in)
	if err != nil {
		return nil, err
	}
	return page, s.Service.Measured.AttachAll(ctx, c.actor, page.Data)
}

func (s *server) getClaim(ctx context.Context, c *requestContext) (*wire.Claim, error) {
	claim, err := s.Service.Claims.Get(ctx, c.actor, c.pathParam("claim_id"))
	if err != nil {
		return nil, err
	}
	return claim, s.Service.Measured.Attach(ctx, c.actor, claim)
}

type challengeRequest struct {
	Reason        string   `json:"reason" minLength:"1" maxLength:"10000"`
	AttachmentIDs []string `json:"attachment_ids,omitzero"`
}

func (s *server) challengeClaim(ctx context.Context, c *requestContext, in challengeRequest) (*wire.Claim, error) {
	return s.Service.Challenges.Open(ctx, c.actor, challenge.Request{ClaimID: c.pathParam("claim_id"), Reason: in.Reason, AttachmentIDs: in.AttachmentIDs})
}

func (s *server) withdrawClaim(ctx context.Context, c *requestContext) (*wire.Claim, error) {
	return s.Service.Adjudication.Withdraw(ctx, c.actor, adjudication.WithdrawalRequest{ClaimID: c.pathParam("claim_id")})
}

func (s *server) getTimeline(ctx context.Context, c *requestContext, page store.PageRequest) (*store.Page[wire.TimelineEntry], error) {
	return s.Service.Claims.GetTimeline(ctx, c.actor, c.pathParam("claim_id"), page)
}

type messageRequest struct {
	Body string `json:"body" minLength:"1" maxLength:"10000" doc:"The text."`
}

func (s *server) addMessage(ctx context.Context, c *requestContext, in messageRequest) (*wire.Message, error) {
	return s.Service.Claims.AddMessage(ctx, c.actor, c.pathParam("claim_id"), in.Body)
}

func (s *server) getMessages(ctx context.Context, c *requestContext, page store.PageRequest) (*store.Page[wire.Message], error) {
	return s.Service.Claims.GetMessages(ctx, c.actor, c.pathParam("claim_id"), page)
}
