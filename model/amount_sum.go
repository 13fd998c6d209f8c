package model

import (
	"github.com/shopspring/decimal"

	"parapet/model/money"
)

// moneyConverter converts sums of one currency to money.
type moneyConverter struct {
	currency string
	err      error
}

// toMoney converts a sum; err keeps the first sum that exceeds 64 bits.
func (a *moneyConverter) toMoney(total decimal.Decimal) money.Money {
	whole, err := (&amountSum{total}).toMinorUnits()
	if a.err == nil {
		a.err = err
	}
	return money.New(whole, a.currency)
}

// amountSum adds amounts without overflow: 64 bits hold one amount, but not always a
// sum of many.
type amountSum struct{ decimal.Decimal }

func (s *amountSum) addAmount(amount int64) { s.Decimal = s.Add(decimal.NewFromInt(amount)) }

// toMinorUnits returns the sum in minor units. Errors: parameter_invalid when it
// exceeds 64 bits (92 quadrillion units of a currency with two digits).
func (s *amountSum) toMinorUnits() (int64, error) {
	if amount := s.BigInt(); amount.IsInt64() {
		return amount.Int64(), nil
	}
	return 0, Fail(CodeParameterInvalid, "The sum is beyond 64 bits; ask for less at once, such as one product or one partner.")
}
