package trigger

import (
	"math/big"
	"math/bits"

	"github.com/shopspring/decimal"

	"parapet/model/money"
)

// exactShare is an exact share of the limit, 0 to 1: a decimal, as terms name it, or a
// fraction, where a linear shape divided. A price judges dozens of events, and to
// make a fraction of every decimal was most of what that cost.
type exactShare struct {
	decimal  decimal.Decimal
	fraction *big.Rat // nil: it is the decimal
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

// isShortDecimal tells whether the share is a decimal of at most shown decimals. As it is at
// most 1, its digits and the power of ten that they are divided by fit 64 bits.
func (s exactShare) isShortDecimal() bool {
	return s.fraction == nil && s.decimal.Exponent() <= 0 && s.decimal.Exponent() >= -factorDecimals
}

// factorDecimals is the number of decimals of a factor.
const factorDecimals = 18

// displayFactor is the share for display: at most 18 decimals, no trailing zeros.
func (s exactShare) displayFactor() decimal.Decimal {
	if s.isShortDecimal() {
		return s.decimal.Normalize()
	}
	return decimal.NewFromBigRat(s.toRat(), factorDecimals).Normalize()
}

// amountOf is limit × share in minor units. The exact share is used and the only
// rounding is here, half up, so that a third of 100.00 pays 33.33 and three thirds
// 100.00.
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
