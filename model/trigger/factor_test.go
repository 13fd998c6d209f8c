package trigger

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"parapet/model/money"
)

// shapes of the tables below.
var (
	lump        = Payout{Shape: Lump, Threshold: ptr(dec("6.5"))}
	steps       = Payout{Shape: Step, Steps: rungs("6.0", "0.25", "6.5", "0.5", "7.0", "1")}
	deficit     = Payout{Shape: Step, Steps: rungs("30", "0.25", "10", "1")}
	linear      = Payout{Shape: Linear, Attach: ptr(dec("100")), Exhaust: ptr(dec("250"))}
	drought     = Payout{Shape: Linear, Attach: ptr(dec("30")), Exhaust: ptr(dec("0"))}
	tick        = Payout{Shape: Tick, Attach: ptr(dec("50")), TickSize: ptr(dec("5")), TickShare: ptr(dec("0.3"))}
	tickDrought = Payout{Shape: Tick, Attach: ptr(dec("50")), TickSize: ptr(dec("5")), TickShare: ptr(dec("0.3"))}
)

func TestFactor(t *testing.T) {
	t.Parallel()
	excess, strict := side{direction: AtLeast}, side{direction: AtLeast, strict: true}
	dry, strictDry := side{direction: AtMost}, side{direction: AtMost, strict: true}
	tests := []struct {
		name                      string
		payout                    Payout
		side                      side
		x                         string
		factor, threshold, missed string
	}{
		{"lump below", lump, excess, "6.4999", "0", "6.5", "0.0001"},
		{"lump at", lump, excess, "6.5", "1", "6.5", "0"},
		{"lump at, strict", lump, strict, "6.5", "0", "6.5", "0"},
		{"lump above, strict", lump, strict, "6.51", "1", "6.5", "0"},
		{"step below all", steps, excess, "5.9", "0", "6", "0.1"},
		{"step at the first", steps, excess, "6.0", "0.25", "6", "0"},
		{"step below the second", steps, excess, "6.49", "0.25", "6", "0"},
		{"step at the second", steps, excess, "6.5", "0.5", "6.5", "0"},
		{"step below the third", steps, excess, "6.99", "0.5", "6.5", "0"},
		{"step at the third", steps, excess, "7.0", "1", "7", "0"},
		{"step above all", steps, excess, "9.5", "1", "7", "0"},
		{"step at the first, strict", steps, strict, "6.0", "0", "6", "0"},
		{"step at the second, strict", steps, strict, "6.5", "0.25", "6", "0"},
		{"step at the third, strict", steps, strict, "7.0", "0.5", "6.5", "0"},
		{"deficit above all", deficit, dry, "30.1", "0", "30", "0.1"},
		{"deficit at the first", deficit, dry, "30", "0.25", "30", "0"},
		{"deficit above the second", deficit, dry, "10.1", "0.25", "30", "0"},
		{"deficit at the second", deficit, dry, "10", "1", "10", "0"},
		{"deficit at the second, strict", deficit, strictDry, "10", "0.25", "30", "0"},
		{"linear below", linear, excess, "99", "0", "100", "1"},
		{"linear at attach", linear, excess, "100", "0", "100", "0"},
		{"linear inside", linear, excess, "101", "0.006666666666666667", "100", "0"},
		{"linear half", linear, excess, "175", "0.5", "100", "0"},
		{"linear at exhaust", linear, excess, "250", "1", "100", "0"},
		{"linear beyond", linear, excess, "400", "1", "100", "0"},
		{"linear deficit above", drought, dry, "31", "0", "30", "1"},
		{"linear deficit at attach", drought, dry, "30", "0", "30", "0"},
		{"linear deficit inside", drought, dry, "7.5", "0.75", "30", "0"},
		{"linear deficit at exhaust", drought, dry, "0", "1", "30", "0"},
		{"tick at attach", tick, excess, "50", "0", "55", "5"},
		{"tick below the first", tick, excess, "54.9", "0", "55", "0.1"},
		{"tick at the first", tick, excess, "55", "0.3", "55", "0"},
		{"tick at the first, strict", tick, strict, "55", "0", "55", "0"},
		{"tick above the first, strict", tick, strict, "55.1", "0.3", "55", "0"},
		{"tick below the second", tick, excess, "59.99", "0.3", "55", "0"},
		{"tick at the third", tick, excess, "65", "0.9", "65", "0"},
		{"tick capped", tick, excess, "70", "1", "70", "0"},
		{"tick below attach", tick, excess, "30", "0", "55", "25"},
		{"tick deficit above", tickDrought, dry, "45.1", "0", "45", "0.1"},
		{"tick deficit at the first", tickDrought, dry, "45", "0.3", "45", "0"},
		{"tick deficit at the second, strict", tickDrought, strictDry, "40", "0.3", "45", "0"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			require.NoError(t, test.payout.Validate(test.side.direction))
			r := test.payout.read(test.side, dec(test.x), test.payout.Steps)
			require.Equal(t, test.factor, r.share.factor().String())
			require.Equal(t, test.threshold, r.threshold.Normalize().String())
			require.Equal(t, test.missed, r.missed.Normalize().String())
			require.Equal(t, test.factor != "0", r.met())
		})
	}
}

func TestAmountRoundsOnceHalfUp(t *testing.T) {
	t.Parallel()
	thirds := Payout{Shape: Linear, Attach: ptr(dec("0")), Exhaust: ptr(dec("3"))}
	for _, test := range []struct {
		limit  int64
		x      string
		amount int64
	}{{100_00, "1", 33_33}, {100_00, "2", 66_67}, {100_00, "3", 100_00}, {1, "1.5", 1}, {1, "1.4999", 0}, {3, "0.5", 1}} {
		r := thirds.read(side{direction: AtLeast}, dec(test.x), nil)
		require.Equal(t, test.amount, r.share.of(money.New(test.limit, "USD")), test.x)
	}
}

// The amount is the nearest whole minor unit of the exact fraction, whatever
// digits the terms have: |amount − exact| ≤ 1/2, and a half goes up.
func TestAmountIsExactToTheCent(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(9, 9))
	random := func(most int64) decimal.Decimal { return decimal.New(r.Int64N(most), -r.Int32N(6)) }
	for range 5000 {
		attach := random(1e6)
		p := Payout{Shape: Linear, Attach: &attach, Exhaust: ptr(attach.Add(random(1e6)).Add(dec("0.001")))}
		x, limit := attach.Add(random(1e6)), r.Int64N(1e15)

		exact := new(big.Rat).Sub(x.Rat(), p.Attach.Rat())
		exact.Quo(exact, new(big.Rat).Sub(p.Exhaust.Rat(), p.Attach.Rat()))
		if exact.Cmp(big.NewRat(1, 1)) > 0 {
			exact.SetInt64(1)
		}
		exact.Mul(exact, new(big.Rat).SetInt64(limit))

		amount := p.read(side{direction: AtLeast}, x, nil).share.of(money.New(limit, "USD"))
		above := new(big.Rat).Sub(new(big.Rat).SetInt64(amount), exact)
		require.LessOrEqual(t, above.Cmp(big.NewRat(1, 2)), 0)
		require.Positive(t, above.Cmp(big.NewRat(-1, 2)))
	}
}
