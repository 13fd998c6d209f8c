package pricing

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"parapet/model/hazard"
	"parapet/model/trigger"
)

// WeighedEvent is one past event as it counts in a price. The displacement of the
// place makes its payout share f random; without smoothing f is certain.
type WeighedEvent struct {
	ID          string          `json:"id"`
	OccurredAt  time.Time       `json:"occurred_at"`
	Year        int             `json:"year"`         // of history, in whose loss the event counts
	DistanceKM  *float64        `json:"distance_km"`  // from the centre of the circle, two decimals; null at a station
	Weight      decimal.Decimal `json:"weight"`       // a, the probability that f is above 0
	Share       decimal.Decimal `json:"share"`        // p, the mean of f
	ShareSquare decimal.Decimal `json:"share_square"` // the mean of f²

	moments moments
}

// weighing smooths the history of a cover's peril in space: each past event is
// spread over the places where it might as well have been, by a normal kernel
// (A. Frankel, "Mapping Seismic Hazard in the Central and Eastern United States",
// Seismological Research Letters 66(4), 1995).
type weighing struct {
	cover        trigger.Cover
	season       *season
	smoothing    float64 // c in kilometres; 0 displaces nothing
	events       []WeighedEvent
	unknownDepth int // earthquakes that count as within the depth limit
	judged       judgedPeriods
}

// cutoff is the distance beyond the place's own edge at which events stop to
// count, in standard deviations.
const cutoff = 3

// newWeighed is an event that counts; false when it pays nothing anywhere.
func newWeighed(m moments) (WeighedEvent, bool) { return WeighedEvent{moments: m}, m != moments{} }

// show writes the moments as decimals, which a price has no need of.
func (e *WeighedEvent) show() {
	e.Weight, e.Share, e.ShareSquare = share(e.moments.paying), share(e.moments.mean), share(e.moments.square)
}

func (w *weighing) quakes(h *hazard.History) {
	center, edge := w.cover.Place.Center(), w.cover.Place.RadiusKM
	reach := edge + cutoff*w.smoothing
	circles := make(map[float64]*rice)
	for _, quake := range h.QuakesNear(center, reach) {
		km := hazard.Distance(center, quake.Where)
		if km > reach || !w.season.contains(quake.At) {
			continue
		}
		event, counts := newWeighed(w.quakeMoments(circles, w.cover.QuakeReach(*quake), km))
		if !counts {
			continue
		}
		if quake.DepthKM == nil && w.cover.Trigger.MaximumDepthKM != nil {
			w.unknownDepth++
		}
		event.ID, event.OccurredAt, event.Year, event.DistanceKM = quake.EventID, quake.At, quake.At.Year(), shown(km)
		w.events = append(w.events, event)
	}
}

// quakeMoments are those of an earthquake at a distance, exactly: the share of a
// ring counts with the probability that the displaced ring holds the epicentre.
func (w *weighing) quakeMoments(circles map[float64]*rice, reach []trigger.Reach, km float64) moments {
	chance := func(radius float64) probability {
		switch {
		case w.smoothing == 0 && km <= radius:
			return certainty
		case w.smoothing == 0:
			return 0
		case circles[radius] == nil:
			circles[radius] = newRice(radius, w.smoothing)
		}
		return newProbability(circles[radius].within(km))
	}
	switch len(reach) {
	case 0:
		return moments{}
	case 1:
		return single(reach[0].Share, chance(reach[0].RadiusKM))
	}
	shares, chances := make([]decimal.Decimal, 0, len(reach)), make([]int64, 0, len(reach)+1)
	inner := probability(0)
	for _, ring := range reach { // what lies between a ring and the next one inside it
		within := max(inner, chance(ring.RadiusKM))
		shares, chances = append(shares, ring.Share), append(chances, int64(within-inner))
		inner = within
	}
	return weighted(append(shares, decimal.Zero), append(chances, int64(certainty-inner)))
}

// The displacements of a track: the nodes 0 and ±√3·c east and north of the
// Gauss–Hermite quadrature with three points, and its weights 2/3 and 1/6 as
// whole numbers (Abramowitz and Stegun, "Handbook of Mathematical Functions",
// table 25.10).
func (w *weighing) centers() (centers []hazard.Point, weights []int64) {
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

// storms judges each storm at every displaced place. The box of fixes holds all
// displaced circles.
func (w *weighing) storms(h *hazard.History) {
	centers, weights := w.centers()
	reach := w.cover.Place.RadiusKM + math.Sqrt(6)*w.smoothing // to the corners of the nodes
	runs := h.RunsNear(w.cover.Place.Center(), reach)
	for len(runs) > 0 {
		own := 1
		for own < len(runs) && runs[own].Storm == runs[0].Storm {
			own++
		}
		if event, counts := w.storm(runs[:own], centers, weights); counts {
			w.events = append(w.events, event)
		}
		runs = runs[own:]
	}
}

func (w *weighing) storm(runs []hazard.Run, centers []hazard.Point, weights []int64) (WeighedEvent, bool) {
	strong := w.strong(runs)
	if len(strong) == 0 {
		return WeighedEvent{}, false
	}
	shares, pays := make([]decimal.Decimal, len(centers)), false
	for i, center := range centers {
		shares[i], _, _ = w.shareAt(center, strong)
		pays = pays || shares[i].IsPositive()
	}
	if !pays {
		return WeighedEvent{}, false
	}
	event, counts := newWeighed(weighted(shares, weights))
	storm := runs[0].Storm
	_, closest, closestAt := w.shareAt(w.cover.Place.Center(), runs)
	event.ID, event.OccurredAt, event.DistanceKM = storm.ID, closestAt, shown(closest)
	event.Year = storm.Fixes[0].At.Year()
	return event, counts
}

// shareAt is the best share of a storm's runs for the cover around another centre,
// and how close and when they came closest to it in the season.
func (w *weighing) shareAt(center hazard.Point, runs []hazard.Run) (best decimal.Decimal, closest float64, closestAt time.Time) {
	cover := w.cover
	cover.Place.Latitude, cover.Place.Longitude = center.Latitude, center.Longitude
	closest = math.Inf(1)
	for _, run := range runs {
		part := hazard.Storm{ID: run.Storm.ID, Fixes: run.Fixes}
		for _, period := range w.season.periods(run.Fixes[0].At, run.Fixes[len(run.Fixes)-1].At) {
			share, km, at := trigger.ShareOf(cover, period, period.From, part)
			if share.GreaterThan(best) {
				best = share
			}
			if km < closest {
				closest, closestAt = km, at
			}
		}
	}
	return best, closest, closestAt
}

// strong cuts the parts of runs of which an end reaches the mildest threshold. No
// wind between two ends is above the larger one, so nothing else can pay.
func (w *weighing) strong(runs []hazard.Run) (parts []hazard.Run) {
	if w.cover.Trigger.Direction == trigger.AtMost {
		return runs
	}
	least := w.cover.Payout.LowestThreshold()
	reaches := func(fix hazard.Fix) bool { return fix.WindKN != nil && fix.WindKN.GreaterThanOrEqual(least) }
	for _, run := range runs {
		from := -1 // of the open part
		for i := range run.Fixes {
			enough := reaches(run.Fixes[i]) || i+1 < len(run.Fixes) && reaches(run.Fixes[i+1]) || i > 0 && reaches(run.Fixes[i-1])
			switch {
			case enough && from < 0:
				from = i
			case !enough && from >= 0:
				parts, from = append(parts, hazard.Run{Storm: run.Storm, Fixes: run.Fixes[from:i]}), -1
			}
		}
		if from >= 0 {
			parts = append(parts, hazard.Run{Storm: run.Storm, Fixes: run.Fixes[from:]})
		}
	}
	return parts
}

// newest puts the events in the order of lists: newest first, then by id.
func newest(events []WeighedEvent) {
	slices.SortFunc(events, func(a, b WeighedEvent) int {
		return cmp.Or(b.OccurredAt.Compare(a.OccurredAt), cmp.Compare(a.ID, b.ID))
	})
}

// shown rounds kilometres to two decimals.
func shown(km float64) *float64 {
	rounded := math.Round(km*100) / 100
	return &rounded
}
