package trigger

import (
	"errors"
	"fmt"
	"time"
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
	if c.Measurement != nil {
		for _, fault := range c.Measurement.Faults(c.Trigger) {
			wrong = append(wrong, fmt.Errorf("measurement%s: %s", fault.Pointer, fault.Detail))
		}
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

func (c Cover) validateTrigger() error {
	if len(c.Payout.Rings) > 0 && c.Place.Kind != Circle {
		return errors.New("only a circle has rings")
	}
	if c.Place.Kind == InBox && c.Trigger.Index != CentralPressure {
		return fmt.Errorf("a box is for the index %s", CentralPressure)
	}
	return c.Trigger.validate(c.Place.Kind)
}
