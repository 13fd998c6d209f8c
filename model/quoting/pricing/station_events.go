package pricing

import (
	"slices"
	"sync"
	"time"

	"github.com/shopspring/decimal"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
)

// stationEvent is an occurrence of a station's whole years.
type stationEvent struct {
	trigger.StationOccurrence
	eventID string
	next    time.Time       // the day after its last
	largest decimal.Decimal // bound of its index
}

// stationHistory is the history of a station as a definition divides it.
type stationHistory struct {
	years  []int // whole ones, ascending
	events []stationEvent
}

// stationHistories caches them by station and definition, so that quotes do not find them
// again. Products have few definitions; quotes cannot add one.
var stationHistories sync.Map // stationKey to *stationHistory

// stationKey names the data set by its digest, so that histories that share it share the
// cache; data without a digest is named by its history.
type stationKey struct {
	data                any
	station, definition string
}

// loadStation returns the history of the cover's station, empty for an unknown one.
func loadStation(c *trigger.Cover, h *hazard.History) *stationHistory {
	station, ok := h.Station(c.Place.Station)
	if !ok {
		return &stationHistory{}
	}
	definition := c.Trigger.Definition()
	key := stationKey{h, station.Name, definition.String()}
	if digest := h.RainData().Digest; digest != "" {
		key.data = digest
	}
	if known, ok := stationHistories.Load(key); ok {
		return known.(*stationHistory) //nolint:forcetypeassert // the only type that is stored
	}
	loaded := &stationHistory{years: station.WholeYears(trigger.IsMeasured(definition))}
	for _, o := range definition.Occurrences(station.Name, station.Days) {
		if _, whole := slices.BinarySearch(loaded.years, o.First.Year()); whole {
			loaded.events = append(loaded.events, stationEvent{o, o.Station + "/" + o.First.Format(time.DateOnly), o.Last.AddDate(0, 0, 1), definition.LargestIndex(o, len(o.Days))})
		}
	}
	stationHistories.Store(key, loaded)
	return loaded
}

// mayPay reports whether the bound of the index reaches the lowest threshold.
func (s *stationEvent) mayPay(direction trigger.Direction, mildest decimal.Decimal) bool {
	if direction == trigger.AtMost {
		return s.largest.LessThanOrEqual(mildest)
	}
	return s.largest.GreaterThanOrEqual(mildest)
}

// paidIn returns the determinations of an event in spans, if it pays there. An event that
// has days at the end of one span and at the beginning of the next pays in both: a live
// cover meets the season or spell at its beginning and another one at its end.
func (s *stationEvent) paidIn(c *trigger.Cover, spans []span) (paid []trigger.Determination) {
	o := trigger.Occurrence{Stage: trigger.Final, AtStation: &s.StationOccurrence}
	for i := range spans {
		if d := trigger.Evaluate(*c, spans[i].Period, spans[i].payableFrom, o); d.Met {
			paid = append(paid, d)
		}
	}
	return paid
}

// isInSeason reports whether a day of the event, or a whole month or dekad, lies in one of
// the spans after the waiting period.
func (s *stationEvent) isInSeason(spans []span) bool {
	for i := range spans {
		span := &spans[i]
		switch {
		case s.Definition.Calendar() == "" && !s.Last.Before(span.first) && !s.First.After(span.last):
			return true
		case s.Definition.Calendar() != "" && !s.First.Before(span.first) && !s.Last.After(span.last):
			return true
		}
	}
	return false
}

// spansOf returns the season's spans that contain events of the list.
func (w *eventWeigher) spansOf(all []stationEvent) spans {
	if len(all) == 0 {
		return spans{}
	}
	return w.season.spans(&w.cover, all[0].First, all[len(all)-1].next)
}

// weighStation weighs the occurrences of a station. Smoothing does not apply
// to a station, so each pays what it would have paid.
func (w *eventWeigher) weighStation(h *hazard.History) {
	all := loadStation(&w.cover, h).events
	spans, mildest := w.spansOf(all), w.cover.Payout.LowestThreshold()
	for i := range all {
		s := &all[i]
		own := spans.between(s.First, s.next)
		if !s.isInSeason(own) || !s.mayPay(w.cover.Trigger.Direction, mildest) {
			continue
		}
		for _, d := range s.paidIn(&w.cover, own) {
			if event, counts := newWeighedEvent(singleMoments(d.Factor, certainProbability)); counts {
				event.ID, event.OccurredAt, event.Year, event.spell = s.eventID, d.OccurredAt, s.First.Year(), s
				w.events, w.paid = append(w.events, event), append(w.paid, d)
			}
		}
	}
}

func (r *historyReplay) replayStation(w *eventWeigher, h *hazard.History) {
	all := loadStation(&w.cover, h).events
	spans := w.spansOf(all)
	for i := range all {
		if s := &all[i]; s.isInSeason(spans.between(s.First, s.next)) {
			r.eventsInPlace++
		}
	}
	for i, d := range w.paid {
		r.addIfPaid(trigger.Occurrence{Source: r.source, SourceEventID: w.events[i].ID}, d)
	}
}
