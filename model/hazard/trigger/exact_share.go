package trigger

import (
	"math/big"
	"math/bits"

	"github.com/shopspring/decimal"

	"parapet/model/money"
)

// exactShare is an exact share of the limit, 0 to 1: a decimal, as terms have it, or a
// fraction after the division of a linear shape. Pricing evaluates dozens of events,
// and converting every decimal to a fraction took most of the time.
type exactShare struct {
	decimal  decimal.Decimal
	fraction *big.Rat // nil: the decimal applies
}

var decimalOne = decimal.New(1, 0)

func (s exactShare) signOf() int {
	if s.fraction != nil {
		return s.fraction.Sign()
	}
	return s.decimal.Sign()
}

func (s exactShare) toRat() *big.Rat {
	if s.fraction != nil {
		return s.fraction
	}
	return s.decimal.Rat()
}

func (s exactShare) compareTo(with exactShare) int {
	if s.fraction == nil && with.fraction == nil {
		return s.decimal.Cmp(with.decimal)
	}
	return s.toRat().Cmp(with.toRat())
}

// isShortDecimal reports whether the share is a decimal of at most shown decimals. It
// is at most 1, so its digits and the power of ten that divides them fit 64 bits.
func (s exactShare) isShortDecimal() bool {
	return s.fraction == nil && s.decimal.Exponent() <= 0 && s.decimal.Exponent() >= -factorDecimals
}

// factorDecimals is the number of decimals of a factor.
const factorDecimals = 18

// displayFactor returns the share for display: at most 18 decimals, no trailing zeros.
func (s exactShare) displayFactor() decimal.Decimal {
	if s.isShortDecimal() {
		return s.decimal.Normalize()
	}
	return decimal.NewFromBigRat(s.toRat(), factorDecimals).Normalize()
}

// amountOf returns limit × share in minor units. It uses the exact share and rounds
// once, half up, so that a third of 100.00 pays 33.33 and three thirds 100.00.
func (s exactShare) amountOf(limit money.Money) int64 {
	if !s.isShortDecimal() || limit.Amount < 0 {
		exact := new(big.Rat).Mul(new(big.Rat).SetInt64(limit.Amount), s.toRat())
		minor, _ := money.RoundHalfUp(exact) // a share of at most 1 of what fits 64 bits fits
		return minor
	}
	power := uint64(1)
	for range -s.decimal.Exponent() {
		power *= 10
	}
	// The same in 128 bits: (limit × digits + power/2) / power.
	high, low := bits.Mul64(uint64(limit.Amount), uint64(s.decimal.CoefficientInt64())) //nolint:gosec // neither is below 0
	low, carry := bits.Add64(low, power/2, 0)
	minor, _ := bits.Div64(high+carry, low, power)
	return int64(minor) //nolint:gosec // at most the limit
}
