package trigger

import (
	"errors"
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"parapet/model/hazard"
)

// Windstorm insures against the wind of tropical cyclones in a circle, or their central
// pressure in a circle or a box.
const Windstorm hazard.Peril = "windstorm"

// CentralPressure is the index of a storm's pressure at its centre, in millibar: the lower,
// the stronger the storm. Other windstorm covers measure its sustained wind.
const CentralPressure = "central_pressure"

var windstormRules = PerilRules{
	Peril: Windstorm, Kind: hazard.StormFix,
	Indices: map[string]Index{
		"sustained_wind": {"kn", "a wind of %s %s", 100}, CentralPressure: {"mb", "a central pressure of %s %s", 100},
	},
	Growth:         "The storm grew",
	contextMembers: func(Trigger) []string { return nil },
	validate:       validateWindstorm,
}

func validateWindstorm(t Trigger) error {
	switch {
	case t.Index == CentralPressure && t.Direction != AtMost:
		return errors.New("a storm is stronger the lower its central pressure is: direction is at_most")
	case t.Index == CentralPressure && t.Wind != "":
		return errors.New("wind is for sustained_wind; a segment has the lower central pressure of both ends")
	case t.Index != CentralPressure && t.Wind != LargerOfEnds && t.Wind != Interpolated:
		return fmt.Errorf("wind %q is neither %s nor %s", t.Wind, LargerOfEnds, Interpolated)
	case t.MaximumGapHours < 0:
		return errors.New("maximum_gap_hours is below 0")
	default:
		return nil
	}
}

// StormBasin returns the basin whose storms the cover pays for. Terms do not name it: only
// the Atlantic has prices. A second basin is chosen here.
func (Cover) StormBasin() *hazard.Basin { return hazard.Atlantic() }

// IsOtherBasin reports whether the occurrence is a storm of a basin that the cover does not
// pay for.
func (c Cover) IsOtherBasin(o Occurrence) bool {
	return o.Storm != nil && c.Trigger.Form() == hazard.TrackForm && !c.StormBasin().HasStorm(o.Storm)
}

// FixValue returns the value of the trigger's index at a position of a storm; nil if it is
// unknown.
func (t *Trigger) FixValue(fix *hazard.Fix) *decimal.Decimal {
	if t.Index == CentralPressure {
		return fix.PressureHPA
	}
	return fix.WindKN
}

// evaluateStorm measures the index where the track is closest to the centre: at each
// fix, and on each great-circle segment between two fixes within the gap that the terms
// allow. In a box it measures while the track is in it. If the value is unknown, nothing is
// measured.
func (e *evaluation) evaluateStorm(s hazard.Storm) {
	if e.cover.Place.Kind == InBox {
		e.evaluateStormInBox(s)
		return
	}
	center, before := e.cover.Place.Center(), 0.0
	for i := range s.Fixes {
		fix := &s.Fixes[i]
		km := hazard.Distance(center, fix.Where)
		if i > 0 && e.mayTouch(&s.Fixes[i-1], fix, before, km) {
			e.evaluateSegment(center, s.Fixes[i-1], *fix)
		}
		if before = km; km <= e.cover.Place.RadiusKM && e.cover.Trigger.FixValue(fix) != nil {
			e.measureIndex(km, fix.At, *e.cover.Trigger.FixValue(fix))
		}
	}
}

// mayTouch excludes most segments by the distances of both ends, without the
// trigonometry of their closest points.
func (e *evaluation) mayTouch(a, b *hazard.Fix, fromA, fromB float64) bool {
	return e.isWithinGap(a, b) && hazard.SegmentMayTouch(e.cover.Place.RadiusKM, a.Where, b.Where, fromA, fromB)
}

func (e *evaluation) isWithinGap(a, b *hazard.Fix) bool {
	return b.At.Sub(a.At) <= time.Duration(e.cover.Trigger.MaximumGapHours)*time.Hour
}

func (e *evaluation) evaluateSegment(center hazard.Point, a, b hazard.Fix) {
	km, along := hazard.SegmentDistance(center, a.Where, b.Where)
	if km > e.cover.Place.RadiusKM {
		return
	}
	if value, ok := e.cover.Trigger.segmentValue(&a, &b, along); ok {
		e.measureIndex(km, timeAlong(a.At, b.At.Sub(a.At), along), value)
	}
}

// approach finds the closest distance of the storm from the centre, whether or not it
// touched the place, and its first time.
func (e *evaluation) approach(s hazard.Storm) {
	center := e.cover.Place.Center()
	for i := range s.Fixes {
		fix := &s.Fixes[i]
		if i > 0 && e.isWithinGap(&s.Fixes[i-1], fix) {
			before := &s.Fixes[i-1]
			km, along := hazard.SegmentDistance(center, before.Where, fix.Where)
			e.recordDistance(km, timeAlong(before.At, fix.At.Sub(before.At), along))
		}
		e.recordDistance(hazard.Distance(center, fix.Where), fix.At)
	}
}

// timeAlong returns the time at a share of a segment, in whole microseconds, because
// decisions use the precision that responses can show.
func timeAlong(from time.Time, lasts time.Duration, along float64) time.Time {
	switch along {
	case 0:
		return from
	case 1:
		return from.Add(lasts)
	default:
		return from.Add(time.Duration(along * float64(lasts)).Truncate(time.Microsecond))
	}
}

// segmentValue returns the value of the index on a segment: the lower central pressure of
// both ends, or the one that is known, and the wind by the trigger's rule.
func (t *Trigger) segmentValue(a, b *hazard.Fix, along float64) (decimal.Decimal, bool) {
	switch from, to := t.FixValue(a), t.FixValue(b); {
	case t.Index != CentralPressure:
		return segmentWind(t.Wind, from, to, along)
	case from == nil && to == nil:
		return decimal.Decimal{}, false
	case from == nil || to != nil && to.LessThan(*from):
		return *to, true
	default:
		return *from, true
	}
}

// segmentWind returns the wind of a segment by the rule. If only one end is known, it
// is the larger of both ends; an interpolation then has no result. An interpolated wind
// has at most three decimals, rounded half up: sources report winds to 5 kn.
func segmentWind(rule WindRule, a, b *decimal.Decimal, along float64) (decimal.Decimal, bool) {
	switch {
	case rule == Interpolated && (a == nil || b == nil), a == nil && b == nil:
		return decimal.Decimal{}, false
	case rule == Interpolated:
		change := b.Sub(*a).Mul(decimal.NewFromFloat(along))
		return a.Add(change).Round(3).Normalize(), true
	case a == nil:
		return *b, true
	case b == nil:
		return *a, true
	default:
		return decimal.Max(*a, *b), true
	}
}
