package pricing

import (
	"math"
	"time"

	"parapet/model/hazard/trigger"
)

// pool is the weighed history of a cover for all time, from which the sums of different
// seasons are computed.
type pool struct {
	*analysis

	events []pooled
	years  []int64 // buffer for the share of each year
}

// pooled is an event with its time in microseconds.
type pooled struct {
	*WeighedEvent

	first, until         int64 // bounds of every paying moment; until is excluded
	firstYear, untilYear int
	year                 int // year of the loss, relative to the first year with a loss
}

func newPool(a *analysis) *pool {
	p := &pool{analysis: a, events: make([]pooled, len(a.weigher.events))}
	earliest, latest := math.MaxInt, math.MinInt
	for i := range a.weigher.events {
		year := a.weigher.events[i].Year
		earliest, latest = min(earliest, year), max(latest, year)
	}
	for i := range a.weigher.events {
		e := &a.weigher.events[i]
		first, until := e.lasted()
		p.events[i] = pooled{e, first.UnixMicro(), until.UnixMicro(), first.Year(), until.Year(), e.Year - earliest}
	}
	if len(p.events) > 0 {
		p.years = make([]int64, latest-earliest+1)
	}
	return p
}

// lasted returns the time bounds of every paying moment of the event.
func (e *WeighedEvent) lasted() (first, until time.Time) {
	switch {
	case e.spell != nil:
		return e.spell.First, e.spell.next
	case e.runs != nil:
		fixes := e.runs[len(e.runs)-1].Fixes
		return e.runs[0].Fixes[0].At, fixes[len(fixes)-1].At.Add(time.Microsecond)
	default:
		return e.OccurredAt, e.OccurredAt.Add(time.Microsecond)
	}
}

// sumsIn returns the sums of the events of a season. Events wholly inside a period pay
// in full, events outside pay nothing, and the few across an end are evaluated again.
func (p *pool) sumsIn(s *seasonWindow) (t eventSums) {
	w := &p.weigher
	within := w.intervals(s, p.data.FirstYear, p.data.LastYear+1) // a season that begins in the last year ends in the next
	clear(p.years)
	for i := range p.events {
		e := &p.events[i]
		m := e.moments
		switch within.of(e) {
		case outside:
			continue
		case across:
			m = w.again(e.WeighedEvent, s)
		case inside:
		}
		p.years[e.year] += m.mean
		t.squares += m.square
		t.paying += m.paying
	}
	for _, year := range p.years {
		t.annual += min(year, unitsPerShare)
	}
	return t
}

// again returns the moments of an event across an end of a season.
func (w *eventWeigher) again(e *WeighedEvent, s *seasonWindow) moments {
	if e.runs != nil {
		part := eventWeigher{cover: w.cover, season: s, nodes: w.nodes, weights: w.weights}
		event, _ := part.weighStorm(e.runs)
		return event.moments
	}
	if e.spell == nil || e.spell.Definition.Calendar() != "" {
		return moments{}
	}
	var sum moments
	for _, d := range e.spell.paidIn(&w.cover, s.spans(&w.cover, e.spell.First, e.spell.next).all) {
		m := singleMoments(d.Factor, certainProbability)
		sum = moments{sum.mean + m.mean, sum.square + m.square, sum.paying + m.paying}
	}
	return sum
}

// position is the position of an event relative to a season.
type position int

const (
	outside position = iota
	across           // partly inside, or in the waiting period
	inside
)

// intervals are the periods of a season in microseconds, one per year, from a first
// year on.
type intervals struct {
	year, over int
	all        []interval
}

type interval struct{ from, payableFrom, to int64 }

func (w *eventWeigher) intervals(s *seasonWindow, firstYear, lastYear int) intervals {
	n := intervals{firstYear - s.newYearsCrossed, s.newYearsCrossed, make([]interval, 0, lastYear-firstYear+2)}
	wait := s.waiting(&w.cover)
	for year := n.year; year <= lastYear; year++ {
		p := s.periodOf(year)
		from := p.From.UnixMicro()
		payable := from
		if w.cover.Place.Kind == trigger.AtStation {
			payable = wait.After(p.From).UnixMicro()
		}
		n.all = append(n.all, interval{from, payable, p.To.UnixMicro()})
	}
	return n
}

func (n *intervals) of(e *pooled) position {
	touches := outside
	from, to := max(0, e.firstYear-n.over-n.year), min(len(n.all), e.untilYear-n.year+1)
	for i := from; i < to; i++ {
		switch span := n.all[i]; {
		case span.payableFrom <= e.first && e.until <= span.to:
			return inside
		case span.from < e.until && e.first < span.to:
			touches = across
		}
	}
	return touches
}
