package pricing

import (
	"math/big"

	"github.com/shopspring/decimal"
)

// displayDecimals is the number of decimals shown of a figure. Lines are computed from
// the exact figures; with twelve decimals of a minor unit the shown figures give the
// same amounts.
const displayDecimals = 12

// rootScale makes square roots exact to 40 decimals, far below what changes a cent.
var rootScale = new(big.Int).Exp(big.NewInt(10), big.NewInt(40), nil)

// eventSums are the sums over the weighed events, in units of 10⁻¹².
type eventSums struct{ annual, squares, paying int64 }

// tally adds up events: the share of each year is at most the whole limit.
type tally struct {
	years           map[int]int64
	squares, paying int64
}

func newTally() tally { return tally{years: make(map[int]int64)} }

func (t *tally) add(year int, m moments) {
	t.years[year] += m.mean
	t.squares += m.square
	t.paying += m.paying
}

func (t *tally) sums() eventSums {
	all := eventSums{squares: t.squares, paying: t.paying}
	for _, year := range t.years {
		all.annual += min(year, unitsPerShare)
	}
	return all
}

func sumEvents(events []WeighedEvent) eventSums {
	t := newTally()
	for i := range events {
		t.add(events[i].Year, events[i].moments)
	}
	return t.sums()
}

// burnFigures holds the figures of a burn analysis as exact fractions; amounts are in
// minor units.
type burnFigures struct {
	years         *big.Rat // N
	sums          eventSums
	largestFactor *big.Rat // F
	priorShare    *big.Rat // q: half of it is the added event
	expectedLoss  *big.Rat
	variance      *big.Rat // s²
	deviation     *big.Rat // s
	eventRate     *big.Rat // λ
}

// newBurnFigures computes the figures of a cover with a limit from the sums over a
// number of years.
//
// Burn analysis: the past is re-run as if the cover had been in force each year (Swiss
// Re, "Mathematical methods of pricing", experience rating; Parodi, "Pricing in General
// Insurance", 2nd ed., chapter on experience rating).
//
// Half an event of the largest size is added, scaled by q: Jeffreys' prior for the rate
// of a Poisson process has the posterior mean (n + ½) / N, so a place without past
// events is not free, and neither is a rung that no event has reached (Jeffreys, "An
// invariant form for the prior probability", 1946).
//
// The variance is that of a compound Poisson year, λ·E[f²]. Unlike the sample's
// variance it grows with every payout, so cover that pays more never has the lower
// load.
func newBurnFigures(t eventSums, limit int64, years int, largest, q *big.Rat) burnFigures {
	b := burnFigures{years: big.NewRat(int64(years), 1), sums: t, largestFactor: largest, priorShare: q}
	whole, added := new(big.Rat).SetInt64(limit), mulRat(q, big.NewRat(1, 2))
	b.expectedLoss = mulRat(whole, quoRat(addRat(unitsToRat(t.annual), mulRat(added, largest)), b.years))
	b.variance = mulRat(mulRat(whole, whole), quoRat(addRat(unitsToRat(t.squares), mulRat(added, mulRat(largest, largest))), b.years))
	b.deviation = sqrtRat(b.variance)
	b.eventRate = quoRat(addRat(unitsToRat(t.paying), added), b.years)
	return b
}

// unitsToRat converts a count of units of 10⁻¹² to a fraction.
func unitsToRat(units int64) *big.Rat { return big.NewRat(units, unitsPerShare) }

// uncertaintyLoad returns k·s/√N: k standard errors of the mean of N years. It is
// computed as √(s²/N), so that only one root is rounded.
func (b burnFigures) uncertaintyLoad(k decimal.Decimal) *big.Rat {
	return mulRat(k.Rat(), sqrtRat(quoRat(b.variance, b.years)))
}

// riskLoad returns r·s, the standard deviation principle of premium calculation
// (Bühlmann, "Mathematical Methods in Risk Theory", 1970, chapter 4).
func (b burnFigures) riskLoad(r decimal.Decimal) *big.Rat { return mulRat(r.Rat(), b.deviation) }

// attachmentProbability returns 1 − e^(−λ), the probability that a Poisson process of
// rate λ has at least one event in a year.
func (b burnFigures) attachmentProbability() decimal.Decimal {
	return displayDecimal(new(big.Rat).Sub(big.NewRat(1, 1), expNegative(b.eventRate)))
}

// certainRate is a rate above which the shown decimals cannot distinguish an event in a
// year from certainty: e^(−64) < 10^(−27).
var certainRate = big.NewRat(64, 1)

// expNegative returns e^(−x) for x ≥ 0, to 10^(−35): 1 / Σ x^n/n!, whose terms all have
// one sign, in binary fixed point.
func expNegative(x *big.Rat) *big.Rat {
	if x.Cmp(certainRate) > 0 {
		return new(big.Rat)
	}
	const bits = 128
	one := new(big.Int).Lsh(big.NewInt(1), bits)
	term, sum := new(big.Int).Set(one), new(big.Int).Set(one)
	divisor := new(big.Int)
	for n := int64(1); term.Sign() > 0; n++ {
		term.Mul(term, x.Num()).Quo(term, divisor.Mul(x.Denom(), divisor.SetInt64(n)))
		sum.Add(sum, term)
	}
	return new(big.Rat).SetFrac(one, sum)
}

// returnPeriod returns 1/λ in years.
func (b burnFigures) returnPeriod() decimal.Decimal {
	return displayDecimal(new(big.Rat).Inv(b.eventRate))
}

// sqrtRat returns the square root of a fraction ≥ 0, exact if it is a fraction and
// otherwise truncated after 40 decimals: √(p/q) = √(p·q)/q.
func sqrtRat(x *big.Rat) *big.Rat {
	p := new(big.Int).Mul(x.Num(), x.Denom())
	p.Mul(p, rootScale).Mul(p, rootScale).Sqrt(p)
	return new(big.Rat).SetFrac(p, new(big.Int).Mul(x.Denom(), rootScale))
}

// displayDecimal returns a fraction as the shown decimal.
func displayDecimal(x *big.Rat) decimal.Decimal {
	return decimal.NewFromBigRat(x, displayDecimals).Normalize()
}

func addRat(a, b *big.Rat) *big.Rat { return new(big.Rat).Add(a, b) }
func mulRat(a, b *big.Rat) *big.Rat { return new(big.Rat).Mul(a, b) }
func quoRat(a, b *big.Rat) *big.Rat { return new(big.Rat).Quo(a, b) }
