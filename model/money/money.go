package money

import (
	"math"
	"math/big"
	"strings"

	"github.com/bojanz/currency"
	"github.com/shopspring/decimal"
)

// Decimals keep the digits they were given: a magnitude of "6.0" stays "6.0" in every
// response. The library requires this to be set once, before any use.
func init() { decimal.TrimTrailingZeros = false } //nolint:gochecknoinits // the library's documented switch

// Money is an amount of one currency. Amount counts minor units: cents for
// USD, yen for JPY (0 digits), fils for KWD (3 digits).
type Money struct {
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
}

// ObjectForm describes money in JSON, for use after "Give" or "must be".
const ObjectForm = `an object of minor units and a currency: {"amount": 1250, "currency": "USD"} for 12.50 USD`

// New returns an amount of minor units.
func New(amount int64, currency string) Money { return Money{Amount: amount, Currency: currency} }

// IsCurrency reports whether code is an ISO 4217 currency code.
func IsCurrency(code string) bool { return code != "" && currency.IsValid(code) }

// Digits returns the number of minor digits of a currency: 2 for USD, 0 for JPY, 3 for
// KWD. An unknown code has 2.
func Digits(code string) int32 {
	digits, ok := currency.GetDigits(code)
	if !ok {
		return 2
	}
	return int32(digits)
}

// RoundHalfUp rounds an exact quantity of minor units to whole ones, halves upward
// (toward +∞). It returns false if the result exceeds 64 bits.
func RoundHalfUp(minor *big.Rat) (int64, bool) {
	twice := new(big.Int).Mul(minor.Num(), big.NewInt(2))
	twice.Add(twice, minor.Denom())
	q := new(big.Int)
	q.Div(twice, new(big.Int).Mul(minor.Denom(), big.NewInt(2))) // Euclidean, so floor
	return q.Int64(), q.IsInt64()
}

// Round is RoundHalfUp for a decimal quantity. It saturates at the 64-bit bounds, which
// accepted limits never approach.
func Round(minor decimal.Decimal) int64 {
	amount, ok := RoundHalfUp(minor.Rat())
	switch {
	case ok:
		return amount
	case minor.IsNegative():
		return math.MinInt64
	default:
		return math.MaxInt64
	}
}

// Decimal returns the amount in minor units as a decimal.
func (m Money) Decimal() decimal.Decimal { return decimal.NewFromInt(m.Amount) }

// String returns the amount in major units with its currency: "1,250.00 USD".
func (m Money) String() string {
	digits := Digits(m.Currency)
	text := decimal.New(m.Amount, -digits).StringFixed(digits)
	sign := ""
	if strings.HasPrefix(text, "-") {
		sign, text = "-", text[1:]
	}
	whole, fraction, _ := strings.Cut(text, ".")
	var grouped strings.Builder
	for i, r := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			grouped.WriteByte(',')
		}
		grouped.WriteRune(r)
	}
	if fraction != "" {
		fraction = "." + fraction
	}
	return sign + grouped.String() + fraction + " " + m.Currency
}
