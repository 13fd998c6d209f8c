package pricing

import (
	"math/big"

	"github.com/shopspring/decimal"
)

// displayed is the number of decimals a figure is shown with. Lines are computed
// from the exact figures; at twelve decimals of a minor unit the shown ones lead
// to the same amounts.
const displayed = 12

// rootScale makes root exact to 40 decimals, far below what moves a cent.
var rootScale = new(big.Int).Exp(big.NewInt(10), big.NewInt(40), nil)

// sums are what the weighed events add up to, in units of 10⁻¹².
type sums struct{ annual, squares, paying int64 }

// tally adds events up: the share of each year is at most the whole limit.
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

func (t *tally) sums() sums {
	all := sums{squares: t.squares, paying: t.paying}
	for _, year := range t.years {
		all.annual += min(year, oneShare)
	}
	return all
}

func total(events []WeighedEvent) sums {
	t := newTally()
	for i := range events {
		t.add(events[i].Year, events[i].moments)
	}
	return t.sums()
}

// burn holds the figures of a burn analysis as exact fractions; amounts are in
// minor units.
type burn struct {
	years        *big.Rat // N
	sums         sums
	largest      *big.Rat // F
	half         *big.Rat // q: half of it is the event that is added
	expectedLoss *big.Rat
	variance     *big.Rat // s²
	deviation    *big.Rat // s
	rate         *big.Rat // λ
}

// analyse computes the figures of a cover with a limit from the sums over so many
// years.
//
// Burn analysis: the past is re-run as if the cover had been in force each year
// (Swiss Re, "Mathematical methods of pricing", experience rating; Parodi,
// "Pricing in General Insurance", 2nd ed., chapter on experience rating).
//
// Half an event of the largest size is added, scaled by q: Jeffreys' prior for
// the rate of a Poisson process has the posterior mean (n + ½) / N, so a place
// where nothing happened yet is not free, and neither is a rung that nothing
// reached yet (Jeffreys, "An invariant form for the prior probability", 1946).
//
// The variance is that of a compound Poisson year, λ·E[f²]. It grows with every
// payout, which the sample's variance does not: cover that pays more never has
// the lower load.
func analyse(t sums, limit int64, years int, largest, q *big.Rat) burn {
	b := burn{years: big.NewRat(int64(years), 1), sums: t, largest: largest, half: q}
	whole, added := new(big.Rat).SetInt64(limit), mul(q, big.NewRat(1, 2))
	b.expectedLoss = mul(whole, quo(add(exact(t.annual), mul(added, largest)), b.years))
	b.variance = mul(mul(whole, whole), quo(add(exact(t.squares), mul(added, mul(largest, largest))), b.years))
	b.deviation = root(b.variance)
	b.rate = quo(add(exact(t.paying), added), b.years)
	return b
}

// exact is a count of units of 10⁻¹² as a fraction.
func exact(units int64) *big.Rat { return big.NewRat(units, oneShare) }

// uncertaintyLoad is k·s/√N: k standard errors of the mean of N years. It is
// taken as √(s²/N), so that only one root is rounded.
func (b burn) uncertaintyLoad(k decimal.Decimal) *big.Rat {
	return mul(k.Rat(), root(quo(b.variance, b.years)))
}

// riskLoad is r·s, the standard deviation principle of premium calculation
// (Bühlmann, "Mathematical Methods in Risk Theory", 1970, chapter 4).
func (b burn) riskLoad(r decimal.Decimal) *big.Rat { return mul(r.Rat(), b.deviation) }

// attachmentProbability is 1 − e^(−λ): a Poisson process of rate λ has at least
// one event in a year with that probability.
func (b burn) attachmentProbability() decimal.Decimal {
	return figure(new(big.Rat).Sub(big.NewRat(1, 1), exponential(b.rate)))
}

// certain is a rate above which no decimal that is shown tells an event in a year
// from certainty: e^(−64) < 10^(−27).
var certain = big.NewRat(64, 1)

// exponential is e^(−x) for x ≥ 0, to 10^(−35): 1 / Σ x^n/n!, whose terms all have
// one sign, in binary fixed point.
func exponential(x *big.Rat) *big.Rat {
	if x.Cmp(certain) > 0 {
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

// returnPeriod is 1/λ in years.
func (b burn) returnPeriod() decimal.Decimal { return figure(new(big.Rat).Inv(b.rate)) }

// root is the square root of a fraction ≥ 0, exact where it is a fraction and
// cut after 40 decimals elsewhere: √(p/q) = √(p·q)/q.
func root(x *big.Rat) *big.Rat {
	p := new(big.Int).Mul(x.Num(), x.Denom())
	p.Mul(p, rootScale).Mul(p, rootScale).Sqrt(p)
	return new(big.Rat).SetFrac(p, new(big.Int).Mul(x.Denom(), rootScale))
}

// figure writes a fraction as the decimal that is shown.
func figure(x *big.Rat) decimal.Decimal {
	return decimal.NewFromBigRat(x, displayed).Normalize()
}

func add(a, b *big.Rat) *big.Rat { return new(big.Rat).Add(a, b) }
func mul(a, b *big.Rat) *big.Rat { return new(big.Rat).Mul(a, b) }
func quo(a, b *big.Rat) *big.Rat { return new(big.Rat).Quo(a, b) }
