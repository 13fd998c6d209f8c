package trigger

import "github.com/shopspring/decimal"

// Curve is the share of the limit that a payout pays by index, for charts.
type Curve struct {
	RadiusShare *decimal.Decimal // the part of the circle it applies to; nil without rings
	Points      []CurvePoint     // from the lowest threshold to the highest payout
}

// CurvePoint is a jump or bend of a curve. The curve is straight from Reached of one
// point to Before of the next; beyond the last point it is constant.
type CurvePoint struct {
	Index   decimal.Decimal
	Before  decimal.Decimal // share of the limit just short of the index
	Reached decimal.Decimal // share of the limit at the index; beyond it if the trigger is strict
}

// MaxCurvePoints bounds the points of a curve: a payout by small ticks has one point
// per tick, and later ones are omitted.
const MaxCurvePoints = 200

// Curves returns the payout's curve, or one for each ring, the inner first. Every share
// is the result of the function that Evaluate uses, so the curve cannot differ from
// payouts. The payout must be valid.
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
	if p.Shape == Linear { // a linear payout bends and never jumps
		return []CurvePoint{{*p.Attach, at(*p.Attach), at(*p.Attach)}, {*p.Exhaust, at(*p.Exhaust), at(*p.Exhaust)}}
	}
	// The share is constant between two jumps, so the middle represents the whole
	// interval; at a boundary it may be either.
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

// stepBeyondLast returns a distance beyond the last jump without another jump.
func (p Payout) stepBeyondLast(otherwise decimal.Decimal) decimal.Decimal {
	if p.Shape == Tick {
		return p.TickSize.Div(decimal.New(2, 0))
	}
	return otherwise
}

// jumpBoundaries returns the boundaries at which the share jumps.
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
	case Lump, Linear: // Lump has one; Linear has none and does not reach this
		jumps = append(jumps, *p.Threshold)
	}
	return jumps
}
