package pricing

import (
	"math/big"
	"testing"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"
)

// TestExpNegativeMatchesSeries compares it with the decimal library's own series.
func TestExpNegativeMatchesSeries(t *testing.T) {
	t.Parallel()
	for _, x := range []*big.Rat{
		new(big.Rat), big.NewRat(1, 104), big.NewRat(33, 104), big.NewRat(1, 1), big.NewRat(22, 7), big.NewRat(41, 2), big.NewRat(64, 1),
	} {
		want, err := decimal.NewFromBigRat(x, 60).Neg().ExpTaylor(60)
		require.NoError(t, err)
		off := new(big.Rat).Sub(expNegative(x), want.Rat())
		require.Negative(t, off.Abs(off).Cmp(big.NewRat(1, 1e18)), "e^-%s", x)
		require.Equal(t, want.StringFixed(34), decimal.NewFromBigRat(expNegative(x), 34).StringFixed(34))
	}
	require.Zero(t, expNegative(big.NewRat(1000, 1)).Sign())
}
