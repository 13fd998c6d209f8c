package product

import (
	"errors"
	"time"

	"parapet/model/hazard"
	"parapet/model/pricing"
	"parapet/model/trigger"
)

// QuoteResult is what a context costs and the cover that would bind.
type QuoteResult struct {
	Partner      string        // as the context says; the caller compares it with the token
	Policyholder *Policyholder // nil when the context names none
	Context      []byte        // JSON as given, defaults filled in, unknown members kept
	Ignored      []string      // names of unknown members, nested as location.altitude, sorted
	Cover        trigger.Cover
	Price        pricing.Price
	Basis        pricing.Basis
	History      []pricing.PastEvent
}

// Price prices a context: Read, and the Price of what was read.
func (p *Product) Price(context []byte, asOf time.Time, h *hazard.History) (QuoteResult, error) {
	r, err := p.Read(context, asOf, h)
	if err != nil {
		return QuoteResult{}, err
	}
	return r.Price()
}

// Request is a context that was held against its product.
type Request struct {
	// Policyholder is as far as the context names one; members that are wrong are
	// empty.
	Policyholder *Policyholder

	product *Product
	input   *contextInput
	cover   trigger.Cover
	history *hazard.History
}

// Read holds a context, a JSON object, against the product's schema and bounds as
// of an instant: cover without a start of its own begins then. All offending
// members come back at once as *ContextError; even then what was read can be
// judged further, but not priced.
func (p *Product) Read(context []byte, asOf time.Time, h *hazard.History) (*Request, error) {
	a := p.readContext(context, asOf)
	r := &Request{Policyholder: a.terms.Policyholder, product: p, input: a, cover: p.buildCover(a, h), history: h}
	if len(a.fields) > 0 {
		return r, &ContextError{Fields: a.fields}
	}
	return r, nil
}

// Price is the price of a context without faults. Errors: a premium beyond the
// product's largest rate on line as *pricing.Uninsurable; terms that the price data
// cannot answer as *ContextError.
func (r *Request) Price() (QuoteResult, error) {
	a := r.input
	quoted := QuoteResult{
		Partner: a.terms.Partner, Policyholder: r.Policyholder,
		Context: a.full, Ignored: a.ignored, Cover: r.cover,
	}
	var err error
	quoted.Price, quoted.Basis, quoted.History, err = pricing.Burn(r.cover, r.product.pricingParameters(r.cover.Limit.Currency), r.history, a.asOf)
	if unanswerable := (*pricing.UnpriceableError)(nil); errors.As(err, &unanswerable) {
		return QuoteResult{}, &ContextError{Fields: []Field{fieldAt(a.root, []string{unanswerable.Member}, CodeValue, "%s", unanswerable.Detail)}}
	}
	if err != nil {
		return QuoteResult{}, err
	}
	return quoted, nil
}

// pricingParameters are the loadings with the minimum premium of a currency.
func (p *Product) pricingParameters(currency string) pricing.Parameters {
	bounds, _ := p.document.findCurrency(currency)
	l := p.document.Loadings
	return pricing.Parameters{
		UncertaintyFactor: l.UncertaintyFactor, RiskFactor: l.RiskFactor,
		ExpenseShare: l.ExpenseShare, CommissionShare: l.CommissionShare,
		MinimumPremium: bounds.MinimumPremium, MaximumRateOnLine: l.MaximumRateOnLine,
		SmoothingKM: l.SmoothingKM, ShortestTerm: p.document.Times.ShortestTerm, FarthestStart: p.document.Times.FarthestStart,
		Members: p.context.root.names,
	}
}
