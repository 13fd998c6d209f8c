package pricing

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"parapet/model/hazard"
	"parapet/model/trigger"
)

// Remedy is cover that is insurable where the one that was asked for is not: a
// shorter term, or smaller factors of the same payout.
type Remedy struct {
	StartsAt *time.Time       // of the shorter term, when the start differs from the one asked for
	Term     string           // the shorter term; empty when none would do
	Factor   *decimal.Decimal // by which to multiply every factor; nil where factors are fixed
}

// Sentence says what would do, without a full stop.
func (r *Remedy) Sentence() string {
	if r == nil {
		return "choose another place, a smaller radius or higher thresholds"
	}
	var would []string
	switch {
	case r.Term != "" && r.StartsAt != nil:
		would = append(would, fmt.Sprintf("a term of %s from %s", r.Term, r.StartsAt.Format(time.DateOnly)))
	case r.Term != "":
		would = append(would, "a term of "+r.Term)
	}
	if r.Factor != nil {
		would = append(would, fmt.Sprintf("every factor multiplied by %s", r.Factor))
	}
	return strings.Join(would, " or ") + " would do"
}

// shorterTerms are tried from the longest.
var shorterTerms = []string{"P183D", "P122D", "P92D", "P61D", "P31D"}

// remedy looks for cover that would be sold: the longest shorter term from the same
// start, and the largest multiple of the factors in hundredths. For a deficit, which
// a dry season makes uninsurable, terms from the first of each month to come are
// tried too.
func remedy(c trigger.Cover, par Parameters, h *hazard.History, start time.Time, dear *Uninsurable) *Remedy {
	r := &Remedy{Factor: lowerFactors(c, par, h, start, dear)}
	judged, starts := make(judgedPeriods), []time.Time{start}
	if c.Trigger.Direction == trigger.AtMost {
		for month := range 12 {
			starts = append(starts, time.Date(start.Year(), start.Month()+time.Month(month+1), 1, 0, 0, 0, 0, time.UTC))
		}
	}
	for _, term := range shorterTerms {
		at := slices.IndexFunc(starts, func(at time.Time) bool {
			return isShorter(term, c.Term, start) && insurable(judged, withTerm(c, term), par, h, at)
		})
		if at < 0 {
			continue
		}
		if r.Term = term; at > 0 {
			r.StartsAt = &starts[at]
		}
		break
	}
	if r.Term == "" && r.Factor == nil {
		return nil
	}
	return r
}

// lowerFactors is the multiple of the factors of a step table that would be sold. The
// premium falls a little less than the factors do, because years that reached the
// limit no longer do, so it is approached from above.
func lowerFactors(c trigger.Cover, par Parameters, h *hazard.History, start time.Time, dear *Uninsurable) *decimal.Decimal {
	if c.Payout.Shape != trigger.Step || len(c.Payout.Rings) > 0 {
		return nil
	}
	steps := c.Payout.Steps
	factor := par.MaximumRateOnLine.Div(dear.RateOnLine).RoundFloor(2)
	for ; steps[0].Factor.Mul(factor).GreaterThanOrEqual(leastFactor); factor = factor.Sub(decimal.New(1, -2)) {
		c.Payout.Steps = make([]trigger.Rung, len(steps))
		for i, rung := range steps {
			c.Payout.Steps[i] = trigger.Rung{Threshold: rung.Threshold, Factor: rung.Factor.Mul(factor)}
		}
		if insurable(nil, c, par, h, start) {
			return &factor
		}
	}
	return nil
}

// leastFactor is the smallest factor that products sell.
var leastFactor = decimal.New(1, -2)

func isShorter(term, than string, start time.Time) bool {
	end, errEnd := trigger.AddDuration(start, than)
	shorter, errShorter := trigger.AddDuration(start, term)
	return errEnd == nil && errShorter == nil && shorter.Before(end)
}

// insurable tells whether cover from a start would be sold.
func insurable(judged judgedPeriods, c trigger.Cover, par Parameters, h *hazard.History, start time.Time) bool {
	if Answerable(c, h, start) != nil {
		return false
	}
	s, err := seasonOf(start, c.Term)
	if err != nil {
		return false
	}
	_, err = weighedWith(judged, c, par.SmoothingKM, h, s).burn().premium(par, c.Limit)
	return err == nil
}

func withTerm(c trigger.Cover, term string) trigger.Cover {
	c.Term = term
	return c
}
