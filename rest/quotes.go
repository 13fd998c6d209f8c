package rest

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"parapet/model/kernel/store"
	"parapet/model/quoting"
	"parapet/model/quoting/pricing"
	"parapet/model/wire"
)

// PartnerFields are the fields that a partner may set on its records.
type PartnerFields struct {
	PartnerReference *string           `json:"partner_reference,omitzero" minLength:"1" maxLength:"128" pattern:"\\S" doc:"Your own name for the record, unique among your records of this kind: 1 to 128 characters, without control characters and not only blanks." example:"booking-4711"`
	Metadata         map[string]string `json:"metadata,omitzero" maxProperties:"50" doc:"Up to 50 keys of 1 to 40 characters, with values of at most 500."`
}

type quoteRequest struct {
	Product string         `json:"product" doc:"Key of the product, whose latest version is quoted." example:"quake-circle"`
	Context jsontext.Value `json:"context" doc:"The cover to price, as the product's schema describes it. Only partner is required; every other member has a default. Unknown members are stored and listed in ignored_context."`
	PartnerFields
}

func (s *server) createQuote(ctx context.Context, c *requestContext, in quoteRequest) (*wire.Quote, error) {
	return s.Service.Quotes.Create(ctx, c.actor, quoting.Request{
		Product: in.Product, Context: in.Context, PartnerReference: in.PartnerReference, Metadata: in.Metadata,
	})
}

func (s *server) getQuotes(ctx context.Context, c *requestContext, filter store.Filter, page store.PageRequest) (*store.Page[wire.Quote], error) {
	return s.Service.Quotes.List(ctx, c.actor, filter, page)
}

func (s *server) getQuote(ctx context.Context, c *requestContext) (*wire.Quote, error) {
	return s.Service.Quotes.Get(ctx, c.actor, c.pathParam("quote_id"))
}

func (s *server) getQuoteBasis(ctx context.Context, c *requestContext, page store.PageRequest) (*store.Page[pricing.WeighedEvent], error) {
	return s.Service.Quotes.GetBasis(ctx, c.actor, c.pathParam("quote_id"), page)
}
