package node

import "parapet/model/trigger"

// Cover is everything that binds.
type Cover struct{ trigger.Cover }

// Place is where it must happen.
func (c Cover) Place() Place { return Place{c.Cover.Place} }

// Trigger is what must be measured.
func (c Cover) Trigger() Trigger { return Trigger{c.Cover.Trigger} }

// PayoutCurves draw what is owed.
func (c Cover) PayoutCurves() []trigger.Curve { return c.Payout.Curves(c.Cover.Trigger) }

// Place is a circle or a station; what belongs to the other is nil.
type Place struct{ trigger.Place }

// Latitude of the centre.
func (p Place) Latitude() *float64 { return p.circleValue(p.Place.Latitude) }

// Longitude of the centre.
func (p Place) Longitude() *float64 { return p.circleValue(p.Place.Longitude) }

// RadiusKM of the circle.
func (p Place) RadiusKM() *float64 { return p.circleValue(p.Place.RadiusKM) }

// Station that measures.
func (p Place) Station() *string { return orNil(p.Place.Station) }

func (p Place) circleValue(value float64) *float64 {
	if p.Kind != trigger.Circle {
		return nil
	}
	return &value
}

// Trigger is what must be measured; what a kind of observation does not have is
// nil.
type Trigger struct{ trigger.Trigger }

// Wind that a segment between two fixes has.
func (t Trigger) Wind() *trigger.WindRule { return orNil(t.Trigger.Wind) }

// MaximumGapHours between two fixes.
func (t Trigger) MaximumGapHours() *int { return orNil(t.Trigger.MaximumGapHours) }

// Days of a wet spell that are summed.
func (t Trigger) Days() *int { return orNil(t.Trigger.Days) }

// DryDays that end a wet spell.
func (t Trigger) DryDays() *int { return orNil(t.Trigger.DryDays) }

// Calendar is the period that is summed.
func (t Trigger) Calendar() *trigger.Calendar { return orNil(t.Trigger.Calendar) }

// orNil is nil for what is not there.
func orNil[T comparable](value T) *T {
	var none T
	if value == none {
		return nil
	}
	return &value
}
