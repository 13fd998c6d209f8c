package trigger

import "github.com/shopspring/decimal"

// reading is what a payout says of one index.
type reading struct {
	share     share
	threshold decimal.Decimal // the boundary reached, or the nearest one that was missed
	missed    decimal.Decimal // how far the index is from it; 0 when it is reached
}

func (r reading) met() bool { return r.share.sign() > 0 }

// side looks at indices from the trigger's direction: beyond is how far x is
// past a boundary, negative when it falls short of it, whichever way is worse.
type side struct {
	direction Direction
	strict    bool
}

func (t Trigger) side() side { return side{t.Direction, t.Strict} }

func (s side) beyond(x, boundary decimal.Decimal) decimal.Decimal {
	if s.direction == AtMost {
		return boundary.Sub(x)
	}
	return x.Sub(boundary)
}

// compare is the sign of beyond.
func (s side) compare(x, boundary decimal.Decimal) int {
	if s.direction == AtMost {
		return boundary.Cmp(x)
	}
	return x.Cmp(boundary)
}

// reached includes the boundary itself unless the trigger is strict.
func (s side) reached(x, boundary decimal.Decimal) bool {
	sign := s.compare(x, boundary)
	return sign > 0 || sign == 0 && !s.strict
}

// further is the boundary moved by distance towards the worse.
func (s side) further(boundary, distance decimal.Decimal) decimal.Decimal {
	if s.direction == AtMost {
		return boundary.Sub(distance)
	}
	return boundary.Add(distance)
}

// at is the reading of a share at a boundary.
func (s side) at(x, boundary decimal.Decimal, of share) reading {
	r := reading{share: of, threshold: boundary}
	if s.compare(x, boundary) < 0 {
		r.missed = s.beyond(boundary, x)
	}
	return r
}

// read is what the payout says of index x, with the steps that apply to it
// where the shape is step. The payout must be valid.
func (p Payout) read(s side, x decimal.Decimal, steps []Rung) reading {
	switch p.Shape {
	case Step:
		return s.step(x, steps)
	case Linear:
		return s.linear(x, *p.Attach, *p.Exhaust)
	case Tick:
		return s.tick(x, *p.Attach, *p.TickSize, *p.TickShare)
	case Lump: // a table of one step
	}
	return s.step(x, []Rung{{Threshold: *p.Threshold, Factor: one}})
}

// step takes the last rung reached of a table from the mildest to the severest.
func (s side) step(x decimal.Decimal, steps []Rung) reading {
	for i := len(steps) - 1; i >= 0; i-- {
		if s.reached(x, steps[i].Threshold) {
			return s.at(x, steps[i].Threshold, share{decimal: steps[i].Factor})
		}
	}
	return s.at(x, steps[0].Threshold, share{})
}

// linear is clamp((x − attach) / (exhaust − attach), 0, 1); both differences
// turn with the direction. An index exactly at attach pays nothing.
func (s side) linear(x, attach, exhaust decimal.Decimal) reading {
	part, whole := s.beyond(x, attach), s.beyond(exhaust, attach)
	switch {
	case !part.IsPositive():
		return s.at(x, attach, share{})
	case !part.LessThan(whole):
		return s.at(x, attach, share{decimal: one})
	}
	fraction := part.Rat()
	return s.at(x, attach, share{fraction: fraction.Quo(fraction, whole.Rat())})
}

// tick counts the whole ticks beyond attach. The first boundary that pays is
// one tick away from it; a strict trigger must pass a tick to have it.
func (s side) tick(x, attach, size, each decimal.Decimal) reading {
	ticks, rest := s.beyond(x, attach).QuoRem(size, 0)
	if s.strict && rest.IsZero() {
		ticks = ticks.Sub(one)
	}
	if !ticks.IsPositive() {
		return s.at(x, s.further(attach, size), share{})
	}
	return s.at(x, s.further(attach, size.Mul(ticks)), share{decimal: decimal.Min(one, each.Mul(ticks))})
}
