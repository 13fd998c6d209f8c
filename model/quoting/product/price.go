package product

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/shopspring/decimal"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/money"
	"parapet/model/quoting/pricing"
)

// QuoteResult is the price of a context and the cover that would be bound.
type QuoteResult struct {
	Partner      string        // partner in the context; the caller compares it with the token
	Policyholder *Policyholder // nil if the context names none
	Context      []byte        // JSON as given, defaults filled in, unknown members kept
	Ignored      []string      // names of unknown members, nested as location.altitude, sorted
	Cover        trigger.Cover
	TermsHash    string // of the product's version and the cover
	Price        pricing.Price
	Basis        pricing.Basis
	History      []pricing.PastEvent
	// Derived holds what the caller computed from Cover, TermsHash, Price, Basis and
	// History, such as their encoded form. Results that share a price share it, so all
	// callers store the same type, and nothing changes the value.
	Derived *atomic.Value
}

// Price reads a context and prices it: Read, then Request.Price.
func (p *Product) Price(context []byte, asOf time.Time, h *hazard.History) (QuoteResult, error) {
	r, err := p.Read(context, asOf, h)
	if err != nil {
		return QuoteResult{}, err
	}
	return r.Price(nil, nil)
}

// Request is a context validated by its product.
type Request struct {
	// Policyholder is set as far as the context names one; invalid members are empty.
	Policyholder *Policyholder

	product   *Product
	input     *contextInput
	cover     trigger.Cover
	termsHash string // of a cached request; empty for others
	history   *hazard.History
}

// Read validates a context, a JSON object, against the product's schema and bounds as
// of an instant, which is the start of cover without a start of its own. It returns all
// invalid members at once as *ContextError; the returned Request can even then be
// validated further, but not priced.
func (p *Product) Read(context []byte, asOf time.Time, h *hazard.History) (*Request, error) {
	a := p.readContext(context, asOf)
	r := &Request{Policyholder: a.terms.Policyholder, product: p, input: a, cover: p.buildCover(a, h), history: h}
	if len(a.fields) > 0 {
		return r, &ContextError{Fields: a.fields}
	}
	return r, nil
}

// Limit returns the limit of the cover.
func (r *Request) Limit() money.Money { return r.cover.Limit }

// Price prices a context without faults. Errors: *pricing.UninsurableError for a
// premium beyond the product's largest rate on line; *ContextError for terms that the
// price data cannot answer. A commission replaces the product's share of the premium. The
// cache may be nil.
func (r *Request) Price(commission *decimal.Decimal, cache *PriceCache) (QuoteResult, error) {
	a := r.input
	quoted := QuoteResult{
		Partner: a.terms.Partner, Policyholder: r.Policyholder,
		Context: a.full, Ignored: a.ignored, Cover: r.cover, TermsHash: r.termsHash,
	}
	if quoted.TermsHash == "" {
		quoted.TermsHash = r.hashTerms()
	}
	parameters, terms := r.product.pricingParameters(r.cover.Limit.Currency), quoted.TermsHash
	if commission != nil {
		parameters.CommissionShare = *commission
		terms += " " + commission.String()
	}
	priced, err := r.burn(cache, terms, parameters)
	if unanswerable := (*pricing.UnpriceableError)(nil); errors.As(err, &unanswerable) {
		return QuoteResult{}, &ContextError{Fields: []Field{fieldAt(a.root, []string{unanswerable.Member}, CodeValue, "%s", unanswerable.Detail)}}
	}
	if err != nil {
		return QuoteResult{}, err
	}
	quoted.Price, quoted.Basis, quoted.History, quoted.Derived = priced.price, priced.basis, priced.past, &priced.derived
	return quoted, nil
}

func (r *Request) hashTerms() string {
	return trigger.TermsHash(r.product.Key(), r.product.Version(), r.cover)
}

// pricingParameters returns the loadings with the minimum premium of a currency.
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
