package pricing

import (
	"cmp"
	"errors"
	"math/big"

	"github.com/shopspring/decimal"

	"parapet/model/money"
)

// errAmount is returned when a premium does not fit 64 bits of minor units.
var errAmount = errors.New("the premium does not fit 64 bits of minor units")

// check refuses loadings that no premium can carry.
func (par Parameters) check() error {
	switch {
	case par.UncertaintyFactor.IsNegative(), par.RiskFactor.IsNegative(),
		par.ExpenseShare.IsNegative(), par.CommissionShare.IsNegative(), par.MinimumPremium < 0, par.SmoothingKM.IsNegative():
		return errors.New("price factors, shares, the minimum premium and the smoothing must not be negative")
	case !par.shares().LessThan(decimal.NewFromInt(1)):
		return errors.New("expense and commission shares must stay below 1 together")
	case !par.MaximumRateOnLine.IsPositive():
		return errors.New("the maximum rate on line must be positive")
	}
	return nil
}

func (par Parameters) shares() decimal.Decimal { return par.ExpenseShare.Add(par.CommissionShare) }

// premium loads the expected loss and writes the lines. Every line is rounded
// half up by itself; commission, the last, takes the remainder, so that the
// lines sum to the premium to the cent.
//
// Premium = (expected loss + loads) / (1 − expense − commission): shares that
// are fractions of the premium itself (Werner and Modlin, "Basic Ratemaking",
// chapter 8, the fundamental insurance equation).
func (b burn) premium(par Parameters, limit money.Money) (Price, error) {
	uncertainty, risk := b.uncertaintyLoad(par.UncertaintyFactor), b.riskLoad(par.RiskFactor)
	technical := add(b.expectedLoss, add(uncertainty, risk))
	exact := quo(technical, decimal.NewFromInt(1).Sub(par.shares()).Rat())
	total, ok := money.HalfUp(exact)
	if !ok {
		return Price{}, errAmount
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
		{Expense, mul(exact, par.ExpenseShare.Rat())},
	} {
		amount, _ := money.HalfUp(line.exact) // each is at most the total, which fits
		price.add(line.kind, amount, limit.Currency)
		rest -= amount
	}
	price.add(Commission, rest, limit.Currency)
	if missing := par.MinimumPremium - total; missing > 0 {
		price.add(MinimumPremium, missing, limit.Currency)
		total = par.MinimumPremium
	}
	price.Premium = money.New(total, limit.Currency)
	return price, price.insurable(par, limit)
}

func (p *Price) add(kind LineKind, amount int64, currency string) {
	p.Lines = append(p.Lines, Line{Kind: kind, Amount: money.New(amount, currency)})
}

// insurable sets the rate on line and compares it, unrounded, with the largest
// one the product is sold at.
func (p *Price) insurable(par Parameters, limit money.Money) error {
	rate := quo(new(big.Rat).SetInt64(p.Premium.Amount), new(big.Rat).SetInt64(limit.Amount))
	p.RateOnLine = figure(rate)
	if rate.Cmp(par.MaximumRateOnLine.Rat()) > 0 {
		return &Uninsurable{Premium: p.Premium, RateOnLine: p.RateOnLine, Maximum: par.MaximumRateOnLine}
	}
	return nil
}

func (par Parameters) shortestTerm() string { return cmp.Or(par.ShortestTerm, "P1D") }

func (par Parameters) leastPremium(currency string) money.Money {
	return money.New(par.MinimumPremium, currency)
}
