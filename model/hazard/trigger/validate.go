package trigger

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"parapet/model/hazard"
)

// Validate returns all faults that prevent an evaluation: a place that does not fit the
// kind of trigger, an incomplete payout, invalid durations. A product's defaults and
// every quote must pass, because a bound cover is evaluated without another check. It
// does not check whether the cover can be priced. The errors are joined.
func (c Cover) Validate() error {
	wrong := []error{c.Payout.Validate(c.Trigger.Direction), c.Place.validate(), c.validateTrigger()}
	if c.Limit.Amount <= 0 {
		wrong = append(wrong, errors.New("the limit is not above 0"))
	}
	durations := []struct{ name, iso string }{
		{"term", c.Term}, {"waiting_period", c.WaitingPeriod}, {"reporting_window", c.ReportingWindow},
	}
	for _, duration := range durations {
		if duration.iso == "" && duration.name != "term" {
			continue
		}
		if _, err := AddDuration(time.Unix(0, 0), duration.iso); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", duration.name, err))
		}
	}
	return errors.Join(wrong...)
}

// maxRadiusKM is half the circumference of the earth, the largest possible radius.
const maxRadiusKM = hazard.EarthRadiusKM * math.Pi

func (p Place) validate() error {
	switch {
	case p.Kind == AtStation && p.Station == "":
		return errors.New("the place needs a station")
	case p.Kind == AtStation:
		return nil
	case p.Kind != Circle:
		return fmt.Errorf("place %q is neither %s nor %s", p.Kind, Circle, AtStation)
	case !(math.Abs(p.Latitude) <= 90):
		return fmt.Errorf("latitude %g is not between -90 and 90", p.Latitude)
	case !(math.Abs(p.Longitude) <= 180):
		return fmt.Errorf("longitude %g is not between -180 and 180", p.Longitude)
	case !(p.RadiusKM > 0), !(p.RadiusKM <= maxRadiusKM):
		return fmt.Errorf("radius %g km is not above 0 and at most half the earth's circumference", p.RadiusKM)
	default:
		return nil
	}
}

func (c Cover) validateTrigger() error {
	t, circle := c.Trigger, c.Place.Kind == Circle
	switch {
	case len(c.Payout.Rings) > 0 && !circle:
		return errors.New("only a circle has rings")
	case !slices.Contains(hazard.Perils(), t.Kind):
		return fmt.Errorf("trigger %q is none of %v", t.Kind, hazard.Perils())
	case (t.Kind == hazard.PerilRainfall) == circle:
		return fmt.Errorf("a trigger of %s cannot happen at a %s", t.Kind, c.Place.Kind)
	case t.Kind == hazard.PerilWindstorm && t.Wind != LargerOfEnds && t.Wind != Interpolated:
		return fmt.Errorf("wind %q is neither %s nor %s", t.Wind, LargerOfEnds, Interpolated)
	case t.Kind == hazard.PerilWindstorm && t.MaximumGapHours < 0:
		return errors.New("maximum_gap_hours is below 0")
	case t.Kind == hazard.PerilRainfall:
		return t.validateRain()
	default:
		return nil
	}
}

// validateRain requires the members that define the occurrences at a station: days,
// wet_mm and dry_days for sums of a wet spell, the name of the period for sums of a
// calendar period.
func (t Trigger) validateRain() error {
	switch {
	case t.Direction == AtMost && (t.Calendar != Month && t.Calendar != Dekad):
		return fmt.Errorf("calendar %q is neither %s nor %s; a deficit of rain needs one", t.Calendar, Month, Dekad)
	case t.Direction == AtMost && (t.Days != 0 || t.WetMM != nil || t.DryDays != 0):
		return errors.New("days, wet_mm and dry_days define wet spells; a deficit of rain has a calendar instead")
	case t.Direction == AtMost:
		return nil
	case t.Calendar != "":
		return errors.New("calendar is for a deficit of rain; an excess has days, wet_mm and dry_days instead")
	case t.Days < 1:
		return errors.New("an excess of rain needs days, at least 1")
	case t.WetMM == nil || !t.WetMM.IsPositive():
		return errors.New("an excess of rain needs wet_mm, above 0")
	case t.DryDays < 1:
		return errors.New("an excess of rain needs dry_days, at least 1")
	default:
		return nil
	}
}
