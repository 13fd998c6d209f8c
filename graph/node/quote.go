package node

import (
	"context"

	"parapet/model"
	"parapet/model/pricing"
	"parapet/model/wire"
)

// Quote is a priced offer of cover.
type Quote struct {
	*wire.Quote
	kin *kin
}

// IsNode makes it findable.
func (*Quote) IsNode() {}

func (r *Reader) quotes(records []*wire.Quote) []*Quote {
	return together(r, records, func(q *wire.Quote) string { return q.ID }, func(q *wire.Quote, k *kin) *Quote {
		k.refer("policy", q.PolicyID)
		k.refer("product", new(model.ProductID(q.Product, q.ProductVersion)))
		return &Quote{q, k}
	})
}

// Quote is one quote. Errors: not_found.
func (r *Reader) Quote(ctx context.Context, id string) (*Quote, error) {
	return one(r.quotes)(r.Service.GetQuote(ctx, r.Actor, id))
}

// Quotes are quotes, newest first.
func (r *Reader) Quotes(ctx context.Context, first *int, after *string, filter *model.Filter, order *string) (*QuoteConnection, error) {
	return listed(r.quotes)(r.Service.ListQuotes(ctx, r.Actor, orEmpty(filter), ordered(first, after, order)))
}

// ProductKey is the key of the product.
func (q *Quote) ProductKey() string { return q.Quote.Product }

// Product is what it was quoted by.
func (q *Quote) Product(ctx context.Context) (*Product, error) {
	return q.kin.product(ctx, q.Quote.Product, q.ProductVersion)
}

// Cover is everything that will bind.
func (q *Quote) Cover() Cover { return Cover{q.Quote.Cover} }

// Policy is what it became.
func (q *Quote) Policy(ctx context.Context) (*Policy, error) {
	r := q.kin.read
	return referred(ctx, q.kin, "policy", q.PolicyID, r.Service.BarePoliciesByID, r.policies)
}

// WeighedEvents are the past events of its price.
func (q *Quote) WeighedEvents(_ context.Context, first *int, after, order *string) (*WeighedEventConnection, error) {
	r := q.kin.read
	return listed(asTheyAre[pricing.WeighedEvent])(r.Service.WeighedEvents(r.Actor, q.Quote, ordered(first, after, order)))
}

// CreateQuoteInput is cover to price.
type CreateQuoteInput struct {
	model.QuoteRequest
	ClientMutationID *string
}

// CreateQuotePayload is what was priced.
type CreateQuotePayload struct {
	Quote            *Quote
	ClientMutationID *string
}

// CreateQuote prices cover.
func (r *Reader) CreateQuote(ctx context.Context, in CreateQuoteInput) (*CreateQuotePayload, error) {
	record, err := mutate(ctx, r, in.ClientMutationID, in.QuoteRequest, r.Service.CreateQuote)
	quote, err := one(r.quotes)(record, err)
	return &CreateQuotePayload{quote, in.ClientMutationID}, err
}
