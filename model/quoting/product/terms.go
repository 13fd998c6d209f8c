package product

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/shopspring/decimal"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/money"
	"parapet/model/quoting/pricing"
)

// contextTerms holds all members that contexts can have. Invalid members, and those
// missing from the product's schema, are nil.
type contextTerms struct {
	Partner        string           `json:"partner"`
	Location       *hazard.Point    `json:"location"`
	RadiusKM       *float64         `json:"radius_km"`
	Box            *trigger.Borders `json:"box"`
	Station        *string          `json:"station"`
	Limit          *limitTerm       `json:"limit"`
	StartsAt       *string          `json:"starts_at"`
	Term           *string          `json:"term"`
	Days           *decimal.Decimal `json:"days"` // a whole number, possibly written 1e1
	Calendar       trigger.Calendar `json:"calendar"`
	Attach         *decimal.Decimal `json:"attach"`
	Exhaust        *decimal.Decimal `json:"exhaust"`
	Steps          []trigger.Rung   `json:"steps"`
	MaximumDepthKM *decimal.Decimal `json:"maximum_depth_km"`
	Policyholder   *Policyholder    `json:"policyholder"`
}

// limitTerm decodes its amount as a decimal, because 1e7 is a whole number in JSON too.
type limitTerm struct {
	Amount   decimal.Decimal `json:"amount"`
	Currency string          `json:"currency"`
}

// Policyholder is the insured person, as far as the context names one.
type Policyholder struct {
	Name    string `json:"name"`
	Email   string `json:"email,omitzero"`
	Country string `json:"country,omitzero"` // ISO 3166-1 alpha-2
}

// contextInput is a context during the construction of its cover.
type contextInput struct {
	*schemaReading
	terms contextTerms
	asOf  time.Time
}

// readContext validates a context against the product's schema. Later checks add their
// faults to its fields.
func (p *Product) readContext(context []byte, asOf time.Time) *contextInput {
	a := &contextInput{schemaReading: p.context.readValue(context, "/context"), asOf: asOf.UTC()}
	if a.known == nil {
		return a
	}
	sound, err := a.known, error(nil)
	if len(a.fields) > 0 {
		sound, err = a.withoutFaults(a.known, a.root)
	}
	if err == nil {
		err = json.Unmarshal(sound, &a.terms)
	}
	if err != nil && len(a.fields) == 0 {
		a.addFault(CodeValue, "cannot be read", "")
	}
	return a
}

// addFault adds a fault of the member at a dotted path.
func (a *contextInput) addFault(code, detail, path string) {
	a.fields = append(a.fields, fieldAt(a.root, splitPath(path), code, "%s", detail))
}

func splitPath(path string) []string {
	if path == "" {
		return nil
	}
	return strings.Split(path, ".")
}

// buildCover builds the cover that would be bound and adds faults that a schema cannot
// express. The cover is complete only if there is no fault.
func (p *Product) buildCover(a *contextInput, h *hazard.History) trigger.Cover {
	d, t := p.document, a.terms
	c := trigger.Cover{
		WaitingPeriod: d.Times.WaitingPeriod, ReportingWindow: d.Times.ReportingWindow,
		Place: trigger.Place{Kind: d.Place}, Trigger: d.Trigger, Payout: d.Payout, Measurement: d.Measurement,
	}
	a.applyPlace(&c, h)
	a.applyBox(&c, p.context.root.Properties["box"])
	a.applyLimit(&c, d)
	a.applyTimes(&c, d.Times)
	if t.MaximumDepthKM != nil {
		c.Trigger.MaximumDepthKM = t.MaximumDepthKM
	}
	if t.Days != nil {
		c.Trigger.Days = int(t.Days.IntPart())
	}
	if t.Calendar != "" {
		c.Trigger.Calendar = t.Calendar
	}
	a.applyPayout(&c)
	if err := c.Validate(); err != nil && len(a.fields) == 0 {
		a.addFault(CodeValue, "leads to a cover that cannot be decided on: "+oneLine(err), "")
	}
	a.checkPriceable(c, h)
	a.fields = onePerMember(a.fields)
	return c
}

// checkPriceable adds faults for terms that the price data cannot answer. Members that
// are invalid on their own were refused before.
func (a *contextInput) checkPriceable(c trigger.Cover, h *hazard.History) {
	var unanswerable *pricing.UnpriceableError
	if len(a.fields) == 0 && errors.As(pricing.CheckPriceable(c, h, a.startOf(&c)), &unanswerable) {
		a.addFault(CodeValue, unanswerable.Detail, unanswerable.Member)
	}
}

// startOf returns when a cover of the context starts: now, unless it has a start.
func (a *contextInput) startOf(c *trigger.Cover) time.Time {
	if c.StartsAt != nil {
		return *c.StartsAt
	}
	return a.asOf
}

func (a *contextInput) applyPlace(c *trigger.Cover, h *hazard.History) {
	if at := a.terms.Location; at != nil {
		c.Place.Latitude, c.Place.Longitude = at.Latitude+0, at.Longitude+0 // turns -0 into 0, so that equal places have equal hashes
	}
	if radius := a.terms.RadiusKM; radius != nil {
		c.Place.RadiusKM = *radius
	}
	if station := a.terms.Station; station != nil {
		c.Place.Station = *station
		if _, ok := h.Station(*station); !ok {
			a.addFault(CodeEnum, "must be a station with price data: "+strings.Join(h.PricedStations(trigger.IsMeasured(c.Trigger.Definition())), ", "), "station")
		}
	}
}

// applyBox replaces the circle by the box that the context names, if it names one, and
// checks its borders and sides.
func (a *contextInput) applyBox(c *trigger.Cover, bounds *schemaNode) {
	b := a.terms.Box
	if b == nil || a.hasFaultWithin(a.root+"/box") {
		return
	}
	c.Place = trigger.Place{Kind: trigger.InBox, Borders: trigger.Borders{West: b.West + 0, South: b.South + 0, East: b.East + 0, North: b.North + 0}}
	box := c.Place.Box()
	switch {
	case b.South >= b.North:
		a.addFault(CodeValue, "must be above south", "box.north")
		return
	case box.West == box.East:
		a.addFault(CodeValue, "must differ from west; a box of every longitude reaches from -180 to 180", "box.east")
		return
	}
	hint := ""
	if b.West > b.East {
		hint = "; west above east means across the antimeridian"
	}
	height, width := box.SidesKM()
	for _, side := range []struct {
		km   float64
		name string
	}{{height, "high"}, {width, "wide"}} {
		switch {
		case bounds.XShortestSideKM != nil && side.km < *bounds.XShortestSideKM:
			a.addFault(CodeMinimum, fmt.Sprintf("must be at least %g km %s; it has %.1f km", *bounds.XShortestSideKM, side.name, side.km), "box")
		case bounds.XLongestSideKM != nil && side.km > *bounds.XLongestSideKM:
			a.addFault(CodeMaximum, fmt.Sprintf("must be at most %g km %s; it has %.1f km%s", *bounds.XLongestSideKM, side.name, side.km, hint), "box")
		}
	}
}

// applyLimit checks the amount against the bounds of its currency.
func (a *contextInput) applyLimit(c *trigger.Cover, d Document) {
	asked := a.terms.Limit
	if asked == nil {
		return
	}
	bounds, ok := d.findCurrency(asked.Currency)
	if !ok {
		a.addFault(CodeEnum, "must be a currency the product is sold in", "limit.currency")
		return
	}
	c.Limit = money.New(asked.Amount.IntPart(), asked.Currency)
	switch {
	case c.Limit.Amount < bounds.MinimumLimit:
		a.addFault(CodeMinimum, "must be at least "+formatBound(bounds.MinimumLimit, asked.Currency), "limit.amount")
	case c.Limit.Amount > bounds.MaximumLimit:
		a.addFault(CodeMaximum, "must be at most "+formatBound(bounds.MaximumLimit, asked.Currency), "limit.amount")
	}
}

func formatBound(amount int64, currency string) string {
	return decimal.NewFromInt(amount).String() + " (" + money.New(amount, currency).String() + ")"
}

// applyTimes checks start and term against the product's bounds. The term is measured
// from the start: P1M is longer in January than in February.
func (a *contextInput) applyTimes(c *trigger.Cover, times Times) {
	start := a.asOf
	if text := a.terms.StartsAt; text != nil {
		at, err := time.Parse(time.RFC3339, strings.ToUpper(*text))
		farthest := addDuration(a.asOf, times.FarthestStart)
		switch {
		case err != nil:
			a.addFault(CodeFormat, "must be "+formatHints["date-time"], "starts_at")
		case at.Before(a.asOf):
			a.addFault(CodeMinimum, "must not be in the past; it is "+a.asOf.Format(time.RFC3339)+" now", "starts_at")
		case at.After(farthest):
			a.addFault(CodeMaximum, "must be at most "+times.FarthestStart+" ahead, which is "+farthest.Format(time.RFC3339), "starts_at")
		default:
			at = at.UTC().Truncate(time.Microsecond)
			c.StartsAt, start = &at, at
		}
	}
	if term := a.terms.Term; term != nil {
		c.Term = *term
		end, err := trigger.AddDuration(start, *term)
		switch {
		case err != nil:
			a.addFault(CodeFormat, "must be an ISO 8601 duration of whole units, such as P365D", "term")
		case end.Before(addDuration(start, times.ShortestTerm)):
			a.addFault(CodeMinimum, "must be at least "+times.ShortestTerm, "term")
		case end.After(addDuration(start, times.LongestTerm)):
			a.addFault(CodeMaximum, "must be at most "+times.LongestTerm, "term")
		}
	}
}

// addDuration adds one of the product's own durations, which Check has validated.
func addDuration(t time.Time, iso string) time.Time {
	moved, err := trigger.AddDuration(t, iso)
	if err != nil {
		return t
	}
	return moved
}

// applyPayout replaces the document's members by the quote's.
func (a *contextInput) applyPayout(c *trigger.Cover) {
	t := a.terms
	member := "steps"
	if t.Steps != nil {
		c.Payout.Steps = slices.Clone(t.Steps)
	}
	if t.Attach != nil {
		c.Payout.Attach, member = t.Attach, "attach"
	}
	if t.Exhaust != nil {
		c.Payout.Exhaust, member = t.Exhaust, "exhaust"
	}
	if a.hasFaultWithin(a.root+"/steps") || a.hasFaultWithin(a.root+"/attach") || a.hasFaultWithin(a.root+"/exhaust") {
		return
	}
	if err := c.Payout.Validate(c.Trigger.Direction); err != nil {
		a.addFault(CodeValue, "must fit the product's payout: "+oneLine(err), member)
	}
}

// oneLine writes joined errors as one sentence.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
