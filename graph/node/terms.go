package node

import "parapet/model/hazard/trigger"

// Cover is the bound terms of a quote or policy.
type Cover struct{ trigger.Cover }

// Place returns the insured place.
func (c Cover) Place() Place { return Place{c.Cover.Place} }

// Trigger returns the trigger.
func (c Cover) Trigger() Trigger { return Trigger{c.Cover.Trigger} }

// PayoutCurves returns the payout as curves.
func (c Cover) PayoutCurves() []trigger.Curve { return c.Payout.Curves(c.Cover.Trigger) }

// Place is a circle or a station; the fields of the other are nil.
type Place struct{ trigger.Place }

// Latitude returns the latitude of the centre.
func (p Place) Latitude() *float64 { return p.circleValue(p.Place.Latitude) }

// Longitude returns the longitude of the centre.
func (p Place) Longitude() *float64 { return p.circleValue(p.Place.Longitude) }

// RadiusKM returns the radius of the circle.
func (p Place) RadiusKM() *float64 { return p.circleValue(p.Place.RadiusKM) }

// Station returns the station that measures.
func (p Place) Station() *string { return orNil(p.Place.Station) }

func (p Place) circleValue(value float64) *float64 {
	if p.Kind != trigger.Circle {
		return nil
	}
	return &value
}

// Trigger is the trigger; fields of other kinds of observation are nil.
type Trigger struct{ trigger.Trigger }

// Wind returns the rule for the wind of a segment between two fixes.
func (t Trigger) Wind() *trigger.WindRule { return orNil(t.Trigger.Wind) }

// MaximumGapHours returns the maximum gap between two fixes.
func (t Trigger) MaximumGapHours() *int { return orNil(t.Trigger.MaximumGapHours) }

// Days returns the number of days that are summed in a wet spell.
func (t Trigger) Days() *int { return orNil(t.Trigger.Days) }

// DryDays returns the number of dry days that end a wet spell.
func (t Trigger) DryDays() *int { return orNil(t.Trigger.DryDays) }

// Calendar returns the period that is summed.
func (t Trigger) Calendar() *trigger.Calendar { return orNil(t.Trigger.Calendar) }

// orNil returns nil for the zero value.
func orNil[T comparable](value T) *T {
	var none T
	if value == none {
		return nil
	}
	return &value
}
