package pricing

import (
	"slices"
	"sync"
	"time"

	"github.com/shopspring/decimal"

	"parapet/model/hazard"
	"parapet/model/trigger"
)

// spell is a wet spell, month or dekad of a station's whole years.
type spell struct {
	trigger.RainOccurrence
	sum decimal.Decimal // of all its days
}

// spells keeps what happened at a station by each definition, so that every quote
// does not find it again. Products have few definitions; quotes cannot make one.
var spells sync.Map // spellKey to []spell

type spellKey struct {
	history             *hazard.History
	station, definition string
}

// occurrences are those of the whole years of the cover's station.
func (w *weighing) occurrences(h *hazard.History) []spell {
	station, _ := h.Station(w.cover.Place.Station)
	definition := w.cover.Trigger.Definition()
	key := spellKey{h, station.Name, definition.String()}
	if known, ok := spells.Load(key); ok {
		return known.([]spell)
	}
	all := []spell{}
	for _, o := range definition.Occurrences(station.Name, station.Days) {
		if _, whole := slices.BinarySearch(station.Years, o.First.Year()); !whole {
			continue
		}
		s := spell{RainOccurrence: o}
		for _, day := range o.Days {
			s.sum = s.sum.Add(day.PrecipitationMM)
		}
		all = append(all, s)
	}
	spells.Store(key, all)
	return all
}

// mayPaySpell tells whether the sum of all days reaches the mildest threshold: the
// index of a spell is at most that sum, the index of a month or dekad is that sum.
func mayPaySpell(c trigger.Cover, s *spell) bool {
	mildest := c.Payout.LowestThreshold()
	if c.Trigger.Direction == trigger.AtMost {
		return s.sum.LessThanOrEqual(mildest)
	}
	return s.sum.GreaterThanOrEqual(mildest)
}

// judge is the best determination of a spell over the season's periods. A cover of
// a season waits as a live one does; a whole year's cover has all of history.
func (s *spell) judge(c trigger.Cover, season *season) (best trigger.Determination) {
	o := trigger.Occurrence{Stage: trigger.Final, Rain: &s.RainOccurrence}
	for _, period := range season.periods(s.First, s.Last.AddDate(0, 0, 1)) {
		d := trigger.Evaluate(c, period, payableFrom(c, season, period), o)
		if d.Met && (!best.Met || d.Factor.GreaterThan(best.Factor)) {
			best = d
		}
	}
	return best
}

func payableFrom(c trigger.Cover, s *season, p trigger.Period) time.Time {
	if s == nil {
		return p.From
	}
	return c.PayableFrom(p.From)
}

// counts tells whether a day of the spell, or the whole month or dekad, lies in the
// season behind the waiting period.
func (s *spell) counts(c trigger.Cover, season *season) bool {
	for _, period := range season.periods(s.First, s.Last.AddDate(0, 0, 1)) {
		from, last := midnight(payableFrom(c, season, period)), midnight(period.To).AddDate(0, 0, -1)
		switch {
		case s.Definition.Calendar == "" && !s.Last.Before(from) && !s.First.After(last):
			return true
		case s.Definition.Calendar != "" && !s.First.Before(from) && !s.Last.After(last):
			return true
		}
	}
	return false
}

func (s *spell) id() string { return s.Station + "/" + s.First.Format(time.DateOnly) }

// judgedPeriods are the determinations of months and dekads for a cover of always.
// They count as a whole or not at all, so those of a season are the same.
type judgedPeriods map[*spell]trigger.Determination

func (w *weighing) judge(s *spell) trigger.Determination {
	if s.Definition.Calendar == "" {
		return s.judge(w.cover, w.season)
	}
	if !s.counts(w.cover, w.season) {
		return trigger.Determination{}
	}
	d, known := w.judged[s]
	if !known {
		d = s.judge(w.cover, nil)
		w.judged[s] = d
	}
	return d
}

// rain weighs the spells, months or dekads of a station. Nothing displaces a
// station, so each pays what it would have paid.
func (w *weighing) rain(h *hazard.History) {
	all := w.occurrences(h)
	for i := range all {
		s := &all[i]
		if !mayPaySpell(w.cover, s) {
			continue
		}
		d := w.judge(s)
		if event, counts := newWeighed(single(d.Factor, certainty)); d.Met && counts {
			event.ID, event.OccurredAt, event.Year = s.id(), d.OccurredAt, s.First.Year()
			w.events = append(w.events, event)
		}
	}
}

func (r *asIf) rain(w *weighing, h *hazard.History) {
	all := w.occurrences(h)
	for i := range all {
		s := &all[i]
		if s.counts(r.cover, r.season) {
			r.inPlace++
		}
		if mayPaySpell(r.cover, s) {
			r.keep(trigger.Occurrence{Source: r.source, SourceEventID: s.id()}, w.judge(s))
		}
	}
}
