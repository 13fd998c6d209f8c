package model

// QuoteStatus is the status of a quote.
type QuoteStatus string

const (
	// QuotePriced quotes can be bound by the partner until they expire.
	QuotePriced QuoteStatus = "priced"
	// QuoteBound quotes became a policy. Final.
	QuoteBound QuoteStatus = "bound"
	// QuoteExpired quotes were not bound in time.
	QuoteExpired QuoteStatus = "expired"
)

// QuoteTransitions are the allowed transitions of a quote.
var QuoteTransitions = []Transition[QuoteStatus]{
	{QuotePriced, QuoteBound, EventQuoteBound},
	{QuotePriced, QuoteExpired, EventQuoteExpired},
}
