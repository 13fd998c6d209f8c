package pricing

import (
	"errors"
	"math/big"
	"strconv"
	"time"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/money"
)

// Method is the name of the pricing method in a quote's basis.
const Method = "burn_analysis"

// Formula is the version of the formula that Burn uses. Version 1, of quotes without a
// version in their basis, neither smoothed nor weighted events.
const Formula = 2

// Burn prices a cover on the shipped history. It returns the price, everything it was
// computed from, and every historical event that would have paid at the place, newest
// first. asOf is the start of a cover that has none yet.
//
// Cover that pays at least as much for every possible event never costs less. The
// function that evaluates live events also evaluates each past one, so prices and
// payouts cannot diverge. The moments of each event are rounded to twelve decimals; all
// later figures are exact and rounded once.
//
// A premium beyond the largest rate on line gives *UninsurableError together with the
// computed price; terms that the data cannot answer give *UnpriceableError. Any other
// error means parameters that no product has.
func Burn(c trigger.Cover, par Parameters, h *hazard.History, asOf time.Time) (Price, Basis, []PastEvent, error) {
	if c.Limit.Amount <= 0 {
		return Price{}, Basis{}, nil, errors.New("the limit must be positive")
	}
	if err := par.validate(); err != nil {
		return Price{}, Basis{}, nil, err
	}
	start := coverStart(c, asOf)
	if err := CheckPriceable(c, h, start); err != nil {
		return Price{}, Basis{}, nil, err
	}
	s, err := seasonForTerm(start, c.Term)
	if err != nil {
		return Price{}, Basis{}, nil, err
	}
	run := weighHistory(c, par.SmoothingKM, h, s)
	run.replayHistory(h)
	b := run.computeFigures()
	price, err := b.computePremium(par, c.Limit)
	var uninsurable *UninsurableError
	if errors.As(err, &uninsurable) {
		uninsurable.Remedy, uninsurable.Cheaper = run.findRemedy(par, h, start, asOf, uninsurable), par.cheaper(&c, start)
	}
	return price, run.buildBasis(b, par), run.replay.paidEvents, err
}

func coverStart(c trigger.Cover, asOf time.Time) time.Time {
	if c.StartsAt != nil {
		return *c.StartsAt
	}
	return asOf
}

// analysis is the evaluated and weighted history of the cover's peril.
type analysis struct {
	data    dataset
	replay  historyReplay
	weigher eventWeigher
}

// dataset is the history used for one cover; for a station, its whole years.
type dataset struct {
	hazard.Dataset
	years int // N
}

func (a *analysis) computeFigures() burnFigures {
	return a.burnOf(sumEvents(a.weigher.events), a.weigher.season)
}

// burnOf returns the burn figures of the sums of a season's events.
func (a *analysis) burnOf(t eventSums, s *seasonWindow) burnFigures {
	c := &a.weigher.cover
	return newBurnFigures(t, c.Limit.Amount, a.data.years, c.Payout.LargestFactor().Rat(), a.weigher.priorShare(s))
}

// priorShare returns q, the part of half an event that is added: by the size that
// smoothing adds to the place, and by the part of the year. The radius of a box is a quarter
// of its height and width together, the width where the box is widest.
func (w *eventWeigher) priorShare(s *seasonWindow) *big.Rat {
	q, size := s.yearShare(), w.cover.Place.RadiusKM
	switch {
	case w.smoothing == 0 || w.cover.Place.Kind == trigger.AtStation:
		return q
	case w.cover.Place.Kind == trigger.InBox:
		height, width := w.cover.Place.Box().SidesKM()
		size = (height + width) / 4
	}
	radius, reach := exactRat(size), exactRat(w.smoothing)
	part := quoRat(radius, addRat(radius, mulRat(big.NewRat(cutoffDeviations, 1), reach)))
	for range methodsFor(&w.cover).dimensions {
		q = mulRat(q, part)
	}
	return q
}

// exactRat returns a number as JSON writes it.
func exactRat(x float64) *big.Rat {
	exact, _ := new(big.Rat).SetString(strconv.FormatFloat(x, 'g', -1, 64)) // every finite number has such a form
	return exact
}

// buildBasis returns the figures as the basis shows them.
func (a *analysis) buildBasis(b burnFigures, par Parameters) Basis {
	basis := Basis{
		Formula:            Formula,
		Dataset:            a.data.Name,
		DatasetDigest:      a.data.Digest,
		FirstYear:          a.data.FirstYear,
		LastYear:           a.data.LastYear,
		Years:              a.data.years,
		EventsInPlace:      a.replay.eventsInPlace,
		PayingEvents:       len(a.replay.paidEvents),
		WeighedEvents:      len(a.weigher.events),
		EventsWithoutDepth: a.weigher.eventsWithoutDepth,
		SmoothingKM:        par.SmoothingKM,
		UncertaintyFactor:  par.UncertaintyFactor,
		RiskFactor:         par.RiskFactor,
		ExpenseShare:       par.ExpenseShare,
		CommissionShare:    par.CommissionShare,
		MinimumPremium:     money.New(par.MinimumPremium, ""),
		MaximumRateOnLine:  par.MaximumRateOnLine,
		Notes:              a.basisNotes(),
	}
	b.show(&basis, &a.replay.cover, a.replay.season)
	return basis
}

// basisNotes explains what the figures alone do not show.
func (a *analysis) basisNotes() []string {
	notes := []string{"Half an event of the largest size, times prior_share, is added to the history, so that no place is free."}
	if a.weigher.eventsWithoutDepth > 0 {
		notes = append(notes, "Earthquakes without a known depth count as within the depth limit, as they do live.")
	}
	if a.weigher.cover.Place.Kind == trigger.InBox && a.weigher.smoothing > 0 {
		notes = append(notes, "The tracks are displaced in place of the box, so that a larger box never costs less.")
	}
	if a.replay.season != nil {
		notes = append(notes, "The term is shorter than a year: only history within the season counts.")
	}
	return notes
}
