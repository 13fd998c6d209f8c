package pricing

import (
	"cmp"
	"slices"
	"time"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/money"
)

// historyReplay is the history as the cover would have experienced it at its place.
type historyReplay struct {
	cover         trigger.Cover
	source        string
	season        *seasonWindow
	eventsInPlace int         // events of the season that touched the place
	paidEvents    []PastEvent // events that would have paid, newest first
}

// sortPastEvents sorts events newest first, then by id. Most of the input is oldest
// first.
func sortPastEvents(past []PastEvent) []PastEvent {
	slices.Reverse(past)
	slices.SortFunc(past, func(a, b PastEvent) int {
		return cmp.Or(b.OccurredAt.Compare(a.OccurredAt), cmp.Compare(a.SourceEventID, b.SourceEventID))
	})
	return past
}

func (r *historyReplay) replayQuakes(h *hazard.History) {
	for _, quake := range h.QuakesNear(r.cover.Place.Center(), r.cover.Place.RadiusKM) {
		r.replayOccurrence(trigger.Occurrence{SourceEventID: quake.EventID, Quake: quake}, quake.At, quake.At)
	}
}

func (r *historyReplay) replayStorms(h *hazard.History) {
	place, _ := trigger.Footprint(r.cover.Place)
	near := h.StormsNear(place)
	first := stormData(&r.cover, h).FirstYear
	for i := range near {
		storm := &near[i]
		if storm.Fixes[0].At.Year() < first {
			continue
		}
		r.replayOccurrence(trigger.Occurrence{SourceEventID: storm.ID, Storm: storm}, storm.Fixes[0].At, storm.Fixes[len(storm.Fixes)-1].At)
	}
}

// replayOccurrence counts the occurrence, which lasted from first to last, if it
// touched the place in the season, and adds it if it would have paid.
func (r *historyReplay) replayOccurrence(o trigger.Occurrence, first, last time.Time) {
	var d trigger.Determination
	o.Source, o.Stage = r.source, trigger.Final
	touched := false
	for _, period := range r.season.periodsBetween(first, last) {
		next := trigger.Evaluate(r.cover, period, period.From, o)
		if !next.Met && next.Reason != trigger.ThresholdNotMet {
			continue
		}
		touched = true
		if next.Met && (!d.Met || next.Factor.GreaterThan(d.Factor)) {
			d = next
		}
	}
	if touched {
		r.eventsInPlace++
	}
	r.addIfPaid(o, d)
}

func (r *historyReplay) addIfPaid(o trigger.Occurrence, d trigger.Determination) {
	if !d.Met || !d.Factor.IsPositive() {
		return
	}
	r.paidEvents = append(r.paidEvents, PastEvent{
		OccurredAt:    d.OccurredAt,
		Source:        o.Source,
		SourceEventID: o.SourceEventID,
		Index:         hazard.Measure{Value: d.Index.String(), Unit: r.cover.Trigger.Unit},
		DistanceKM:    d.DistanceKM,
		Factor:        d.Factor,
		Payout:        money.New(d.Amount, r.cover.Limit.Currency),
	})
}
