package pricing

import (
	"slices"
	"sync"
	"time"

	"github.com/shopspring/decimal"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
)

// rainEvent is a wet spell, month or dekad of a station's whole years.
type rainEvent struct {
	trigger.RainOccurrence
	eventID string
	next    time.Time       // the day after its last
	totalMM decimal.Decimal // of all its days
}

// rainEventCache caches the events of a station by definition, so that quotes do not
// find them again. Products have few definitions; quotes cannot add one.
var rainEventCache sync.Map // rainEventKey to []spell

type rainEventKey struct {
	history             *hazard.History
	station, definition string
}

// rainEvents returns the events of the whole years of the cover's station.
func (w *eventWeigher) rainEvents(h *hazard.History) []rainEvent {
	station, _ := h.Station(w.cover.Place.Station)
	definition := w.cover.Trigger.Definition()
	key := rainEventKey{h, station.Name, definition.String()}
	if known, ok := rainEventCache.Load(key); ok {
		return known.([]rainEvent)
	}
	all := []rainEvent{}
	for _, o := range definition.Occurrences(station.Name, station.Days) {
		if _, whole := slices.BinarySearch(station.Years, o.First.Year()); !whole {
			continue
		}
		all = append(all, rainEvent{o, o.Station + "/" + o.First.Format(time.DateOnly), o.Last.AddDate(0, 0, 1), o.Sum()})
	}
	rainEventCache.Store(key, all)
	return all
}

// mayPay reports whether the sum of all days reaches the lowest threshold: the index of
// a spell is at most that sum, the index of a month or dekad equals it.
func (s *rainEvent) mayPay(direction trigger.Direction, mildest decimal.Decimal) bool {
	if direction == trigger.AtMost {
		return s.totalMM.LessThanOrEqual(mildest)
	}
	return s.totalMM.GreaterThanOrEqual(mildest)
}

// bestDetermination returns the best determination of a spell in spans.
func (s *rainEvent) bestDetermination(c *trigger.Cover, spans []span) (best trigger.Determination) {
	o := trigger.Occurrence{Stage: trigger.Final, Rain: &s.RainOccurrence}
	for i := range spans {
		d := trigger.Evaluate(*c, spans[i].Period, spans[i].payableFrom, o)
		if d.Met && (!best.Met || d.Factor.GreaterThan(best.Factor)) {
			best = d
		}
	}
	return best
}

// isInSeason reports whether a day of the spell, or the whole month or dekad, lies in
// one of the spans after the waiting period.
func (s *rainEvent) isInSeason(spans []span) bool {
	for i := range spans {
		span := &spans[i]
		switch {
		case s.Definition.Calendar == "" && !s.Last.Before(span.first) && !s.First.After(span.last):
			return true
		case s.Definition.Calendar != "" && !s.First.Before(span.first) && !s.Last.After(span.last):
			return true
		}
	}
	return false
}

// spansOf returns the season's spans that contain events of the list.
func (w *eventWeigher) spansOf(all []rainEvent) spans {
	if len(all) == 0 {
		return spans{}
	}
	return w.season.spans(&w.cover, all[0].First, all[len(all)-1].next)
}

// weighRain weighs the spells, months or dekads of a station. Smoothing does not apply
// to a station, so each pays what it would have paid.
func (w *eventWeigher) weighRain(h *hazard.History) {
	all := w.rainEvents(h)
	spans, mildest := w.spansOf(all), w.cover.Payout.LowestThreshold()
	for i := range all {
		s := &all[i]
		own := spans.between(s.First, s.next)
		if !s.isInSeason(own) || !s.mayPay(w.cover.Trigger.Direction, mildest) {
			continue
		}
		d := s.bestDetermination(&w.cover, own)
		if event, counts := newWeighedEvent(singleMoments(d.Factor, certainProbability)); d.Met && counts {
			event.ID, event.OccurredAt, event.Year, event.spell = s.eventID, d.OccurredAt, s.First.Year(), s
			w.events, w.paid = append(w.events, event), append(w.paid, d)
		}
	}
}

func (r *historyReplay) replayRain(w *eventWeigher, h *hazard.History) {
	all := w.rainEvents(h)
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
