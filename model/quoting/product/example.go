package product

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/shopspring/decimal"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
)

// Example is one worked example: an occurrence, and the expected determination. Exactly
// one of Quake, Storm and Daily is set.
type Example struct {
	Name    string         `json:"name"`
	Context jsontext.Value `json:"context,omitzero"` // merged over the defaults; optional
	Quake   *ExampleQuake  `json:"quake,omitzero"`
	Storm   []ExampleFix   `json:"storm,omitzero"`
	// Daily is the value of each day at the station, null for a missing day, from the first
	// payable day on or, for a month or dekad, from the first whole one on. Dry days follow a
	// wet spell, and a reported day follows a month or dekad.
	Daily  []*decimal.Decimal `json:"daily,omitzero"`
	Expect Expectation        `json:"expect"`
}

// Currency returns the currency of the example's context, or the product's own.
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
	// PressureMB is the central pressure in millibar, which are hectopascals.
	PressureMB *decimal.Decimal `json:"pressure_mb,omitzero"`
}

// Expectation is the expected determination. Index is nil if nothing touches the place.
type Expectation struct {
	Met    bool             `json:"met"`
	Reason trigger.Reason   `json:"reason"`
	Index  *decimal.Decimal `json:"index,omitzero"`
	Factor decimal.Decimal  `json:"factor"`
	Amount int64            `json:"amount"`
}

// exampleStart is when the cover of every example starts, so that examples do not
// depend on the day of the check.
var exampleStart = time.Date(2030, time.January, 1, 0, 0, 0, 0, time.UTC)

// examplePartner is the partner of every example.
const examplePartner = "example"

// verifyOn evaluates the example on a cover and compares.
func (e Example) verifyOn(c trigger.Cover) error {
	start := exampleStart
	if c.StartsAt != nil {
		start = *c.StartsAt
	}
	period := c.Period(start)
	occurrences := e.buildOccurrences(c, period, c.PayableFrom(start))
	if occurrences == nil {
		return fmt.Errorf("needs exactly one of quake, storm and daily, the one that fits %s", c.Trigger.Kind)
	}
	d := trigger.Determination{Reason: trigger.OutsidePlace}
	for _, o := range occurrences { // of several wet spells the one that pays most counts
		o.Source, o.SourceEventID, o.Stage = "example", e.Name, trigger.Final
		if next := trigger.Evaluate(c, period, c.PayableFrom(start), o); d.Index == nil || next.Amount > d.Amount {
			d = next
		}
	}
	return e.Expect.compareWith(d)
}

// buildOccurrences returns the occurrences of the example's facts; nil if they do not
// fit the trigger.
func (e Example) buildOccurrences(c trigger.Cover, p trigger.Period, payableFrom time.Time) []trigger.Occurrence {
	switch {
	case e.countPerils() != 1:
		return nil
	case e.Quake != nil && c.Trigger.Form() == hazard.QuakeForm:
		return []trigger.Occurrence{{Quake: &hazard.Quake{
			At: p.From.AddDate(0, 0, 1), Magnitude: e.Quake.Magnitude, DepthKM: e.Quake.DepthKM,
			Where: hazard.Point{Latitude: e.Quake.Latitude, Longitude: e.Quake.Longitude},
		}}}
	case e.Storm != nil && c.Trigger.Form() == hazard.TrackForm:
		return []trigger.Occurrence{{Storm: e.buildStorm(p.From)}}
	case e.Daily != nil && c.Trigger.IsAtStation():
		occurrences := []trigger.Occurrence{}
		days := e.buildDays(c.Trigger.Definition(), p, payableFrom)
		for _, o := range c.Trigger.Definition().Occurrences(c.Place.Station, days) {
			occurrences = append(occurrences, trigger.Occurrence{AtStation: &o})
		}
		return occurrences
	default:
		return nil
	}
}

func (e Example) countPerils() (kinds int) {
	for _, set := range []bool{e.Quake != nil, e.Storm != nil, e.Daily != nil} {
		if set {
			kinds++
		}
	}
	return kinds
}

func (e Example) buildStorm(from time.Time) *hazard.Storm {
	storm := &hazard.Storm{ID: e.Name, Name: e.Name}
	for _, fix := range e.Storm {
		storm.Fixes = append(storm.Fixes, hazard.Fix{
			At:     from.Add(time.Duration(fix.Hour) * time.Hour),
			Where:  hazard.Point{Latitude: fix.Latitude, Longitude: fix.Longitude},
			WindKN: fix.WindKN, PressureHPA: fix.PressureMB,
		})
	}
	return storm
}

// buildDays returns the known days of the example and those that follow them and end its
// occurrence.
func (e Example) buildDays(d trigger.Definition, p trigger.Period, payableFrom time.Time) []hazard.Day {
	first := d.FirstDay(p.From, payableFrom)
	next, after := first.AddDate(0, 0, len(e.Daily)), d.DryDays()
	if calendar := d.Calendar(); calendar != "" {
		next, after = calendar.FirstFrom(first.AddDate(0, 0, 1)), 1
	}
	var days []hazard.Day
	for i, value := range e.Daily {
		if value != nil {
			days = append(days, d.NewDay(first.AddDate(0, 0, i), *value))
		}
	}
	for i := range after {
		days = append(days, d.NewDay(next.AddDate(0, 0, i), decimal.Zero))
	}
	return days
}

// compareWith returns an error with the first member that differs, and both values.
func (x Expectation) compareWith(d trigger.Determination) error {
	switch {
	case d.Met != x.Met:
		return fmt.Errorf("met is %t (%s), expected %t", d.Met, d.Reason, x.Met)
	case d.Reason != x.Reason:
		return fmt.Errorf("reason is %s, expected %s", d.Reason, x.Reason)
	case (d.Index == nil) != (x.Index == nil) || d.Index != nil && !d.Index.Equal(*x.Index):
		return fmt.Errorf("index is %s, expected %s", indexOrNone(d.Index), indexOrNone(x.Index))
	case !d.Factor.Equal(x.Factor):
		return fmt.Errorf("factor is %s, expected %s", d.Factor, x.Factor)
	case d.Amount != x.Amount:
		return fmt.Errorf("amount is %d, expected %d", d.Amount, x.Amount)
	}
	return nil
}

func indexOrNone(index *decimal.Decimal) string {
	if index == nil {
		return "none"
	}
	return index.String()
}
