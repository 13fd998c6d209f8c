package pricing

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"parapet/model/hazard"
	"parapet/model/money"
	"parapet/model/trigger"
)

// asIf is the history as the cover would have seen it.
type asIf struct {
	cover   trigger.Cover
	data    hazard.Dataset
	season  *season
	inPlace int    // events of the season that touched the place
	past    []Past // those that would have paid, newest first
}

// rerun judges the whole history of the cover's peril.
func rerun(c trigger.Cover, h *hazard.History, s *season) (asIf, error) {
	r := asIf{cover: c, season: s, past: []Past{}}
	var err error
	switch c.Trigger.Kind {
	case hazard.Earthquake:
		r.data = h.QuakeData()
		err = r.quakes(h)
	case hazard.StormFix:
		r.data = h.StormData()
		r.storms(h)
	case hazard.StationDay:
		r.data = h.RainData()
		err = r.rain(h)
	default:
		err = fmt.Errorf("there is no price data for %q", c.Trigger.Kind)
	}
	r.past = newestFirst(r.past)
	return r, err
}

// newestFirst orders what happened by time; of one moment, the order stays.
func newestFirst(past []Past) []Past {
	order := make([]int, len(past))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(past[b].OccurredAt.Compare(past[a].OccurredAt), cmp.Compare(a, b))
	})
	sorted := make([]Past, len(past))
	for i, place := range order {
		sorted[i] = past[place]
	}
	return sorted
}

func (r *asIf) quakes(h *hazard.History) error {
	if lowest := r.cover.Payout.LowestThreshold(); lowest.LessThan(r.data.MinimumMagnitude) {
		return fmt.Errorf("the threshold %s is below %s, the least magnitude the price data records", lowest, r.data.MinimumMagnitude)
	}
	whole := history(r.data)
	for _, quake := range h.QuakesNear(r.cover.Place.Center(), r.cover.Place.RadiusKM) {
		r.judge(whole, trigger.Occurrence{SourceEventID: quake.EventID, Quake: quake})
	}
	return nil
}

func (r *asIf) storms(h *hazard.History) {
	whole := history(r.data)
	for _, storm := range h.StormsNear(r.cover.Place.Center(), r.cover.Place.RadiusKM) {
		r.judge(whole, trigger.Occurrence{SourceEventID: storm.ID, Storm: storm})
	}
}

func (r *asIf) rain(h *hazard.History) error {
	station, ok := h.Station(r.cover.Place.Station)
	if !ok {
		return fmt.Errorf("the price data has no station %q", r.cover.Place.Station)
	}
	occurrences := r.cover.Trigger.Definition().Occurrences(station.Name, station.Days)
	for _, period := range r.season.covers(r.data) {
		for i := range occurrences {
			if o := &occurrences[i]; !o.Last.Before(period.From) && o.First.Before(period.To) {
				r.judge(period, trigger.Occurrence{SourceEventID: station.Name + "/" + o.First.Format(time.DateOnly), Rain: o})
			}
		}
	}
	return nil
}

// judge counts the occurrence when it touched the place in the season, and
// keeps it when it would have paid.
func (r *asIf) judge(period trigger.Period, o trigger.Occurrence) {
	o.Source, o.Stage = r.data.Source, trigger.Final
	d := trigger.Evaluate(r.cover, period, period.From, o)
	touched := d.Met || d.Reason == trigger.ThresholdNotMet
	if !touched || !r.season.contains(d.OccurredAt) {
		return
	}
	r.inPlace++
	if !d.Met || !d.Factor.IsPositive() {
		return
	}
	year := d.OccurredAt.Year()
	if o.Rain != nil { // a spell belongs to the year of its first day
		year = o.Rain.First.Year()
	}
	r.past = append(r.past, Past{
		year: year, OccurredAt: d.OccurredAt,
		Source:        o.Source,
		SourceEventID: o.SourceEventID,
		Index:         hazard.Measure{Value: d.Index.String(), Unit: r.cover.Trigger.Unit},
		DistanceKM:    d.DistanceKM,
		Factor:        d.Factor,
		Payout:        money.New(d.Amount, r.cover.Limit.Currency),
	})
}
