package quoting

import (
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
)

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
var QuoteTransitions = []store.Transition[QuoteStatus]{
	{From: QuotePriced, To: QuoteBound, Event: event.QuoteBound},
	{From: QuotePriced, To: QuoteExpired, Event: event.QuoteExpired},
}
