package product

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/shopspring/decimal"

	"parapet/model/hazard"
	"parapet/model/money"
	"parapet/model/pricing"
	"parapet/model/trigger"
)

// terms is everything a context can say. Members that are wrong, or that the
// product's schema does not have, are nil.
type terms struct {
	Partner        string           `json:"partner"`
	Location       *hazard.Point    `json:"location"`
	RadiusKM       *float64         `json:"radius_km"`
	Station        *string          `json:"station"`
	Limit          *limit           `json:"limit"`
	StartsAt       *string          `json:"starts_at"`
	Term           *string          `json:"term"`
	Days           *decimal.Decimal `json:"days"` // whole, though it may be written 1e1
	Calendar       trigger.Calendar `json:"calendar"`
	Attach         *decimal.Decimal `json:"attach"`
	Exhaust        *decimal.Decimal `json:"exhaust"`
	Steps          []trigger.Rung   `json:"steps"`
	MaximumDepthKM *decimal.Decimal `json:"maximum_depth_km"`
	Policyholder   *Policyholder    `json:"policyholder"`
}

// limit takes its amount as a decimal: 1e7 is a whole number in JSON too.
type limit struct {
	Amount   decimal.Decimal `json:"amount"`
	Currency string          `json:"currency"`
}

// Policyholder is who is protected, as far as the context says.
type Policyholder struct {
	Name    string `json:"name"`
	Email   string `json:"email,omitzero"`
	Country string `json:"country,omitzero"` // ISO 3166-1 alpha-2
}

// asked is one context on its way to a cover.
type asked struct {
	*reading
	terms terms
	asOf  time.Time
}

// ask reads a context against the product's schema. A fault that only shows
// later is added to the fields.
func (p *Product) ask(context []byte, asOf time.Time) *asked {
	a := &asked{reading: p.context.read(context, "/context"), asOf: asOf.UTC()}
	if a.known == nil {
		return a
	}
	sound, err := a.known, error(nil)
	if len(a.fields) > 0 {
		sound, err = a.sound(a.known, a.root)
	}
	if err == nil {
		err = json.Unmarshal(sound, &a.terms)
	}
	if err != nil && len(a.fields) == 0 {
		a.refuse(CodeValue, "cannot be read", "")
	}
	return a
}

// refuse adds a fault of the member at a dotted path.
func (a *asked) refuse(code, detail, path string) {
	a.fields = append(a.fields, fieldAt(a.root, tokens(path), code, "%s", detail))
}

func tokens(path string) []string {
	if path == "" {
		return nil
	}
	return strings.Split(path, ".")
}

// cover makes the cover that would bind and adds what is wrong beyond the
// schema's reach. It is complete only when no field is wrong.
func (p *Product) cover(a *asked, h *hazard.History) trigger.Cover {
	d, t := p.document, a.terms
	c := trigger.Cover{
		WaitingPeriod: d.Times.WaitingPeriod, ReportingWindow: d.Times.ReportingWindow,
		Place: trigger.Place{Kind: d.Place}, Trigger: d.Trigger, Payout: d.Payout,
	}
	a.place(&c, h)
	a.limit(&c, d)
	a.times(&c, d.Times)
	if t.MaximumDepthKM != nil {
		c.Trigger.MaximumDepthKM = t.MaximumDepthKM
	}
	if t.Days != nil {
		c.Trigger.Days = int(t.Days.IntPart())
	}
	if t.Calendar != "" {
		c.Trigger.Calendar = t.Calendar
	}
	a.payout(&c)
	if err := c.Validate(); err != nil && len(a.fields) == 0 {
		a.refuse(CodeValue, "leads to a cover that cannot be decided on: "+oneLine(err), "")
	}
	a.answerable(c, h)
	a.fields = onePerMember(a.fields)
	return c
}

// answerable refuses what the price data cannot answer. Members that are wrong by
// themselves were refused before.
func (a *asked) answerable(c trigger.Cover, h *hazard.History) {
	start := a.asOf
	if c.StartsAt != nil {
		start = *c.StartsAt
	}
	var unanswerable *pricing.Unanswerable
	if len(a.fields) == 0 && errors.As(pricing.Answerable(c, h, start), &unanswerable) {
		a.refuse(CodeValue, unanswerable.Detail, unanswerable.Member)
	}
}

func (a *asked) place(c *trigger.Cover, h *hazard.History) {
	if at := a.terms.Location; at != nil {
		c.Place.Latitude, c.Place.Longitude = at.Latitude+0, at.Longitude+0 // -0 is 0: one place, one hash
	}
	if radius := a.terms.RadiusKM; radius != nil {
		c.Place.RadiusKM = *radius
	}
	if station := a.terms.Station; station != nil {
		c.Place.Station = *station
		if _, ok := h.Station(*station); !ok {
			a.refuse(CodeEnum, "must be a station with price data: "+strings.Join(h.PricedStations(), ", "), "station")
		}
	}
}

// limit holds the amount against the bounds of its currency.
func (a *asked) limit(c *trigger.Cover, d Document) {
	asked := a.terms.Limit
	if asked == nil {
		return
	}
	bounds, ok := d.currency(asked.Currency)
	if !ok {
		a.refuse(CodeEnum, "must be a currency the product is sold in", "limit.currency")
		return
	}
	c.Limit = money.New(asked.Amount.IntPart(), asked.Currency)
	switch {
	case c.Limit.Amount < bounds.MinimumLimit:
		a.refuse(CodeMinimum, "must be at least "+bound(bounds.MinimumLimit, asked.Currency), "limit.amount")
	case c.Limit.Amount > bounds.MaximumLimit:
		a.refuse(CodeMaximum, "must be at most "+bound(bounds.MaximumLimit, asked.Currency), "limit.amount")
	}
}

func bound(amount int64, currency string) string {
	return decimal.NewFromInt(amount).String() + " (" + money.New(amount, currency).String() + ")"
}

// times holds start and term against the product's bounds. They are measured
// from the start: P1M is longer in January than in February.
func (a *asked) times(c *trigger.Cover, times Times) {
	start := a.asOf
	if text := a.terms.StartsAt; text != nil {
		at, err := time.Parse(time.RFC3339, strings.ToUpper(*text))
		farthest := after(a.asOf, times.FarthestStart)
		switch {
		case err != nil:
			a.refuse(CodeFormat, "must be "+formats["date-time"], "starts_at")
		case at.Before(a.asOf):
			a.refuse(CodeMinimum, "must not be in the past; it is "+a.asOf.Format(time.RFC3339)+" now", "starts_at")
		case at.After(farthest):
			a.refuse(CodeMaximum, "must be at most "+times.FarthestStart+" ahead, which is "+farthest.Format(time.RFC3339), "starts_at")
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
			a.refuse(CodeFormat, "must be an ISO 8601 duration of whole units, such as P365D", "term")
		case end.Before(after(start, times.ShortestTerm)):
			a.refuse(CodeMinimum, "must be at least "+times.ShortestTerm, "term")
		case end.After(after(start, times.LongestTerm)):
			a.refuse(CodeMaximum, "must be at most "+times.LongestTerm, "term")
		}
	}
}

// after is t moved by one of the product's own durations, which Check has seen.
func after(t time.Time, iso string) time.Time {
	moved, err := trigger.AddDuration(t, iso)
	if err != nil {
		return t
	}
	return moved
}

// payout puts the quote's own members in place of the document's.
func (a *asked) payout(c *trigger.Cover) {
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
	if a.faulty(a.root+"/steps") || a.faulty(a.root+"/attach") || a.faulty(a.root+"/exhaust") {
		return
	}
	if err := c.Payout.Validate(c.Trigger.Direction); err != nil {
		a.refuse(CodeValue, "must fit the product's payout: "+oneLine(err), member)
	}
}

// oneLine writes joined errors as one sentence.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
