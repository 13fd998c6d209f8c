package pricing

import (
	"math"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
)

// displacement is a step to the east and to the north in kilometres, with a weight.
type displacement struct {
	east, north float64
	weight      int64
}

// displacements returns the nodes 0 and ±√3·c east and north of the Gauss–Hermite
// quadrature with three points, and its weights 2/3 and 1/6 as whole numbers
// (Abramowitz and Stegun, "Handbook of Mathematical Functions", table 25.10).
func (w *eventWeigher) displacements() (all []displacement) {
	if w.smoothing == 0 {
		return []displacement{{weight: 1}}
	}
	c := math.Sqrt(3) * w.smoothing
	steps := []struct {
		km     float64
		weight int64
	}{{0, 4}, {c, 1}, {-c, 1}}
	for _, east := range steps {
		for _, north := range steps {
			all = append(all, displacement{east.km, north.km, east.weight * north.weight})
		}
	}
	return all
}

// move returns the displaced point: along the great circle of the bearing.
func (d displacement) move(p hazard.Point) hazard.Point {
	if d.east == 0 && d.north == 0 {
		return p
	}
	return hazard.Move(p, math.Atan2(d.east, d.north), math.Hypot(d.east, d.north))
}

// node is a displacement of the place against storms. A circle moves by its centre. For a
// box the tracks move instead, each fix for itself: then a box inside of another one stays
// inside of it, and a larger box never costs less. Moving all borders of both would not do,
// because a degree of longitude is longer nearer to the equator.
type node struct {
	cover trigger.Cover
	box   hazard.Box   // around all segments that can touch the displaced place
	track displacement // of the fixes
}

// bendingOfTracks bounds how much further than its ends a displaced segment can be from the
// segment itself: 1 / cos(length / 2), which is 1.1 for a length of 49 degrees.
const bendingOfTracks = 1.1

func (w *eventWeigher) newNode(d displacement) node {
	n := node{cover: w.cover}
	if w.cover.Place.Kind == trigger.InBox {
		n.track = d
		n.box = w.cover.Place.Box().Widened(bendingOfTracks * math.Hypot(d.east, d.north))
		return n
	}
	center := d.move(w.cover.Place.Center())
	n.cover.Place.Latitude, n.cover.Place.Longitude = center.Latitude, center.Longitude
	n.box = hazard.CircleBox(center, w.cover.Place.RadiusKM)
	return n
}

// displacedFixes returns the fixes as the node sees them.
func (n *node) displacedFixes(fixes []hazard.Fix) []hazard.Fix {
	if n.track == (displacement{weight: n.track.weight}) {
		return fixes
	}
	moved := slices.Clone(fixes)
	for i := range moved {
		moved[i].Where = n.track.move(moved[i].Where)
	}
	return moved
}

// searchBox contains all displaced places, up to the outermost nodes.
func (w *eventWeigher) searchBox() hazard.Box {
	reach := math.Sqrt(6) * w.smoothing
	if w.cover.Place.Kind == trigger.InBox {
		return w.cover.Place.Box().Widened(bendingOfTracks * reach)
	}
	return hazard.CircleBox(w.cover.Place.Center(), w.cover.Place.RadiusKM+reach)
}

// weighStorms evaluates each storm at every displaced place.
func (w *eventWeigher) weighStorms(h *hazard.History) {
	for _, d := range w.displacements() {
		w.nodes, w.weights = append(w.nodes, w.newNode(d)), append(w.weights, d.weight)
	}
	runs := h.TrackPartsNear(w.searchBox())
	first := stormData(&w.cover, h).FirstYear
	runs = slices.DeleteFunc(runs, func(r hazard.TrackPart) bool { return r.Storm.Fixes[0].At.Year() < first })
	for len(runs) > 0 {
		own := 1
		for own < len(runs) && runs[own].Storm == runs[0].Storm {
			own++
		}
		if event, counts := w.weighStorm(runs[:own]); counts {
			w.events = append(w.events, event)
		}
		runs = runs[own:]
	}
}

func (w *eventWeigher) weighStorm(runs []hazard.TrackPart) (WeighedEvent, bool) {
	strong := w.cutStrongParts(runs)
	if len(strong) == 0 {
		return WeighedEvent{}, false
	}
	shares, pays := make([]decimal.Decimal, len(w.nodes)), false
	for i := range w.nodes {
		shares[i] = w.bestShareAt(&w.nodes[i], strong)
		pays = pays || shares[i].IsPositive()
	}
	if !pays {
		return WeighedEvent{}, false
	}
	event, counts := newWeighedEvent(weightedMoments(shares, w.weights))
	storm := runs[0].Storm
	event.ID, event.Year, event.runs = storm.ID, storm.Fixes[0].At.Year(), runs
	return event, counts
}

// bestShareAt returns the largest share of the storm's track parts for the cover at a
// node.
func (w *eventWeigher) bestShareAt(at *node, runs []hazard.TrackPart) (best decimal.Decimal) {
	for _, run := range runs {
		var room [4]hazard.TrackPart
		for _, near := range run.Parts(room[:0], func(i int) bool { return run.Boxes[i].Overlaps(at.box) }) {
			part := hazard.Storm{ID: near.Storm.ID, Fixes: at.displacedFixes(near.Fixes)}
			for _, period := range w.season.periodsOf(near) {
				if share := trigger.StormShare(&at.cover, period, period.From, part); share.GreaterThan(best) {
					best = share
				}
			}
		}
	}
	return best
}

// closest returns the closest distance of the track parts to the centre within the
// season's periods, and its time.
func (w *eventWeigher) closest(runs []hazard.TrackPart) (closest float64, closestAt time.Time) {
	closest = math.Inf(1)
	for _, run := range runs {
		if len(w.season.periodsOf(run)) == 0 {
			continue
		}
		fixes := run.Fixes
		if w.cover.Place.Kind == trigger.InBox { // a corner is further away than places outside
			fixes = run.Storm.Fixes
		}
		if km, at := trigger.Approach(&w.cover, hazard.Storm{Fixes: fixes}); km < closest {
			closest, closestAt = km, at
		}
	}
	return closest, closestAt
}

// cutStrongParts returns the parts of runs with segments of which an end reaches the
// lowest threshold. Between two ends the index is never stronger than at the stronger one,
// so no other segment can pay.
func (w *eventWeigher) cutStrongParts(runs []hazard.TrackPart) (parts []hazard.TrackPart) {
	mildest, t := w.cover.Payout.LowestThreshold(), &w.cover.Trigger
	if t.Direction == trigger.AtMost && t.Index != trigger.CentralPressure {
		return runs
	}
	reaches := func(fix *hazard.Fix) bool {
		value := t.FixValue(fix)
		if value == nil || t.Direction == trigger.AtMost {
			return value != nil && value.LessThanOrEqual(mildest)
		}
		return value.GreaterThanOrEqual(mildest)
	}
	for _, run := range runs {
		parts = run.Parts(parts, func(i int) bool {
			return reaches(&run.Fixes[i]) || i+1 < len(run.Fixes) && reaches(&run.Fixes[i+1])
		})
	}
	return parts
}
