package product

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/shopspring/decimal"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/money"
	"parapet/model/quoting/pricing"
)

// Check validates a product before it is published. It verifies everything the document
// claims: the payout is complete, every context member is one that covers use,
// durations and currencies are consistent, a context with only a partner can be priced
// on the shipped history, and every worked example gives the written result. It returns
// all faults at once, in a *DocumentError.
func (p *Product) Check(h *hazard.History) error {
	wrong := slices.Concat(p.checkForm(), p.checkCurrencies())
	if len(wrong) == 0 {
		wrong = p.checkDefaults(h)
	}
	if len(wrong) == 0 {
		wrong = p.checkExamples(h)
	}
	if len(wrong) == 0 {
		return nil
	}
	return fmt.Errorf("%s version %d cannot be published: %w", p.Key(), p.Version(), &DocumentError{wrong})
}

func (p *Product) checkForm() (wrong []Field) {
	d := p.document
	if err := d.Payout.Validate(d.Trigger.Direction); err != nil {
		wrong = append(wrong, newDocumentFault("/payout", "%v", err))
	}
	for _, iso := range []struct{ name, value string }{
		{"quote_validity", d.Times.QuoteValidity},
		{"waiting_period", d.Times.WaitingPeriod},
		{"reporting_window", d.Times.ReportingWindow},
		{"shortest_term", d.Times.ShortestTerm},
		{"longest_term", d.Times.LongestTerm},
		{"farthest_start", d.Times.FarthestStart},
	} {
		if _, err := trigger.AddDuration(exampleStart, iso.value); err != nil {
			wrong = append(wrong, newDocumentFault("/times/"+iso.name, "%v", err))
		}
	}
	if d.Measurement != nil {
		for _, fault := range d.Measurement.Faults(d.Trigger) {
			wrong = append(wrong, newDocumentFault("/measurement"+fault.Pointer, "%s", fault.Detail))
		}
	}
	wrong = append(wrong, d.checkPrice()...)
	needed, allowed := d.contextMembers()
	for _, name := range needed {
		if p.context.root.Properties[name] == nil {
			wrong = append(wrong, newDocumentFault("/context/properties", "the property %s is needed", name))
		}
	}
	if box := p.context.root.Properties["box"]; box != nil && !slices.Equal(box.XInsteadOf, []string{"location", "radius_km"}) {
		wrong = append(wrong, newDocumentFault("/context/properties/box", "x-instead-of must be [location, radius_km]: a place is a circle or a box"))
	}
	for _, name := range slices.Sorted(maps.Keys(p.context.root.Properties)) {
		if !slices.Contains(needed, name) && !slices.Contains(allowed, name) {
			wrong = append(wrong, newDocumentFault("/context/properties/"+name, "nothing reads the property %s; leave it out", name))
		}
	}
	return wrong
}

// checkPrice checks the times and the smoothing against the limits of pricing.
func (d Document) checkPrice() (wrong []Field) {
	longest, err := trigger.AddDuration(exampleStart, d.Times.LongestTerm)
	if err == nil && longest.After(addDuration(exampleStart, pricing.LongestTerm)) {
		wrong = append(wrong, newDocumentFault("/times/longest_term", "must be at most %s: prices are those of one year", pricing.LongestTerm))
	}
	c := d.Loadings.SmoothingKM
	switch {
	case c.IsNegative() || c.GreaterThan(decimal.NewFromInt(maxSmoothingKM)):
		wrong = append(wrong, newDocumentFault("/price/smoothing_km", "must be between 0 and %d", maxSmoothingKM))
	case c.IsPositive() && d.Place != trigger.Circle:
		wrong = append(wrong, newDocumentFault("/price/smoothing_km", "must be 0 or left out: only a circle is smoothed"))
	}
	return wrong
}

// maxSmoothingKM bounds the smoothing in kilometres: places further away have another
// climate.
const maxSmoothingKM = 500

// contextMembers returns the context properties that a cover of this place, peril and
// shape requires, and those it may have.
func (d Document) contextMembers() (needed, allowed []string) {
	needed = []string{"partner", "limit", "starts_at", "term"}
	allowed = []string{"policyholder"}
	if d.Place == trigger.AtStation {
		needed = append(needed, "station")
	} else {
		needed = append(needed, "location", "radius_km")
	}
	if d.Place == trigger.Circle && d.Trigger.Index == trigger.CentralPressure {
		allowed = append(allowed, "box")
	}
	allowed = append(allowed, d.Trigger.ContextMembers()...)
	switch {
	case d.Payout.Shape == trigger.Step && len(d.Payout.Rings) == 0:
		allowed = append(allowed, "steps")
	case d.Payout.Shape == trigger.Linear:
		allowed = append(allowed, "attach", "exhaust")
	case d.Payout.Shape == trigger.Tick:
		allowed = append(allowed, "attach")
	}
	return needed, allowed
}

func (p *Product) checkCurrencies() (wrong []Field) {
	seen := make(map[string]bool)
	for i, c := range p.document.Currencies {
		at := fmt.Sprintf("/currencies/%d", i)
		switch {
		case !money.IsCurrency(c.Code):
			wrong = append(wrong, newDocumentFault(at+"/code", "%s is no ISO 4217 currency", c.Code))
		case seen[c.Code]:
			wrong = append(wrong, newDocumentFault(at+"/code", "%s is there twice", c.Code))
		case c.MinimumLimit < 1 || c.MinimumLimit > c.DefaultLimit || c.DefaultLimit > c.MaximumLimit:
			wrong = append(wrong, newDocumentFault(at, "the limits of %s must ascend: 1 ≤ minimum ≤ default ≤ maximum", c.Code))
		}
		seen[c.Code] = true
	}
	for _, code := range slices.Sorted(maps.Keys(p.document.Settlement.AutomaticUpTo)) {
		if !seen[code] {
			wrong = append(wrong, newDocumentFault("/settlement/automatic_up_to", "it names %s, which is none of the currencies", code))
		}
	}
	return wrong
}

// checkDefaults prices a context with only a partner. The cover must equal the
// document's own: the defaults of the schema and the payout must agree.
func (p *Product) checkDefaults(h *hazard.History) []Field {
	quoted, err := p.priceDefaults(exampleStart, h)
	if err != nil {
		return []Field{newDocumentFault("/context", "the defaults cannot be priced: %v", err)}
	}
	var wrong []Field
	first := p.document.Currencies[0]
	if quoted.Cover.Limit != money.New(first.DefaultLimit, first.Code) {
		wrong = append(wrong, newDocumentFault("/context/properties/limit", "the default of limit is %s, and the first currency's is %s",
			quoted.Cover.Limit, money.New(first.DefaultLimit, first.Code)))
	}
	if !equalAsJSON(quoted.Cover.Payout, p.document.Payout) || !equalAsJSON(quoted.Cover.Trigger, p.document.Trigger) {
		wrong = append(wrong, newDocumentFault("/context", "the defaults differ from the document's trigger or payout"))
	}
	return wrong
}

func (p *Product) priceDefaults(asOf time.Time, h *hazard.History) (QuoteResult, error) {
	var context objectWriter
	context.addMember("partner", jsontext.Value(`"`+examplePartner+`"`))
	return p.Price(context.toJSON(), asOf, h)
}

// DefaultPremium returns the premium of a context with only a partner.
func (p *Product) DefaultPremium(asOf time.Time, h *hazard.History) (money.Money, error) {
	quoted, err := p.priceDefaults(asOf, h)
	return quoted.Price.Premium, err
}

// equalAsJSON compares the JSON of two terms.
func equalAsJSON(a, b any) bool {
	left, errLeft := json.Marshal(a)
	right, errRight := json.Marshal(b)
	return errLeft == nil && errRight == nil && bytes.Equal(left, right)
}

func (p *Product) checkExamples(h *hazard.History) (wrong []Field) {
	for i, example := range p.document.Examples {
		cover, err := p.exampleCover(example, h)
		if err == nil {
			err = example.verifyOn(cover)
		}
		if err != nil {
			wrong = append(wrong, newDocumentFault(fmt.Sprintf("/examples/%d", i), "example %q: %v", example.Name, err))
		}
	}
	return wrong
}

// exampleCover returns the cover of an example's context.
func (p *Product) exampleCover(e Example, h *hazard.History) (trigger.Cover, error) {
	var context objectWriter
	context.addMember("partner", jsontext.Value(`"`+examplePartner+`"`))
	if e.Context != nil {
		members, err := splitMembers(e.Context)
		if err != nil {
			return trigger.Cover{}, fmt.Errorf("context: %w", err)
		}
		for _, m := range members {
			context.addMember(m.name, m.value)
		}
	}
	a := p.readContext(context.toJSON(), exampleStart)
	cover := p.buildCover(a, h)
	switch {
	case len(a.fields) > 0:
		return cover, &ContextError{Fields: a.fields}
	case len(a.ignored) > 0:
		return cover, fmt.Errorf("context: %s is not in the schema", a.ignored[0])
	}
	return cover, nil
}
