package pricing

import (
	"errors"
	"math/big"
	"strconv"
	"time"

	"github.com/shopspring/decimal"

	"parapet/model/hazard"
	"parapet/model/trigger"
)

// Method names the way of pricing in a quote's basis.
const Method = "burn_analysis"

// Formula is the version of the formula that Burn prices with. Version 1, the one
// of quotes without a version in their basis, neither smoothed nor weighed.
const Formula = 2

// Burn prices a cover on the shipped history and returns the price, everything
// it was computed from, and every historical event that would have paid where the
// place is, newest first. asOf stands for the start of a cover that has none yet.
//
// Cover that pays at least as much for every possible event never costs less. Every
// past event is judged by the very function that judges live ones, so what was
// priced and what is paid cannot drift apart. The moments of each event are rounded
// to twelve decimals; all figures after them are exact and rounded once.
//
// A premium beyond the largest rate on line is *Uninsurable, together with the
// price that led there; terms that the data cannot answer are *Unanswerable. Any
// other error means parameters that no product has.
func Burn(c trigger.Cover, par Parameters, h *hazard.History, asOf time.Time) (Price, Basis, []Past, error) {
	if c.Limit.Amount <= 0 {
		return Price{}, Basis{}, nil, errors.New("the limit must be positive")
	}
	if err := par.check(); err != nil {
		return Price{}, Basis{}, nil, err
	}
	start := startOf(c, asOf)
	if err := Answerable(c, h, start); err != nil {
		return Price{}, Basis{}, nil, err
	}
	s, err := seasonOf(start, c.Term)
	if err != nil {
		return Price{}, Basis{}, nil, err
	}
	run := weighed(c, par.SmoothingKM, h, s)
	run.rerun(h)
	b := run.burn()
	price, err := b.premium(par, c.Limit)
	var dear *Uninsurable
	if errors.As(err, &dear) {
		dear.Remedy, dear.Cheaper = run.remedy(par, h, start, asOf, dear), par.cheaper(&c)
	}
	return price, run.basis(b, par), run.asIf.past, err
}

func startOf(c trigger.Cover, asOf time.Time) time.Time {
	if c.StartsAt != nil {
		return *c.StartsAt
	}
	return asOf
}

// analysis is the history of the cover's peril, judged and weighed.
type analysis struct {
	data  dataset
	asIf  asIf
	weigh weighing
}

// dataset is the history that answers for one cover: of a station, its whole
// years.
type dataset struct {
	hazard.Dataset
	years int // N
}

func datasetOf(c trigger.Cover, h *hazard.History) dataset {
	switch c.Trigger.Kind {
	case hazard.Earthquake:
		return dataset{h.QuakeData(), h.QuakeData().Years()}
	case hazard.StormFix:
		return dataset{h.StormData(), h.StormData().Years()}
	case hazard.StationDay:
	}
	data := dataset{Dataset: h.RainData()}
	if station, ok := h.Station(c.Place.Station); ok && len(station.Years) > 0 {
		data.years = len(station.Years)
		data.FirstYear, data.LastYear = station.Years[0], station.Years[len(station.Years)-1]
	}
	return data
}

// rerun judges the whole history of the cover's peril where the place is. The
// cover must be Answerable.
func (a *analysis) rerun(h *hazard.History) {
	switch a.asIf.cover.Trigger.Kind {
	case hazard.Earthquake:
		a.asIf.quakes(h)
	case hazard.StormFix:
		a.asIf.storms(h)
	case hazard.StationDay:
		a.asIf.rain(&a.weigh, h)
	}
	a.asIf.past = newestFirst(a.asIf.past)
}

// weighed weighs the whole history of the cover's peril. The cover must be
// Answerable.
func weighed(c trigger.Cover, smoothing decimal.Decimal, h *hazard.History, s *season) *analysis {
	a := &analysis{data: datasetOf(c, h)}
	a.asIf = asIf{cover: c, source: a.data.Source, season: s, past: []Past{}}
	a.weigh = weighing{cover: c, season: s, smoothing: smoothing.InexactFloat64(), events: []WeighedEvent{}}
	switch c.Trigger.Kind {
	case hazard.Earthquake:
		a.weigh.quakes(h)
	case hazard.StormFix:
		a.weigh.storms(h)
	case hazard.StationDay:
		a.weigh.rain(h)
	}
	return a
}

func (a *analysis) burn() burn {
	return a.burnOf(total(a.weigh.events), a.weigh.season)
}

// burnOf is the analysis of what a season's events add up to.
func (a *analysis) burnOf(t sums, s *season) burn {
	c := &a.weigh.cover
	return analyse(t, c.Limit.Amount, a.data.years, c.Payout.LargestFactor().Rat(), a.weigh.prior(s))
}

// prior is q, the part of half an event that is added: by the area that smoothing
// makes of the place, or its width for a track, and by the part of the year.
func (w *weighing) prior(s *season) *big.Rat {
	q := s.share()
	if w.cover.Place.Kind != trigger.Circle || w.smoothing == 0 {
		return q
	}
	radius, reach := exactly(w.cover.Place.RadiusKM), exactly(w.smoothing)
	part := quo(radius, add(radius, mul(big.NewRat(cutoff, 1), reach)))
	if w.cover.Trigger.Kind == hazard.Earthquake {
		part = mul(part, part)
	}
	return mul(q, part)
}

// exactly is a number as JSON writes it.
func exactly(x float64) *big.Rat {
	exact, _ := new(big.Rat).SetString(strconv.FormatFloat(x, 'g', -1, 64)) // every finite number has such a form
	return exact
}

// basis shows the figures.
func (a *analysis) basis(b burn, par Parameters) Basis {
	c := a.asIf.cover
	return Basis{
		Method:                Method,
		Formula:               Formula,
		Dataset:               a.data.Name,
		DatasetDigest:         a.data.Digest,
		FirstYear:             a.data.FirstYear,
		LastYear:              a.data.LastYear,
		Years:                 a.data.years,
		EventsInPlace:         a.asIf.inPlace,
		PayingEvents:          len(a.asIf.past),
		WeighedEvents:         len(a.weigh.events),
		EventsWithoutDepth:    a.weigh.unknownDepth,
		SmoothingKM:           par.SmoothingKM,
		AnnualShareSum:        share(b.sums.annual),
		SquareSum:             share(b.sums.squares),
		WeightSum:             share(b.sums.paying),
		LargestFactor:         c.Payout.LargestFactor().Normalize(),
		PriorShare:            figure(b.half),
		SeasonShare:           figure(a.asIf.season.share()),
		ExpectedLoss:          figure(b.expectedLoss),
		StandardDeviation:     figure(b.deviation),
		EventRate:             figure(b.rate),
		AttachmentProbability: b.attachmentProbability(),
		ReturnPeriodYears:     b.returnPeriod(),
		UncertaintyFactor:     par.UncertaintyFactor,
		RiskFactor:            par.RiskFactor,
		ExpenseShare:          par.ExpenseShare,
		CommissionShare:       par.CommissionShare,
		MinimumPremium:        par.leastPremium(c.Limit.Currency),
		MaximumRateOnLine:     par.MaximumRateOnLine,
		Season:                a.asIf.season.public(),
		Notes:                 a.notes(),
	}
}

// notes says in sentences what the figures alone would hide.
func (a *analysis) notes() []string {
	notes := []string{"Half an event of the largest size, times prior_share, is added to the history, so that no place is free."}
	if a.weigh.unknownDepth > 0 {
		notes = append(notes, "Earthquakes without a known depth count as within the depth limit, as they do live.")
	}
	if a.asIf.season != nil {
		notes = append(notes, "The term is shorter than a year: only history within the season counts.")
	}
	return notes
}
