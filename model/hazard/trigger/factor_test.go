package trigger

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"parapet/model/money"
)

// Payout shapes of the tables below.
var (
	lumpPayout        = Payout{Shape: Lump, Threshold: decimalPtr(mustDecimal("6.5"))}
	stepPayout        = Payout{Shape: Step, Steps: stepRungs("6.0", "0.25", "6.5", "0.5", "7.0", "1")}
	deficitPayout     = Payout{Shape: Step, Steps: stepRungs("30", "0.25", "10", "1")}
	linearPayout      = Payout{Shape: Linear, Attach: decimalPtr(mustDecimal("100")), Exhaust: decimalPtr(mustDecimal("250"))}
	droughtPayout     = Payout{Shape: Linear, Attach: decimalPtr(mustDecimal("30")), Exhaust: decimalPtr(mustDecimal("0"))}
	tickPayout        = Payout{Shape: Tick, Attach: decimalPtr(mustDecimal("50")), TickSize: decimalPtr(mustDecimal("5")), TickShare: decimalPtr(mustDecimal("0.3"))}
	tickDroughtPayout = Payout{Shape: Tick, Attach: decimalPtr(mustDecimal("50")), TickSize: decimalPtr(mustDecimal("5")), TickShare: decimalPtr(mustDecimal("0.3"))}
)

func TestFactor(t *testing.T) {
	t.Parallel()
	excess, strict := comparator{direction: AtLeast}, comparator{direction: AtLeast, strict: true}
	dry, strictDry := comparator{direction: AtMost}, comparator{direction: AtMost, strict: true}
	tests := []struct {
		name                      string
		payout                    Payout
		side                      comparator
		x                         string
		factor, threshold, missed string
	}{
		{"lump below", lumpPayout, excess, "6.4999", "0", "6.5", "0.0001"},
		{"lump at", lumpPayout, excess, "6.5", "1", "6.5", "0"},
		{"lump at, strict", lumpPayout, strict, "6.5", "0", "6.5", "0"},
		{"lump above, strict", lumpPayout, strict, "6.51", "1", "6.5", "0"},
		{"step below all", stepPayout, excess, "5.9", "0", "6", "0.1"},
		{"step at the first", stepPayout, excess, "6.0", "0.25", "6", "0"},
		{"step below the second", stepPayout, excess, "6.49", "0.25", "6", "0"},
		{"step at the second", stepPayout, excess, "6.5", "0.5", "6.5", "0"},
		{"step below the third", stepPayout, excess, "6.99", "0.5", "6.5", "0"},
		{"step at the third", stepPayout, excess, "7.0", "1", "7", "0"},
		{"step above all", stepPayout, excess, "9.5", "1", "7", "0"},
		{"step at the first, strict", stepPayout, strict, "6.0", "0", "6", "0"},
		{"step at the second, strict", stepPayout, strict, "6.5", "0.25", "6", "0"},
		{"step at the third, strict", stepPayout, strict, "7.0", "0.5", "6.5", "0"},
		{"deficit above all", deficitPayout, dry, "30.1", "0", "30", "0.1"},
		{"deficit at the first", deficitPayout, dry, "30", "0.25", "30", "0"},
		{"deficit above the second", deficitPayout, dry, "10.1", "0.25", "30", "0"},
		{"deficit at the second", deficitPayout, dry, "10", "1", "10", "0"},
		{"deficit at the second, strict", deficitPayout, strictDry, "10", "0.25", "30", "0"},
		{"linear below", linearPayout, excess, "99", "0", "100", "1"},
		{"linear at attach", linearPayout, excess, "100", "0", "100", "0"},
		{"linear inside", linearPayout, excess, "101", "0.006666666666666667", "100", "0"},
		{"linear half", linearPayout, excess, "175", "0.5", "100", "0"},
		{"linear at exhaust", linearPayout, excess, "250", "1", "100", "0"},
		{"linear beyond", linearPayout, excess, "400", "1", "100", "0"},
		{"linear deficit above", droughtPayout, dry, "31", "0", "30", "1"},
		{"linear deficit at attach", droughtPayout, dry, "30", "0", "30", "0"},
		{"linear deficit inside", droughtPayout, dry, "7.5", "0.75", "30", "0"},
		{"linear deficit at exhaust", droughtPayout, dry, "0", "1", "30", "0"},
		{"tick at attach", tickPayout, excess, "50", "0", "55", "5"},
		{"tick below the first", tickPayout, excess, "54.9", "0", "55", "0.1"},
		{"tick at the first", tickPayout, excess, "55", "0.3", "55", "0"},
		{"tick at the first, strict", tickPayout, strict, "55", "0", "55", "0"},
		{"tick above the first, strict", tickPayout, strict, "55.1", "0.3", "55", "0"},
		{"tick below the second", tickPayout, excess, "59.99", "0.3", "55", "0"},
		{"tick at the third", tickPayout, excess, "65", "0.9", "65", "0"},
		{"tick capped", tickPayout, excess, "70", "1", "70", "0"},
		{"tick below attach", tickPayout, excess, "30", "0", "55", "25"},
		{"tick deficit above", tickDroughtPayout, dry, "45.1", "0", "45", "0.1"},
		{"tick deficit at the first", tickDroughtPayout, dry, "45", "0.3", "45", "0"},
		{"tick deficit at the second, strict", tickDroughtPayout, strictDry, "40", "0.3", "45", "0"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			require.NoError(t, test.payout.Validate(test.side.direction))
			r := test.payout.readIndex(test.side, mustDecimal(test.x), test.payout.Steps)
			require.Equal(t, test.factor, r.share.displayFactor().String())
			require.Equal(t, test.threshold, r.threshold.Normalize().String())
			require.Equal(t, test.missed, r.missed.Normalize().String())
			require.Equal(t, test.factor != "0", r.isMet())
		})
	}
}

func TestAmountRoundsOnceHalfUp(t *testing.T) {
	t.Parallel()
	thirds := Payout{Shape: Linear, Attach: decimalPtr(mustDecimal("0")), Exhaust: decimalPtr(mustDecimal("3"))}
	for _, test := range []struct {
		limit  int64
		x      string
		amount int64
	}{{100_00, "1", 33_33}, {100_00, "2", 66_67}, {100_00, "3", 100_00}, {1, "1.5", 1}, {1, "1.4999", 0}, {3, "0.5", 1}} {
		r := thirds.readIndex(comparator{direction: AtLeast}, mustDecimal(test.x), nil)
		require.Equal(t, test.amount, r.share.amountOf(money.New(test.limit, "USD")), test.x)
	}
}

// The amount is the nearest whole minor unit of the exact fraction, whatever digits the
// terms have: |amount − exact| ≤ 1/2, and a half rounds up.
func TestAmountIsExactToTheCent(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(9, 9))
	random := func(most int64) decimal.Decimal { return decimal.New(r.Int64N(most), -r.Int32N(6)) }
	for range 5000 {
		attach := random(1e6)
		p := Payout{Shape: Linear, Attach: &attach, Exhaust: decimalPtr(attach.Add(random(1e6)).Add(mustDecimal("0.001")))}
		x, limit := attach.Add(random(1e6)), r.Int64N(1e15)

		exact := new(big.Rat).Sub(x.Rat(), p.Attach.Rat())
		exact.Quo(exact, new(big.Rat).Sub(p.Exhaust.Rat(), p.Attach.Rat()))
		if exact.Cmp(big.NewRat(1, 1)) > 0 {
			exact.SetInt64(1)
		}
		exact.Mul(exact, new(big.Rat).SetInt64(limit))

		amount := p.readIndex(comparator{direction: AtLeast}, x, nil).share.amountOf(money.New(limit, "USD"))
		above := new(big.Rat).Sub(new(big.Rat).SetInt64(amount), exact)
		require.LessOrEqual(t, above.Cmp(big.NewRat(1, 2)), 0)
		require.Positive(t, above.Cmp(big.NewRat(-1, 2)))
	}
}
