package sums

import (
	"github.com/shopspring/decimal"

	"parapet/model/kernel/apperr"
	"parapet/model/money"
)

// Converter converts sums of one currency to money.
type Converter struct {
	Currency string
	Err      error
}

// ToMoney converts a sum; err keeps the first sum that exceeds 64 bits.
func (a *Converter) ToMoney(total decimal.Decimal) money.Money {
	whole, err := (&Amount{total}).ToMinorUnits()
	if a.Err == nil {
		a.Err = err
	}
	return money.New(whole, a.Currency)
}

// Amount adds amounts without overflow: 64 bits hold one amount, but not always a
// sum of many.
type Amount struct{ decimal.Decimal }

// AddAmount adds an amount in minor units.
func (s *Amount) AddAmount(amount int64) { s.Decimal = s.Add(decimal.NewFromInt(amount)) }

// ToMinorUnits returns the sum in minor units. Errors: parameter_invalid when it
// exceeds 64 bits (92 quadrillion units of a currency with two digits).
func (s *Amount) ToMinorUnits() (int64, error) {
	if amount := s.BigInt(); amount.IsInt64() {
		return amount.Int64(), nil
	}
	return 0, apperr.Fail(apperr.CodeParameterInvalid, "The sum is beyond 64 bits; ask for less at once, such as one product or one partner.")
}
