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

// Place is a circle, a box or a station; the fields of the others are nil.
type Place struct{ trigger.Place }

// Latitude returns the latitude of the centre.
func (p Place) Latitude() *float64 { return p.valueIn(trigger.Circle, p.Place.Latitude) }

// Longitude returns the longitude of the centre.
func (p Place) Longitude() *float64 { return p.valueIn(trigger.Circle, p.Place.Longitude) }

// RadiusKM returns the radius of the circle.
func (p Place) RadiusKM() *float64 { return p.valueIn(trigger.Circle, p.Place.RadiusKM) }

// West returns the western border of the box.
func (p Place) West() *float64 { return p.valueIn(trigger.InBox, p.Place.West) }

// South returns the southern border of the box.
func (p Place) South() *float64 { return p.valueIn(trigger.InBox, p.Place.South) }

// East returns the eastern border of the box.
func (p Place) East() *float64 { return p.valueIn(trigger.InBox, p.Place.East) }

// North returns the northern border of the box.
func (p Place) North() *float64 { return p.valueIn(trigger.InBox, p.Place.North) }

// Station returns the station that measures.
func (p Place) Station() *string { return orNil(p.Place.Station) }

// valueIn returns a value that only places of a kind have.
func (p Place) valueIn(kind trigger.PlaceKind, value float64) *float64 {
	if p.Kind != kind {
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
