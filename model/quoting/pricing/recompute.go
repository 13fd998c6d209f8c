package pricing

import (
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/money"
)

// Recompute computes the price of a cover again from the sums, counts and parameters of
// its basis, without the history. It returns the price and the basis with every figure
// that follows from these. asOf is when the quote was priced. It errors for a basis of
// another formula and for one that no cover has.
func Recompute(c trigger.Cover, b Basis, asOf time.Time) (Price, Basis, error) {
	s, err := seasonForTerm(coverStart(c, asOf), c.Term)
	switch {
	case err != nil:
		return Price{}, Basis{}, err
	case b.Formula != Formula:
		return Price{}, Basis{}, fmt.Errorf("the price has formula %d; this is formula %d", b.Formula, Formula)
	case b.Years < 1 || c.Limit.Amount < 1 || methodsFor(&c) == nil:
		return Price{}, Basis{}, fmt.Errorf("no cover has a limit of %d and %d years of history", c.Limit.Amount, b.Years)
	}
	par := b.parameters()
	if err := par.validate(); err != nil {
		return Price{}, Basis{}, err
	}
	sums := eventSums{annual: decimalToUnits(b.AnnualShareSum), squares: decimalToUnits(b.SquareSum), paying: decimalToUnits(b.WeightSum)}
	w := eventWeigher{cover: c, season: s, smoothing: par.SmoothingKM.InexactFloat64()}
	figures := newBurnFigures(sums, c.Limit.Amount, b.Years, c.Payout.LargestFactor().Rat(), w.priorShare(s))
	price, err := figures.computePremium(par, c.Limit)
	if err != nil {
		return Price{}, Basis{}, err
	}
	figures.show(&b, &c, s)
	return price, b, nil
}

// Reprice computes the price of a cover again from the history. Errors: *OtherBasis if the
// history is another edition of the data or the formula another one.
func Reprice(c trigger.Cover, b Basis, h *hazard.History, asOf time.Time) (Price, Basis, []PastEvent, error) {
	methods := methodsFor(&c)
	if methods == nil {
		return Price{}, Basis{}, nil, fmt.Errorf("no cover insures against %q", c.Trigger.Kind)
	}
	if priced, known := (BasisVersion{b.Formula, b.DatasetDigest}), (BasisVersion{Formula, methods.dataset(&c, h).Digest}); priced != known {
		return Price{}, Basis{}, nil, &OtherBasis{Priced: priced, Shipped: known}
	}
	return Burn(c, b.parameters(), h, asOf)
}

// parameters returns the price parameters of the product as the basis shows them.
func (b *Basis) parameters() Parameters {
	return Parameters{
		UncertaintyFactor: b.UncertaintyFactor, RiskFactor: b.RiskFactor, ExpenseShare: b.ExpenseShare, CommissionShare: b.CommissionShare,
		MinimumPremium: b.MinimumPremium.Amount, MaximumRateOnLine: b.MaximumRateOnLine, SmoothingKM: b.SmoothingKM,
	}
}

// show writes the figures into a basis.
func (b burnFigures) show(to *Basis, c *trigger.Cover, s *seasonWindow) {
	to.AnnualShareSum, to.SquareSum, to.WeightSum = unitsToDecimal(b.sums.annual), unitsToDecimal(b.sums.squares), unitsToDecimal(b.sums.paying)
	to.LargestFactor, to.PriorShare, to.SeasonShare = c.Payout.LargestFactor().Normalize(), displayDecimal(b.priorShare), displayDecimal(s.yearShare())
	to.ExpectedLoss, to.StandardDeviation, to.EventRate = displayDecimal(b.expectedLoss), displayDecimal(b.deviation), displayDecimal(b.eventRate)
	to.AttachmentProbability, to.ReturnPeriodYears = b.attachmentProbability(), b.returnPeriod()
	to.MinimumPremium = money.New(to.MinimumPremium.Amount, c.Limit.Currency)
	to.Method, to.Season = Method, s.toBasis()
}

// decimalToUnits converts a sum of the basis to units of 10⁻¹².
func decimalToUnits(sum decimal.Decimal) int64 { return sum.Shift(displayDecimals).IntPart() }
