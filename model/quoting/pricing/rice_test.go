package pricing

import (
	"math"
	"math/big"
	"testing"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"
)

// riceBySeries computes the textbook series with 300 binary digits and no optimisation:
// Σ_k e^(−λ) λ^k/k! · (1 − e^(−x) Σ_{j≤k} x^j/j!).
func riceBySeries(distance, radius, deviation float64) float64 {
	number := func(x float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(x) }
	square := func(x float64) *big.Float {
		s := new(big.Float).Mul(number(x), number(x))
		return s.Quo(s, new(big.Float).Mul(number(2*deviation), number(deviation)))
	}
	λ, x := square(distance), square(radius)
	toTheMinus := func(v *big.Float) *big.Float { // 1 / Σ v^n/n!
		term, sum := number(1), number(1)
		for n := 1; n < 2000; n++ {
			term.Quo(term.Mul(term, v), number(float64(n)))
			sum.Add(sum, term)
		}
		return sum.Quo(number(1), sum)
	}
	weight, inner, outer := toTheMinus(λ), toTheMinus(x), new(big.Float).SetPrec(300)
	term := number(0).Set(inner)
	probability := number(0)
	for k := 1; k < 1000; k++ {
		outer.Add(outer, term)
		rest := new(big.Float).Sub(number(1), outer)
		probability.Add(probability, rest.Mul(rest, weight))
		term.Quo(term.Mul(term, x), number(float64(k)))
		weight.Quo(weight.Mul(weight, λ), number(float64(k)))
	}
	p, _ := probability.Float64()
	return p
}

func TestRiceProbabilityMatchesSeries(t *testing.T) {
	t.Parallel()
	for _, deviation := range []float64{10, 40, 50} {
		for _, radius := range []float64{5, 25, 50, 120, 300} {
			circle := newRiceDistribution(radius, deviation)
			for share := 0.0; share <= 1; share += 0.25 {
				distance := share * (radius + cutoffDeviations*deviation)
				require.InDelta(t, riceBySeries(distance, radius, deviation), circle.probabilityAt(distance), 1e-15, "%g of %g km, c = %g km", distance, radius, deviation)
			}
		}
	}
	circle := newRiceDistribution(50, 50)
	require.InDelta(t, 1-math.Exp(-0.5), circle.probabilityAt(0), 1e-15, "at the centre: Rayleigh")
	require.InDelta(t, 1, newRiceDistribution(20000, 1).probabilityAt(100), 1e-15, "terms of large means do not vanish")
	require.InDelta(t, 0, newRiceDistribution(1, 1).probabilityAt(20000), 1e-15)
}

func TestRiceProbabilityGrowsWithRadiusAndFallsWithDistance(t *testing.T) {
	t.Parallel()
	for distance := 0.0; distance < 250; distance += 5 {
		before := probability(0)
		for radius := 5.0; radius <= 300; radius++ {
			circle := newRiceDistribution(radius, 50)
			now := newProbability(circle.probabilityAt(distance))
			require.GreaterOrEqual(t, now, before)
			require.LessOrEqual(t, newProbability(circle.probabilityAt(distance+1)), now)
			before = now
		}
	}
}

// TestMomentsAreRoundedHalfUp compares the 128-bit arithmetic with fractions.
func TestMomentsAreRoundedHalfUp(t *testing.T) {
	t.Parallel()
	chances := []probability{0, 1, 499, 500, 501, 1500, 123_456_789_012_345, 999_999_999_999_499, 999_999_999_999_500, certainProbability}
	for _, factor := range []string{"0.01", "0.2", "0.333", "0.7777", "1", "0.1234567", "0.12345678", "0.333333333333333333"} {
		f := decimal.RequireFromString(factor)
		for _, chance := range chances {
			p := big.NewRat(int64(chance), int64(certainProbability))
			want := moments{roundUnits(mulRat(f.Rat(), p)), roundUnits(mulRat(mulRat(f.Rat(), f.Rat()), p)), roundUnits(p)}
			require.Equal(t, want, singleMoments(f, chance), "%s with %d", factor, chance)
		}
	}
	require.Equal(t, int64(1), roundUnits(big.NewRat(1, 2*unitsPerShare)), "half a unit is a unit")
	require.Equal(t, int64(0), roundUnits(new(big.Rat).Sub(big.NewRat(1, 2*unitsPerShare), big.NewRat(1, unitsPerShare*1000))))
	nodes := []decimal.Decimal{decimal.RequireFromString("1"), decimal.RequireFromString("0.5"), {}}
	require.Equal(t, moments{444_444_444_444, 333_333_333_333, 666_666_666_667}, weightedMoments(nodes, []int64{2, 4, 3}))
}
