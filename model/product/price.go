package product

import (
	"time"

	"parapet/model/hazard"
	"parapet/model/pricing"
	"parapet/model/trigger"
)

// Quoted is what a context costs and the cover that would bind.
type Quoted struct {
	Partner      string        // as the context says; the caller compares it with the token
	Policyholder *Policyholder // nil when the context names none
	Context      []byte        // JSON as given, defaults filled in, unknown members kept
	Ignored      []string      // names of unknown members, nested as location.altitude, sorted
	Cover        trigger.Cover
	Price        pricing.Price
	Basis        pricing.Basis
	History      []pricing.Past
}

// Price prices a context, a JSON object, as of an instant: cover without a start
// of its own is priced as if it began then. All offending members come back at
// once as *ContextError; a premium beyond the product's largest rate on line as
// *pricing.Uninsurable.
func (p *Product) Price(context []byte, asOf time.Time, h *hazard.History) (Quoted, error) {
	a := p.ask(context, asOf)
	cover := p.cover(a, h)
	if len(a.fields) > 0 {
		return Quoted{}, &ContextError{Fields: a.fields}
	}
	quoted := Quoted{
		Partner: a.terms.Partner, Policyholder: a.terms.Policyholder,
		Context: a.full, Ignored: a.ignored, Cover: cover,
	}
	var err error
	quoted.Price, quoted.Basis, quoted.History, err = pricing.Burn(cover, p.parameters(cover.Limit.Currency), h, a.asOf)
	if err != nil {
		return Quoted{}, err
	}
	return quoted, nil
}

// parameters are the loadings with the minimum premium of a currency.
func (p *Product) parameters(currency string) pricing.Parameters {
	bounds, _ := p.document.currency(currency)
	l := p.document.Loadings
	return pricing.Parameters{
		UncertaintyFactor: l.UncertaintyFactor, RiskFactor: l.RiskFactor,
		ExpenseShare: l.ExpenseShare, CommissionShare: l.CommissionShare,
		MinimumPremium: bounds.MinimumPremium, MaximumRateOnLine: l.MaximumRateOnLine,
	}
}
