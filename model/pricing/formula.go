package pricing

import (
	"maps"
	"math/big"
	"slices"

	"github.com/shopspring/decimal"
)

// displayed is the number of decimals a figure is shown with. Lines are computed
// from the exact figures; at twelve decimals of a minor unit the shown ones lead
// to the same amounts.
const displayed = 12

// rootScale makes root exact to 40 decimals, far below what moves a cent.
var rootScale = new(big.Int).Exp(big.NewInt(10), big.NewInt(40), nil)

// burn holds the figures of a burn analysis as exact fractions of minor units.
type burn struct {
	years        *big.Rat // N
	severity     *big.Rat // m
	lossSum      *big.Rat // Σ L_y
	lossSquares  *big.Rat // Σ L_y²
	expectedLoss *big.Rat
	variance     *big.Rat // s²
	deviation    *big.Rat // s
	rate         *big.Rat // λ
}

// analyse computes the figures of n paying events over so many years. prior is
// the severity to assume when nothing ever paid, in minor units.
//
// Burn analysis: the past is re-run as if the cover had been in force each year
// (Swiss Re, "Mathematical methods of pricing", experience rating; Parodi,
// "Pricing in General Insurance", 2nd ed., chapter on experience rating).
func analyse(history []Past, limit int64, years int, prior *big.Rat) burn {
	sum, squares := new(big.Int), new(big.Int)
	for _, loss := range annualLosses(history, limit) {
		l := big.NewInt(loss)
		sum.Add(sum, l)
		squares.Add(squares, l.Mul(l, l))
	}
	b := burn{years: new(big.Rat).SetInt64(int64(years)), lossSum: new(big.Rat).SetInt(sum), lossSquares: new(big.Rat).SetInt(squares)}
	b.severity = meanSeverity(history, prior)

	// Half an event more: Jeffreys' prior for a Poisson rate has the posterior
	// mean (n + ½) / N, so a place where nothing happened yet is not free
	// (Jeffreys, "An invariant form for the prior probability", 1946).
	half := big.NewRat(1, 2)
	b.expectedLoss = quo(add(b.lossSum, mul(b.severity, half)), b.years)
	b.rate = quo(add(new(big.Rat).SetInt64(int64(len(history))), half), b.years)

	// Population variance E[L²] − E[L]², with the same half event in E[L²].
	second := quo(add(b.lossSquares, mul(mul(b.severity, b.severity), half)), b.years)
	b.variance = new(big.Rat).Sub(second, mul(b.expectedLoss, b.expectedLoss))
	if b.variance.Sign() < 0 {
		b.variance.SetInt64(0)
	}
	b.deviation = root(b.variance)
	return b
}

// annualLosses is L_y = min(limit, Σ payouts of calendar year y), for the years
// that paid, in order of time.
func annualLosses(history []Past, limit int64) []int64 {
	byYear := make(map[int]int64)
	for _, past := range history {
		byYear[past.year] += min(past.Payout.Amount, limit-byYear[past.year])
	}
	losses := make([]int64, 0, len(byYear))
	for _, year := range slices.Sorted(maps.Keys(byYear)) {
		losses = append(losses, byYear[year])
	}
	return losses
}

// meanSeverity is m: the mean payout of the paying events, the prior without any.
func meanSeverity(history []Past, prior *big.Rat) *big.Rat {
	if len(history) == 0 {
		return prior
	}
	sum := new(big.Int)
	for _, past := range history {
		sum.Add(sum, big.NewInt(past.Payout.Amount))
	}
	return new(big.Rat).SetFrac(sum, big.NewInt(int64(len(history))))
}

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
