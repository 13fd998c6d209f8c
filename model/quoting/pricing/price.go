package pricing

import (
	"cmp"
	"errors"
	"math/big"

	"github.com/shopspring/decimal"

	"parapet/model/money"
)

// errPremiumOverflow is returned when a premium does not fit 64 bits of minor units.
var errPremiumOverflow = errors.New("the premium does not fit 64 bits of minor units")

// validate refuses loadings for which no premium exists.
func (par Parameters) validate() error {
	switch {
	case par.UncertaintyFactor.IsNegative(), par.RiskFactor.IsNegative(),
		par.ExpenseShare.IsNegative(), par.CommissionShare.IsNegative(), par.MinimumPremium < 0, par.SmoothingKM.IsNegative():
		return errors.New("price factors, shares, the minimum premium and the smoothing must not be negative")
	case !par.sumShares().LessThan(decimal.NewFromInt(1)):
		return errors.New("expense and commission shares must stay below 1 together")
	case !par.MaximumRateOnLine.IsPositive():
		return errors.New("the maximum rate on line must be positive")
	}
	return nil
}

func (par Parameters) sumShares() decimal.Decimal { return par.ExpenseShare.Add(par.CommissionShare) }

// computePremium loads the expected loss and returns the lines. Each line is rounded
// half up separately; commission, the last one, gets the remainder, so that the lines
// sum to the premium exactly.
//
// Premium = (expected loss + loads) / (1 − expense − commission): shares that are
// fractions of the premium itself (Werner and Modlin, "Basic Ratemaking", chapter 8,
// the fundamental insurance equation).
func (b burnFigures) computePremium(par Parameters, limit money.Money) (Price, error) {
	uncertainty, risk := b.uncertaintyLoad(par.UncertaintyFactor), b.riskLoad(par.RiskFactor)
	technical := addRat(b.expectedLoss, addRat(uncertainty, risk))
	exact := quoRat(technical, decimal.NewFromInt(1).Sub(par.sumShares()).Rat())
	total, ok := money.RoundHalfUp(exact)
	if !ok {
		return Price{}, errPremiumOverflow
	}
	price := Price{}
	rest := total
	for _, line := range []struct {
		kind  LineKind
		exact *big.Rat
	}{
		{ExpectedLoss, b.expectedLoss},
		{UncertaintyLoad, uncertainty},
		{RiskLoad, risk},
		{Expense, mulRat(exact, par.ExpenseShare.Rat())},
	} {
		amount, _ := money.RoundHalfUp(line.exact) // each is at most the total, which fits
		price.addLine(line.kind, amount, limit.Currency)
		rest -= amount
	}
	price.addLine(Commission, rest, limit.Currency)
	if missing := par.MinimumPremium - total; missing > 0 {
		price.addLine(MinimumPremium, missing, limit.Currency)
		total = par.MinimumPremium
	}
	price.Premium = money.New(total, limit.Currency)
	return price, price.checkRateOnLine(par, limit)
}

func (p *Price) addLine(kind LineKind, amount int64, currency string) {
	p.Lines = append(p.Lines, Line{Kind: kind, Amount: money.New(amount, currency)})
}

// checkRateOnLine sets the rate on line and compares it, unrounded, with the product's
// largest one.
func (p *Price) checkRateOnLine(par Parameters, limit money.Money) error {
	rate := quoRat(new(big.Rat).SetInt64(p.Premium.Amount), new(big.Rat).SetInt64(limit.Amount))
	p.RateOnLine = displayDecimal(rate)
	if rate.Cmp(par.MaximumRateOnLine.Rat()) > 0 {
		return &UninsurableError{Premium: p.Premium, RateOnLine: p.RateOnLine, Maximum: par.MaximumRateOnLine}
	}
	return nil
}

func (par Parameters) shortestTerm() string { return cmp.Or(par.ShortestTerm, "P1D") }
