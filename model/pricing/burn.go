package pricing

import (
	"errors"
	"math/big"
	"time"

	"parapet/model/hazard"
	"parapet/model/trigger"
)

// Method names the way of pricing in a quote's basis.
const Method = "burn_analysis"

// Burn prices a cover on the shipped history and returns the price, everything
// it was computed from, and every historical event that would have paid, newest
// first. asOf stands for the start of a cover that has none yet.
//
// Every past event is judged by the very function that judges live ones, so
// what was priced and what is paid cannot drift apart. Payouts of the past are
// rounded to minor units as live ones are; all figures after them are exact and
// rounded once.
//
// A premium beyond the largest rate on line is *Uninsurable, together with the
// price that led there. Any other error means terms that the data cannot answer.
func Burn(c trigger.Cover, par Parameters, h *hazard.History, asOf time.Time) (Price, Basis, []Past, error) {
	if c.Limit.Amount <= 0 {
		return Price{}, Basis{}, nil, errors.New("the limit must be positive")
	}
	if err := par.check(); err != nil {
		return Price{}, Basis{}, nil, err
	}
	start := asOf
	if c.StartsAt != nil {
		start = *c.StartsAt
	}
	s, err := seasonOf(start, c.Term)
	if err != nil {
		return Price{}, Basis{}, nil, err
	}
	run, err := rerun(c, h, s)
	if err != nil {
		return Price{}, Basis{}, nil, err
	}
	b := analyse(run.past, c.Limit.Amount, run.data.Years(), prior(c))
	price, err := b.premium(par, c.Limit)
	return price, b.basis(c, par, run), run.past, err
}

// prior is the severity to assume where nothing ever paid: the least the shape
// can pay, and half the limit for a linear one, which has no least.
func prior(c trigger.Cover) *big.Rat {
	limit := new(big.Rat).SetInt64(c.Limit.Amount)
	factor, linear := c.Payout.LowestFactor()
	if linear {
		return mul(limit, big.NewRat(1, 2))
	}
	return mul(limit, factor.Rat())
}

// basis shows the figures.
func (b burn) basis(c trigger.Cover, par Parameters, run asIf) Basis {
	return Basis{
		Method:                Method,
		Dataset:               run.data.Name,
		FirstYear:             run.data.FirstYear,
		LastYear:              run.data.LastYear,
		Years:                 run.data.Years(),
		EventsInPlace:         run.inPlace,
		PayingEvents:          len(run.past),
		MeanSeverity:          figure(b.severity),
		AnnualLossSum:         figure(b.lossSum),
		AnnualLossSquareSum:   figure(b.lossSquares),
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
		Season:                run.season.public(),
		Notes:                 run.notes(c),
	}
}

// notes says in sentences what the figures alone would hide.
func (r asIf) notes(c trigger.Cover) []string {
	notes := []string{"Half an event of mean severity is added to the history, so that no place is free."}
	if c.Trigger.MaximumDepthKM != nil && !r.data.HasDepth {
		notes = append(notes, "The price data records no depth: the depth limit of the trigger is ignored in the price.")
	}
	if r.season != nil {
		notes = append(notes, "The term is shorter than a year: only history within the season counts.")
	}
	return notes
}
