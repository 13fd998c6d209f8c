package money_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"parapet/model/money"
)

func TestRoundHalfUp(t *testing.T) {
	t.Parallel()
	for exact, want := range map[string]int64{
		"0": 0, "0.4999": 0, "0.5": 1, "1.5": 2, "2.5": 3, "2.49": 2, "-0.5": 0, "-0.51": -1, "-1.5": -1, "-2.5": -2,
		"9223372036854775807": math.MaxInt64, "9223372036854775808": math.MaxInt64, "-9223372036854775809": math.MinInt64,
	} {
		require.Equal(t, want, money.Round(decimal.RequireFromString(exact)), exact)
	}
	_, fits := money.RoundHalfUp(new(big.Rat).SetFrac64(math.MaxInt64, 1).Add(big.NewRat(math.MaxInt64, 1), big.NewRat(1, 2)))
	require.False(t, fits)
	third, fits := money.RoundHalfUp(big.NewRat(200, 3))
	require.True(t, fits)
	require.Equal(t, int64(67), third)
}

func TestRoundingIsTheNearestWholeNumber(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		exact := big.NewRat(rapid.Int64Range(-1e15, 1e15).Draw(t, "numerator"), rapid.Int64Range(1, 1e6).Draw(t, "denominator"))
		whole, fits := money.RoundHalfUp(exact)
		require.True(t, fits)
		off := new(big.Rat).Sub(new(big.Rat).SetInt64(whole), exact)
		require.LessOrEqual(t, off.Cmp(big.NewRat(1, 2)), 0, "at most half above")
		require.Positive(t, off.Cmp(big.NewRat(-1, 2)), "less than half below")
	})
}

func TestMoneyStringUsesMajorUnits(t *testing.T) {
	t.Parallel()
	for want, amount := range map[string]money.Money{
		"1,250.00 USD":                   money.New(125_000, "USD"),
		"0.07 EUR":                       money.New(7, "EUR"),
		"-1,234,567.89 USD":              money.New(-123_456_789, "USD"),
		"15,000,000 JPY":                 money.New(15_000_000, "JPY"),
		"30,000.000 KWD":                 money.New(30_000_000, "KWD"),
		"92,233,720,368,547,758.07 USD":  money.New(math.MaxInt64, "USD"),
		"-92,233,720,368,547,758.08 USD": money.New(math.MinInt64, "USD"),
	} {
		require.Equal(t, want, amount.String())
	}
}

func TestCurrencies(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"USD", "JPY", "KWD", "TWD"} {
		require.True(t, money.IsCurrency(code))
	}
	for _, code := range []string{"", "usd", "XXY", "US"} {
		require.False(t, money.IsCurrency(code))
	}
	require.Equal(t, []int32{2, 0, 3}, []int32{money.Digits("USD"), money.Digits("JPY"), money.Digits("KWD")})
}

func TestDecimalsKeepTrailingZeros(t *testing.T) {
	t.Parallel()
	require.Equal(t, "6.0", decimal.RequireFromString("6.0").String())
}
