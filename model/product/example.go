package product

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/shopspring/decimal"

	"parapet/model/hazard"
	"parapet/model/trigger"
)

// Example is one worked example: an occurrence, and what a cover must say of it.
// Exactly one of Quake, Storm and Rain is set.
type Example struct {
	Name    string            `json:"name"`
	Context jsontext.Value    `json:"context,omitzero"` // on top of the defaults; may be left out
	Quake   *ExampleQuake     `json:"quake,omitzero"`
	Storm   []ExampleFix      `json:"storm,omitzero"`
	Rain    []decimal.Decimal `json:"rain,omitzero"` // mm a day, from the first window after the waiting period
	Expect  Expectation       `json:"expect"`
}

// Currency is that of its context, or the product's own.
func (e Example) Currency(own string) string {
	var context struct {
		Limit struct {
			Currency string `json:"currency"`
		} `json:"limit"`
	}
	if json.Unmarshal(e.Context, &context) != nil || context.Limit.Currency == "" {
		return own
	}
	return context.Limit.Currency
}

// ExampleQuake is an earthquake on the second day of cover.
type ExampleQuake struct {
	Latitude  float64          `json:"latitude"`
	Longitude float64          `json:"longitude"`
	Magnitude decimal.Decimal  `json:"magnitude"`
	DepthKM   *decimal.Decimal `json:"depth_km,omitzero"`
}

// ExampleFix is a position of a storm, some hours after the start of cover.
type ExampleFix struct {
	Hour      int              `json:"hour"`
	Latitude  float64          `json:"latitude"`
	Longitude float64          `json:"longitude"`
	WindKN    *decimal.Decimal `json:"wind_kn,omitzero"`
}

// Expectation is what the determination must be. Index is nil where nothing
// touches the place.
type Expectation struct {
	Met    bool             `json:"met"`
	Reason trigger.Reason   `json:"reason"`
	Index  *decimal.Decimal `json:"index,omitzero"`
	Factor decimal.Decimal  `json:"factor"`
	Amount int64            `json:"amount"`
}

// exampleStart is when the cover of every example starts: examples must not
// depend on the day they are checked.
var exampleStart = time.Date(2030, time.January, 1, 0, 0, 0, 0, time.UTC)

// examplePartner asks for every example.
const examplePartner = "example"

// run evaluates the example on a cover and compares.
func (e Example) run(c trigger.Cover) error {
	start := exampleStart
	if c.StartsAt != nil {
		start = *c.StartsAt
	}
	period := c.Period(start)
	o, judged := e.occurrence(c, period, c.PayableFrom(start))
	if o == nil {
		return fmt.Errorf("needs exactly one of quake, storm and rain, the one that fits %s", c.Trigger.Kind)
	}
	d := trigger.Determination{Reason: trigger.OutsidePeriod}
	if judged {
		d = trigger.Evaluate(c, period, c.PayableFrom(start), *o)
	}
	return e.Expect.compare(d)
}

// occurrence is nil when the example's facts do not fit the trigger; judged is
// false for days that make no window.
func (e Example) occurrence(c trigger.Cover, p trigger.Period, payableFrom time.Time) (o *trigger.Occurrence, judged bool) {
	o = &trigger.Occurrence{Source: "example", SourceEventID: e.Name, Stage: trigger.Final}
	switch {
	case e.given() != 1:
		return nil, false
	case e.Quake != nil && c.Trigger.Kind == hazard.Earthquake:
		o.Quake = &hazard.Quake{
			At: p.From.AddDate(0, 0, 1), Magnitude: e.Quake.Magnitude, DepthKM: e.Quake.DepthKM,
			Where: hazard.Point{Latitude: e.Quake.Latitude, Longitude: e.Quake.Longitude},
		}
	case e.Storm != nil && c.Trigger.Kind == hazard.StormFix:
		o.Storm = e.storm(p.From)
	case e.Rain != nil && c.Trigger.Kind == hazard.StationDay:
		window, ok := e.firstWindow(c, p, payableFrom)
		o.Window = &window
		return o, ok
	default:
		return nil, false
	}
	return o, true
}

func (e Example) given() (kinds int) {
	for _, set := range []bool{e.Quake != nil, e.Storm != nil, e.Rain != nil} {
		if set {
			kinds++
		}
	}
	return kinds
}

func (e Example) storm(from time.Time) *hazard.Storm {
	storm := &hazard.Storm{ID: e.Name, Name: e.Name}
	for _, fix := range e.Storm {
		storm.Fixes = append(storm.Fixes, hazard.Fix{
			At:     from.Add(time.Duration(fix.Hour) * time.Hour),
			Where:  hazard.Point{Latitude: fix.Latitude, Longitude: fix.Longitude},
			WindKN: fix.WindKN,
		})
	}
	return storm
}

// firstWindow has the days begin as soon as they make a window that may pay: windows
// of a deficit follow each other from the first day of cover on.
func (e Example) firstWindow(c trigger.Cover, p trigger.Period, payableFrom time.Time) (window trigger.Window, ok bool) {
	for late := 0; late < max(1, c.Trigger.Days) && !ok; late++ {
		days := e.days(payableFrom.AddDate(0, 0, late))
		window, ok = trigger.WindowEnding(c, p, days, days[len(days)-1].Date)
	}
	return window, ok
}

func (e Example) days(from time.Time) []hazard.Day {
	days := make([]hazard.Day, len(e.Rain))
	for i, mm := range e.Rain {
		days[i] = hazard.Day{Date: from.AddDate(0, 0, i), PrecipitationMM: mm}
	}
	return days
}

// compare names the first member that differs, and both values.
func (x Expectation) compare(d trigger.Determination) error {
	switch {
	case d.Met != x.Met:
		return fmt.Errorf("met is %t (%s), expected %t", d.Met, d.Reason, x.Met)
	case d.Reason != x.Reason:
		return fmt.Errorf("reason is %s, expected %s", d.Reason, x.Reason)
	case (d.Index == nil) != (x.Index == nil) || d.Index != nil && !d.Index.Equal(*x.Index):
		return fmt.Errorf("index is %s, expected %s", orNone(d.Index), orNone(x.Index))
	case !d.Factor.Equal(x.Factor):
		return fmt.Errorf("factor is %s, expected %s", d.Factor, x.Factor)
	case d.Amount != x.Amount:
		return fmt.Errorf("amount is %d, expected %d", d.Amount, x.Amount)
	}
	return nil
}

func orNone(index *decimal.Decimal) string {
	if index == nil {
		return "none"
	}
	return index.String()
}
