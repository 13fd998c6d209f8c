package pricing

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
)

// WeighedEvent is a past event as it counts in a price. The displacement of the place
// makes its payout share f random; without smoothing f is certain.
type WeighedEvent struct {
	ID          string          `json:"id"`
	OccurredAt  time.Time       `json:"occurred_at"`
	Year        int             `json:"year"`         // year of history whose loss includes the event
	DistanceKM  *float64        `json:"distance_km"`  // from the centre of the circle, two decimals; null at a station
	Weight      decimal.Decimal `json:"weight"`       // a, the probability that f is above 0
	Share       decimal.Decimal `json:"share"`        // p, the mean of f
	ShareSquare decimal.Decimal `json:"share_square"` // the mean of f²

	moments moments
	runs    []hazard.TrackPart // of a storm: its track near the place
	spell   *stationEvent      // at a station
}

// eventWeigher weighs each past event for the price: the probability and size of its
// payout when the place is displaced. historyReplay is the other pass, without
// displacement: what would have paid at the place itself. Both share dataset and
// season.
type eventWeigher struct {
	cover              trigger.Cover
	season             *seasonWindow
	smoothing          float64 // c in kilometres; 0 means no displacement
	events             []WeighedEvent
	eventsWithoutDepth int                     // earthquakes without a depth, which count as within the depth limit
	paid               []trigger.Determination // determinations of the events at a station

	nodes   []node // displaced places for a track
	weights []int64
}

// cutoffDeviations is the distance beyond the place's own edge from which events no
// longer count, in standard deviations.
const cutoffDeviations = 3

// newWeighedEvent returns an event that counts; false if it pays nothing anywhere.
func newWeighedEvent(m moments) (WeighedEvent, bool) { return WeighedEvent{moments: m}, m != moments{} }

// shown returns the events, newest first, with the members that only the display needs:
// the moments as decimals, and the closest distance and time of a storm.
func (w *eventWeigher) shown() []WeighedEvent {
	for i := range w.events {
		e := &w.events[i]
		e.Weight, e.Share, e.ShareSquare = unitsToDecimal(e.moments.paying), unitsToDecimal(e.moments.mean), unitsToDecimal(e.moments.square)
		if e.runs != nil {
			km, at := w.closest(e.runs)
			e.OccurredAt, e.DistanceKM = at, roundKM(km)
		}
	}
	sortWeighedEvents(w.events)
	return w.events
}

func (w *eventWeigher) weighQuakes(h *hazard.History) {
	center, edge := w.cover.Place.Center(), w.cover.Place.RadiusKM
	reach := edge + cutoffDeviations*w.smoothing
	circles := make(map[float64]*riceDistribution)
	for _, quake := range h.QuakesNear(center, reach) {
		km := hazard.Distance(center, quake.Where)
		if km > reach || !w.season.contains(quake.At) {
			continue
		}
		event, counts := newWeighedEvent(w.quakeMoments(circles, w.cover.QuakeReach(*quake), km))
		if !counts {
			continue
		}
		if quake.DepthKM == nil && w.cover.Trigger.MaximumDepthKM != nil {
			w.eventsWithoutDepth++
		}
		event.ID, event.OccurredAt, event.Year, event.DistanceKM = quake.EventID, quake.At, quake.At.Year(), roundKM(km)
		w.events = append(w.events, event)
	}
}

// quakeMoments returns the exact moments of an earthquake at a distance: the share of a
// ring counts with the probability that the displaced ring contains the epicentre.
func (w *eventWeigher) quakeMoments(circles map[float64]*riceDistribution, reach []trigger.Reach, km float64) moments {
	chance := func(radius float64) probability {
		switch {
		case w.smoothing == 0 && km <= radius:
			return certainProbability
		case w.smoothing == 0:
			return 0
		case circles[radius] == nil:
			circles[radius] = newRiceDistribution(radius, w.smoothing)
		}
		return newProbability(circles[radius].probabilityAt(km))
	}
	switch len(reach) {
	case 0:
		return moments{}
	case 1:
		return singleMoments(reach[0].Share, chance(reach[0].RadiusKM))
	}
	shares, chances := make([]decimal.Decimal, 0, len(reach)), make([]int64, 0, len(reach)+1)
	inner := probability(0)
	for _, ring := range reach { // the area between a ring and the next one inside it
		within := max(inner, chance(ring.RadiusKM))
		shares, chances = append(shares, ring.Share), append(chances, int64(within-inner))
		inner = within
	}
	return weightedMoments(append(shares, decimal.Zero), append(chances, int64(certainProbability-inner)))
}

// Displacements of a track: the nodes 0 and ±√3·c east and north of the Gauss–Hermite
// quadrature with three points, and its weights 2/3 and 1/6 as whole numbers
// (Abramowitz and Stegun, "Handbook of Mathematical Functions", table 25.10).
func (w *eventWeigher) displacedCenters() (centers []hazard.Point, weights []int64) {
	center := w.cover.Place.Center()
	if w.smoothing == 0 {
		return []hazard.Point{center}, []int64{1}
	}
	node := math.Sqrt(3) * w.smoothing
	steps := []struct {
		km     float64
		weight int64
	}{{0, 4}, {node, 1}, {-node, 1}}
	for _, east := range steps {
		for _, north := range steps {
			at := center
			if east.km != 0 || north.km != 0 {
				at = hazard.Move(center, math.Atan2(east.km, north.km), math.Hypot(east.km, north.km))
			}
			centers, weights = append(centers, at), append(weights, east.weight*north.weight)
		}
	}
	return centers, weights
}

// node is a displaced place of a cover against storms.
type node struct {
	cover trigger.Cover
	box   hazard.Box
}

// weighStorms evaluates each storm at every displaced place. The search box contains
// all displaced circles.
func (w *eventWeigher) weighStorms(h *hazard.History) {
	centers, weights := w.displacedCenters()
	w.nodes, w.weights = make([]node, len(centers)), weights
	for i, center := range centers {
		w.nodes[i] = node{w.cover, hazard.CircleBox(center, w.cover.Place.RadiusKM)}
		w.nodes[i].cover.Place.Latitude, w.nodes[i].cover.Place.Longitude = center.Latitude, center.Longitude
	}
	reach := w.cover.Place.RadiusKM + math.Sqrt(6)*w.smoothing // to the outermost nodes
	runs := h.TrackPartsNear(w.cover.Place.Center(), reach)
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
			part := hazard.Storm{ID: near.Storm.ID, Fixes: near.Fixes}
			for _, period := range w.season.periodsOf(near) {
				if share := trigger.StormShare(&at.cover, period, period.From, part); share.GreaterThan(best) {
					best = share
				}
			}
		}
	}
	return best
}

// closest returns the closest distance of the track parts to the place within the
// season's periods, and its time.
func (w *eventWeigher) closest(runs []hazard.TrackPart) (closest float64, closestAt time.Time) {
	closest = math.Inf(1)
	for _, run := range runs {
		if len(w.season.periodsOf(run)) == 0 {
			continue
		}
		if km, at := trigger.Approach(&w.cover, hazard.Storm{Fixes: run.Fixes}); km < closest {
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

// sortWeighedEvents sorts events in list order: newest first, then by id.
func sortWeighedEvents(events []WeighedEvent) {
	slices.SortFunc(events, func(a, b WeighedEvent) int {
		return cmp.Or(b.OccurredAt.Compare(a.OccurredAt), cmp.Compare(a.ID, b.ID))
	})
}

// roundKM rounds kilometres to two decimals.
func roundKM(km float64) *float64 {
	rounded := math.Round(km*100) / 100
	return &rounded
}
