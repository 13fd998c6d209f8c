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
	DistanceKM  *float64        `json:"distance_km"`  // from the centre, two decimals; null at a station
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

	nodes   []node // displaced places for a track, or displaced tracks for a box
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
	near := h.QuakesNear(center, reach)
	reachOf := w.cover.QuakeReaches()
	w.events = make([]WeighedEvent, 0, len(near))
	for _, quake := range near {
		km := hazard.Distance(center, quake.Where)
		if km > reach || !w.season.contains(quake.At) {
			continue
		}
		event, counts := newWeighedEvent(w.quakeMoments(circles, reachOf(*quake), km))
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
