package trigger

import (
	"errors"
	"fmt"
	"math"
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
	if len(c.Payout.Rings) > 0 && c.Place.Kind != Circle {
		return errors.New("only a circle has rings")
	}
	return c.Trigger.validate(c.Place.Kind)
}
