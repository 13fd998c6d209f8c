package pricing

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/shopspring/decimal"
)

// Moments of a payout share are counted in units of 10⁻¹² and rounded half up before
// they are summed. Their sums are exact in 64 bits: a history has fewer than nine
// million events.
const (
	momentDecimals = 12
	unitsPerShare  = 1_000_000_000_000
)

// probabilityDecimals is the number of decimals of a probability.
const probabilityDecimals = 15

// probability is in units of 10⁻¹⁵.
type probability int64

const certainProbability probability = 1_000_000_000_000_000

func newProbability(p float64) probability {
	return probability(math.Round(math.Max(0, math.Min(1, p)) * float64(certainProbability)))
}

// moments are the means of f and f² and the share with f > 0, of one event.
type moments struct{ mean, square, paying int64 }

// singleMoments returns the moments of an event that pays share with a probability and
// nothing otherwise.
func singleMoments(share decimal.Decimal, p probability) moments {
	m := moments{paying: toUnits(1, 0, p)}
	if digits, places, ok := smallDecimal(share); ok {
		m.mean, m.square = toUnits(digits, places, p), toUnits(digits*digits, 2*places, p)
		return m
	}
	f, chance := share.Rat(), big.NewRat(int64(p), int64(certainProbability))
	m.mean, m.square = roundUnits(mulRat(f, chance)), roundUnits(mulRat(mulRat(f, f), chance))
	return m
}

// smallPlaces is the maximum number of decimals of a share for integer arithmetic.
const smallPlaces = 7

// smallDecimal returns the digits and decimals of a share with at most seven decimals.
func smallDecimal(share decimal.Decimal) (digits uint64, places int, ok bool) {
	exponent := share.Exponent()
	if exponent > 0 || exponent < -smallPlaces {
		return 0, 0, false
	}
	return uint64(share.CoefficientInt64()), int(-exponent), true //nolint:gosec // a share is not below 0
}

// toUnits returns digits·10^(−places)·p in units of 10⁻¹², rounded half up, in 128
// bits.
func toUnits(digits uint64, places int, p probability) int64 {
	divisor := uint64(1)
	for range places + probabilityDecimals - momentDecimals {
		divisor *= 10
	}
	high, low := bits.Mul64(digits, uint64(p)) //nolint:gosec // a probability is not below 0
	low, carry := bits.Add64(low, divisor/2, 0)
	rounded, _ := bits.Div64(high+carry, low, divisor)
	return int64(rounded) //nolint:gosec // at most 10¹²
}

// roundUnits returns a share in units of 10⁻¹², rounded half up.
func roundUnits(share *big.Rat) int64 {
	n := new(big.Int).Mul(share.Num(), big.NewInt(2*unitsPerShare))
	n.Add(n, share.Denom())
	return n.Div(n, new(big.Int).Lsh(share.Denom(), 1)).Int64()
}

// weightedMoments returns the moments of shares with whole weights.
func weightedMoments(shares []decimal.Decimal, weights []int64) moments {
	if m, ok := smallWeighted(shares, weights); ok {
		return m
	}
	mean, square, paying, whole := new(big.Rat), new(big.Rat), int64(0), int64(0)
	for i, share := range shares {
		whole += weights[i]
		if !share.IsPositive() {
			continue
		}
		f, weight := share.Rat(), big.NewRat(weights[i], 1)
		mean.Add(mean, mulRat(f, weight))
		square.Add(square, mulRat(mulRat(f, f), weight))
		paying += weights[i]
	}
	all := big.NewRat(whole, 1)
	return moments{roundUnits(quoRat(mean, all)), roundUnits(quoRat(square, all)), roundUnits(big.NewRat(paying, whole))}
}

// smallWeights bounds the sum of weights for which all sums fit 64 bits.
const smallWeights = 1000

// smallWeighted is weightedMoments in integers, for shares with at most seven decimals
// and weights like those of a track's nodes; false for others.
func smallWeighted(shares []decimal.Decimal, weights []int64) (moments, bool) {
	var mean, square, paying, whole uint64
	for i, share := range shares {
		digits, places, ok := smallDecimal(share)
		weight := uint64(weights[i]) //nolint:gosec // a weight is not below 0
		if whole += weight; !ok || whole > smallWeights {
			return moments{}, false
		}
		for ; places < smallPlaces; places++ {
			digits *= 10
		}
		mean, square = mean+digits*weight, square+digits*digits*weight
		if digits > 0 {
			paying += weight
		}
	}
	rounded := func(of, by uint64) int64 { return int64((2*of + by) / (2 * by)) } //nolint:gosec // at most 10¹²
	return moments{rounded(mean*100_000, whole), rounded(square, 100*whole), rounded(paying*unitsPerShare, whole)}, true
}

// unitsToDecimal converts units of 10⁻¹² to a decimal.
func unitsToDecimal(units int64) decimal.Decimal {
	return decimal.New(units, -momentDecimals).Normalize()
}
