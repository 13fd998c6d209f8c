package pricing

import (
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
)

// Remedy is insurable cover in place of the requested one: a shorter term, or smaller
// factors of the same payout.
type Remedy struct {
	StartsAt *time.Time     // start of the shorter term, if it differs from the requested one
	Term     string         // the shorter term; empty if none is insurable
	Steps    []trigger.Rung // the same thresholds with lower factors; nil if none are insurable or a quote cannot set them
}

// sentence describes the remedy, without a full stop.
func (r *Remedy) sentence() string {
	var would []string
	switch {
	case r.Term != "" && r.StartsAt != nil:
		would = append(would, fmt.Sprintf("a term of %s from %s", r.Term, r.StartsAt.Format(time.DateOnly)))
	case r.Term != "":
		would = append(would, "a term of "+r.Term)
	}
	if len(r.Steps) > 0 {
		factors := make([]string, len(r.Steps))
		for i, rung := range r.Steps {
			factors[i] = rung.Factor.String()
		}
		would = append(would, "the factors "+strings.Join(factors, ", "))
	}
	return strings.Join(would, " or ") + " would do"
}

// search searches for cover that would be sold instead of one that is too expensive.
type search struct {
	always  *pool // events of the same cover for the whole year
	par     Parameters
	history *hazard.History
}

// findRemedy returns cover that would be sold: the longest shorter term from the same
// start, to the day, and the largest multiple of the factors, in hundredths. For a
// deficit, which a dry season makes uninsurable, it also tries terms of up to the same
// length from the first of each month that the product sells.
//
// A longer term never costs less, so it bisects the terms of each start: it prices at
// most ten of them, and evaluates history once for all.
func (a *analysis) findRemedy(par Parameters, h *hazard.History, start, asOf time.Time, uninsurable *UninsurableError) *Remedy {
	always := a
	if a.weigher.season != nil {
		always = weighHistory(a.weigher.cover, par.SmoothingKM, h, nil)
	}
	f := &search{always: newPool(always), par: par, history: h}
	r := &Remedy{Steps: f.findLowerFactors(a, uninsurable)}
	asked := daysOf(start, a.weigher.cover.Term)
	longest := f.longestTerm(start, 0, asked-1)
	if a.weigher.cover.Trigger.Direction == trigger.AtMost {
		for month := range 12 {
			at := time.Date(start.Year(), start.Month()+time.Month(month+1), 1, 0, 0, 0, 0, time.UTC)
			if par.isTooFar(asOf, at) {
				break
			}
			if days := f.longestTerm(at, longest, asked); days > 0 {
				longest, r.StartsAt = days, &at
			}
		}
	}
	if longest > 0 {
		r.Term = fmt.Sprintf("P%dD", longest)
	}
	if longest == 0 && r.Steps == nil {
		return nil
	}
	return r
}

// daysOf returns the number of days that a term begins.
func daysOf(start time.Time, term string) int {
	end, _ := trigger.AddDuration(start, term) // priced covers have a valid term
	return int((end.Sub(start) + 24*time.Hour - 1) / (24 * time.Hour))
}

// isTooFar reports whether the product is not sold with such a start.
func (par Parameters) isTooFar(asOf, start time.Time) bool {
	farthest, err := trigger.AddDuration(asOf, par.FarthestStart)
	return err == nil && start.After(farthest)
}

// longestTerm returns the longest term in days from a start that would be sold, longer
// than above, the longest known from another start, and at most most; 0 if there is
// none.
func (f *search) longestTerm(start time.Time, above, most int) int {
	least := max(above+1, daysOf(start, f.par.shortestTerm()))
	if least > most || !f.isSold(start, least) {
		return 0
	}
	days := least + sort.Search(most-least, func(i int) bool { return !f.isSold(start, least+1+i) })
	if CheckPriceable(f.cover(days), f.history, start) != nil {
		return 0
	}
	return days
}

func (f *search) cover(days int) trigger.Cover {
	c := f.always.weigher.cover
	c.Term = fmt.Sprintf("P%dD", days)
	return c
}

// isSold reports whether a term of so many days is within the largest rate on line.
func (f *search) isSold(start time.Time, days int) bool {
	s, err := seasonForTerm(start, f.cover(days).Term)
	if err != nil || s == nil {
		return false // the whole year is the refused term
	}
	_, err = f.always.burnOf(f.always.sumsIn(s), s).computePremium(f.par, f.always.weigher.cover.Limit)
	return err == nil
}

// findLowerFactors returns the step table with the largest multiple of its factors that
// would be sold, each rounded down to the decimals that a context accepts; nil if there
// is none.
//
// The premium falls slightly less than the factors do, because years that reached the
// limit no longer do. So no multiple above the one with a proportional premium is sold,
// and that one is priced next.
func (f *search) findLowerFactors(a *analysis, uninsurable *UninsurableError) []trigger.Rung {
	c := a.weigher.cover
	if !f.par.chooses("steps") || len(c.Payout.Steps) == 0 {
		return nil
	}
	steps, factor, rate := c.Payout.Steps, one, uninsurable.RateOnLine
	for {
		factor = decimal.Min(factor.Sub(hundredth), factor.Mul(f.par.MaximumRateOnLine).Div(rate).Round(6).RoundFloor(2))
		if steps[0].Factor.Mul(factor).LessThan(hundredth) {
			return nil // below the minimum factor of products
		}
		c.Payout.Steps = make([]trigger.Rung, len(steps))
		for i, rung := range steps {
			c.Payout.Steps[i] = trigger.Rung{Threshold: rung.Threshold, Factor: rung.Factor.Mul(factor).RoundFloor(factorDecimals)}
		}
		price, err := weighHistory(c, f.par.SmoothingKM, f.history, a.weigher.season).computeFigures().computePremium(f.par, c.Limit)
		if err == nil {
			return c.Payout.Steps
		}
		rate = price.RateOnLine
	}
}

// factorDecimals is the maximum number of decimals of a factor in a context.
const factorDecimals = 4

var one, hundredth = decimal.New(1, 0), decimal.New(1, -2)
