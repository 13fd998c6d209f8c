package node

import (
	"context"

	"parapet/model/kernel/optional"
	"parapet/model/kernel/store"
	"parapet/model/quoting"
	"parapet/model/quoting/catalog"
	"parapet/model/quoting/pricing"
	"parapet/model/wire"
)

// Quote is a priced offer of cover.
type Quote struct {
	*wire.Quote
	batch *batch
}

// IsNode implements Node.
func (*Quote) IsNode() {}

var quoteReferences = references[*wire.Quote]{
	"policy":  func(q *wire.Quote) *string { return q.PolicyID },
	"product": func(q *wire.Quote) *string { return new(catalog.ProductID(q.Product, q.ProductVersion)) },
}

func (r *Reader) newQuotes(records []*wire.Quote) []*Quote {
	return newBatch(r, records, func(q *wire.Quote) string { return q.ID }, quoteReferences, func(q *wire.Quote, b *batch) *Quote {
		return &Quote{q, b}
	})
}

// Quote returns a quote. Errors: not_found.
func (r *Reader) Quote(ctx context.Context, id string) (*Quote, error) {
	return toNode(r.newQuotes)(r.Service.Quotes.Get(ctx, r.Actor, id))
}

// Quotes lists quotes, newest first.
func (r *Reader) Quotes(ctx context.Context, first *int, after *string, filter *store.Filter, order *string) (*QuoteConnection, error) {
	return toConnection(r.newQuotes)(r.Service.Quotes.List(ctx, r.Actor, optional.OrZero(filter), orderedPage(first, after, order)))
}

// ProductKey returns the key of the product.
func (q *Quote) ProductKey() string { return q.Quote.Product }

// Product returns the product version of the quote.
func (q *Quote) Product(ctx context.Context) (*Product, error) {
	return q.batch.loadProduct(ctx, q.Quote.Product, q.ProductVersion)
}

// Cover returns the offered cover.
func (q *Quote) Cover() Cover { return Cover{q.Quote.Cover} }

// Policy returns the bound policy, nil before binding.
func (q *Quote) Policy(ctx context.Context) (*Policy, error) {
	r := q.batch.reader
	return loadOne(ctx, q.batch, "policy", q.PolicyID, r.Service.Policies.BareByID, r.newPolicies)
}

// WeighedEvents lists the past events used in the price.
func (q *Quote) WeighedEvents(ctx context.Context, first *int, after, order *string) (*WeighedEventConnection, error) {
	r := q.batch.reader
	return toConnection(asNodes[pricing.WeighedEvent])(r.Service.Quotes.WeighedEvents(ctx, r.Actor, q.Quote, orderedPage(first, after, order)))
}

// CreateQuoteInput is the input of CreateQuote.
type CreateQuoteInput struct {
	quoting.Request
	ClientMutationID *string
}

// CreateQuotePayload is the created quote.
type CreateQuotePayload struct {
	Quote            *Quote
	ClientMutationID *string
}

// CreateQuote prices cover.
func (r *Reader) CreateQuote(ctx context.Context, in CreateQuoteInput) (*CreateQuotePayload, error) {
	record, err := runMutation(ctx, r, in.ClientMutationID, in.Request, r.Service.Quotes.Create)
	quote, err := toNode(r.newQuotes)(record, err)
	return &CreateQuotePayload{quote, in.ClientMutationID}, err
}
