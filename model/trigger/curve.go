package trigger

import "github.com/shopspring/decimal"

// Curve is how much of the limit an index pays, ready to be drawn.
type Curve struct {
	RadiusShare *decimal.Decimal // the part of the circle it is for; nil without rings
	Points      []CurvePoint     // from the mildest index to the severest
}

// CurvePoint is where a curve jumps or bends. It runs straight from what one point
// reached to what the next has before; beyond the last it stays.
type CurvePoint struct {
	Index   decimal.Decimal
	Before  decimal.Decimal // share of the limit, just short of the index
	Reached decimal.Decimal // share of the limit, once it is reached; passed, where the trigger is strict
}

// MaxCurvePoints bounds a curve: a payout by small ticks has one point a tick, and
// those further out are left out.
const MaxCurvePoints = 200

// Curves are the payout's curve, or one for each ring, the inner first. Every share
// is what Evaluate pays, read at an index and not told a second time. The payout
// must be valid.
func (p Payout) Curves(t Trigger) []Curve {
	if len(p.Rings) == 0 {
		return []Curve{{Points: p.curvePoints(t.comparator(), p.Steps)}}
	}
	curves := make([]Curve, len(p.Rings))
	for i, ring := range p.Rings {
		curves[i] = Curve{RadiusShare: &ring.RadiusShare, Points: p.curvePoints(t.comparator(), ring.Steps)}
	}
	return curves
}

func (p Payout) curvePoints(s comparator, steps []Rung) []CurvePoint {
	at := func(x decimal.Decimal) decimal.Decimal { return p.readIndex(s, x, steps).share.displayFactor() }
	if p.Shape == Linear { // it bends and never jumps
		return []CurvePoint{{*p.Attach, at(*p.Attach), at(*p.Attach)}, {*p.Exhaust, at(*p.Exhaust), at(*p.Exhaust)}}
	}
	// Between two jumps nothing changes, so the middle tells of the whole way; a
	// boundary itself may count or not.
	jumps := p.jumpBoundaries(s, steps)
	between := []decimal.Decimal{at(s.moveBeyond(jumps[0], decimalOne.Neg()))}
	for i, x := range jumps[1:] {
		between = append(between, at(decimal.Avg(jumps[i], x)))
	}
	between = append(between, at(s.moveBeyond(jumps[len(jumps)-1], p.stepBeyondLast(decimalOne))))
	points := make([]CurvePoint, len(jumps))
	for i, x := range jumps {
		points[i] = CurvePoint{x, between[i], between[i+1]}
	}
	return points
}

// stepBeyondLast is a way beyond the last jump on which no other follows.
func (p Payout) stepBeyondLast(otherwise decimal.Decimal) decimal.Decimal {
	if p.Shape == Tick {
		return p.TickSize.Div(decimal.New(2, 0))
	}
	return otherwise
}

// jumpBoundaries are the boundaries at which the share changes at once.
func (p Payout) jumpBoundaries(s comparator, steps []Rung) []decimal.Decimal {
	var jumps []decimal.Decimal
	switch p.Shape {
	case Tick:
		for paid := decimal.Zero; paid.LessThan(decimalOne) && len(jumps) < MaxCurvePoints; paid = paid.Add(*p.TickShare) {
			jumps = append(jumps, s.moveBeyond(*p.Attach, p.TickSize.Mul(decimal.NewFromInt(int64(len(jumps)+1)))))
		}
	case Step:
		for _, rung := range steps {
			jumps = append(jumps, rung.Threshold)
		}
	case Lump, Linear: // has but one; Linear has none and is not asked
		jumps = append(jumps, *p.Threshold)
	}
	return jumps
}
