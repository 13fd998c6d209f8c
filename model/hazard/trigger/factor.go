package trigger

import "github.com/shopspring/decimal"

// payoutReading is the result of a payout for one index.
type payoutReading struct {
	share     exactShare
	threshold decimal.Decimal // the reached boundary, or the nearest missed one
	missed    decimal.Decimal // distance of the index from it; 0 if reached
}

func (r payoutReading) isMet() bool { return r.share.signOf() > 0 }

// comparator compares indices in the trigger's direction; distanceBeyond is positive past
// the boundary, negative short of it.
type comparator struct {
	direction Direction
	strict    bool
}

func (t Trigger) comparator() comparator { return comparator{t.Direction, t.Strict} }

func (s comparator) distanceBeyond(x, boundary decimal.Decimal) decimal.Decimal {
	if s.direction == AtMost {
		return boundary.Sub(x)
	}
	return x.Sub(boundary)
}

// compareTo returns the sign of distanceBeyond.
func (s comparator) compareTo(x, boundary decimal.Decimal) int {
	if s.direction == AtMost {
		return boundary.Cmp(x)
	}
	return x.Cmp(boundary)
}

// isReached reports whether x reaches the boundary. The boundary itself counts unless
// the trigger is strict.
func (s comparator) isReached(x, boundary decimal.Decimal) bool {
	sign := s.compareTo(x, boundary)
	return sign > 0 || sign == 0 && !s.strict
}

// moveBeyond returns the boundary moved by distance in the direction of higher payout.
func (s comparator) moveBeyond(boundary, distance decimal.Decimal) decimal.Decimal {
	if s.direction == AtMost {
		return boundary.Sub(distance)
	}
	return boundary.Add(distance)
}

// readingAt returns the reading of a share at a boundary.
func (s comparator) readingAt(x, boundary decimal.Decimal, of exactShare) payoutReading {
	r := payoutReading{share: of, threshold: boundary}
	if s.compareTo(x, boundary) < 0 {
		r.missed = s.distanceBeyond(boundary, x)
	}
	return r
}

// readIndex returns the payout's reading of index x, with the given steps if the shape
// is step. The payout must be valid.
func (p Payout) readIndex(s comparator, x decimal.Decimal, steps []Rung) payoutReading {
	switch p.Shape {
	case Step:
		return s.readSteps(x, steps)
	case Linear:
		return s.readLinear(x, *p.Attach, *p.Exhaust)
	case Tick:
		return s.readTicks(x, *p.Attach, *p.TickSize, *p.TickShare)
	case Lump: // like a table with one step
	}
	return s.readSteps(x, []Rung{{Threshold: *p.Threshold, Factor: decimalOne}})
}

// readSteps returns the last reached rung of a table ordered by rising payout.
func (s comparator) readSteps(x decimal.Decimal, steps []Rung) payoutReading {
	for i := len(steps) - 1; i >= 0; i-- {
		if s.isReached(x, steps[i].Threshold) {
			return s.readingAt(x, steps[i].Threshold, exactShare{decimal: steps[i].Factor})
		}
	}
	return s.readingAt(x, steps[0].Threshold, exactShare{})
}

// readLinear returns clamp((x − attach) / (exhaust − attach), 0, 1); both differences
// follow the direction. An index exactly at attach pays nothing.
func (s comparator) readLinear(x, attach, exhaust decimal.Decimal) payoutReading {
	part, whole := s.distanceBeyond(x, attach), s.distanceBeyond(exhaust, attach)
	switch {
	case !part.IsPositive():
		return s.readingAt(x, attach, exactShare{})
	case !part.LessThan(whole):
		return s.readingAt(x, attach, exactShare{decimal: decimalOne})
	}
	fraction := part.Rat()
	return s.readingAt(x, attach, exactShare{fraction: fraction.Quo(fraction, whole.Rat())})
}

// readTicks counts the whole ticks beyond attach. The first paying boundary is one tick
// away from it; a strict trigger must exceed a tick for it to count.
func (s comparator) readTicks(x, attach, size, each decimal.Decimal) payoutReading {
	ticks, rest := s.distanceBeyond(x, attach).QuoRem(size, 0)
	if s.strict && rest.IsZero() {
		ticks = ticks.Sub(decimalOne)
	}
	if !ticks.IsPositive() {
		return s.readingAt(x, s.moveBeyond(attach, size), exactShare{})
	}
	return s.readingAt(x, s.moveBeyond(attach, size.Mul(ticks)), exactShare{decimal: decimal.Min(decimalOne, each.Mul(ticks))})
}
