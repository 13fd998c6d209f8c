package store

import (
	"github.com/shopspring/decimal"

	"parapet/model/kernel/apperr"
	"parapet/model/money"
)

// MoneyConverter converts sums of one currency to money.
type MoneyConverter struct {
	Currency string
	Err      error
}

// ToMoney converts a sum; err keeps the first sum that exceeds 64 bits.
func (a *MoneyConverter) ToMoney(total decimal.Decimal) money.Money {
	whole, err := (&AmountSum{total}).ToMinorUnits()
	if a.Err == nil {
		a.Err = err
	}
	return money.New(whole, a.Currency)
}

// AmountSum adds amounts without overflow: 64 bits hold one amount, but not always a
// sum of many.
type AmountSum struct{ decimal.Decimal }

// AddAmount adds an amount in minor units.
func (s *AmountSum) AddAmount(amount int64) { s.Decimal = s.Add(decimal.NewFromInt(amount)) }

// ToMinorUnits returns the sum in minor units. Errors: parameter_invalid when it
// exceeds 64 bits (92 quadrillion units of a currency with two digits).
func (s *AmountSum) ToMinorUnits() (int64, error) {
	if amount := s.BigInt(); amount.IsInt64() {
		return amount.Int64(), nil
	}
	return 0, apperr.Fail(apperr.CodeParameterInvalid, "The sum is beyond 64 bits; ask for less at once, such as one product or one partner.")
}
