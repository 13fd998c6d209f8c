package trigger

import (
	"errors"
	"fmt"
	"slices"

	"github.com/shopspring/decimal"
)

// LowestThreshold returns the lowest index that the terms name: the threshold, the
// first step of any ring, or attach. If it cannot be priced, the cover cannot be sold.
// The payout must be valid.
func (p Payout) LowestThreshold() decimal.Decimal {
	switch p.Shape {
	case Step:
		tables := p.stepTables()
		lowest := tables[0][0].Threshold
		for _, steps := range tables[1:] {
			lowest = decimal.Min(lowest, steps[0].Threshold)
		}
		return lowest
	case Linear, Tick:
		return *p.Attach
	case Lump: // has only its threshold
	}
	return *p.Threshold
}

// LargestFactor returns the largest share of the limit that the payout can pay. The
// payout must be valid.
func (p Payout) LargestFactor() decimal.Decimal {
	if p.Shape != Step {
		return decimalOne
	}
	var largest decimal.Decimal
	for _, steps := range p.stepTables() {
		largest = decimal.Max(largest, steps[len(steps)-1].Factor)
	}
	return largest
}

// stepTables returns the step tables: one, or one for each ring.
func (p Payout) stepTables() [][]Rung {
	if len(p.Rings) == 0 {
		return [][]Rung{p.Steps}
	}
	tables := make([][]Rung, 0, len(p.Rings))
	for _, ring := range p.Rings {
		tables = append(tables, ring.Steps)
	}
	return tables
}

// Validate returns all faults that prevent an evaluation: members of another shape,
// steps out of order, shares outside of 0 to 1. The errors are joined and written for
// the author of a product.
func (p Payout) Validate(direction Direction) error {
	var wrong []error
	if direction != AtLeast && direction != AtMost {
		wrong = append(wrong, fmt.Errorf("direction %q is neither %s nor %s", direction, AtLeast, AtMost))
	}
	wrong = append(wrong, p.validateMembers()...)
	if len(wrong) > 0 {
		return errors.Join(wrong...)
	}
	s := comparator{direction: direction}
	switch p.Shape {
	case Step:
		return errors.Join(p.validateSteps(s)...)
	case Linear:
		if !s.distanceBeyond(*p.Exhaust, *p.Attach).IsPositive() {
			return fmt.Errorf("exhaust %s is not beyond attach %s", p.Exhaust, p.Attach)
		}
	case Tick:
		if !p.TickSize.IsPositive() {
			wrong = append(wrong, fmt.Errorf("tick_size %s is not above 0", p.TickSize))
		}
		if !isShare(*p.TickShare) {
			wrong = append(wrong, fmt.Errorf("tick_share %s is not above 0 and at most 1", p.TickShare))
		}
	case Lump: // a lump has no further members
	}
	return errors.Join(wrong...)
}

// validateMembers returns the members that the shape lacks and those it does not use.
func (p Payout) validateMembers() (wrong []error) {
	members := map[Shape][]string{
		Lump: {"threshold"}, Linear: {"attach", "exhaust"}, Tick: {"attach", "tick_size", "tick_share"},
		Step: {"steps"},
	}
	needed, known := members[p.Shape]
	switch {
	case !known:
		return []error{fmt.Errorf("shape %q is none of %s, %s, %s, %s", p.Shape, Lump, Step, Linear, Tick)}
	case p.Shape == Step && len(p.Rings) > 0:
		needed = []string{"rings"}
	}
	for _, member := range p.payoutMembers() {
		switch wanted := slices.Contains(needed, member.name); {
		case wanted && !member.set:
			wrong = append(wrong, fmt.Errorf("shape %s needs %s", p.Shape, member.name))
		case !wanted && member.set:
			wrong = append(wrong, fmt.Errorf("shape %s has no use for %s here", p.Shape, member.name))
		}
	}
	return wrong
}

type payoutMember struct {
	name string
	set  bool
}

func (p Payout) payoutMembers() []payoutMember {
	return []payoutMember{
		{"threshold", p.Threshold != nil},
		{"steps", len(p.Steps) > 0},
		{"rings", len(p.Rings) > 0},
		{"attach", p.Attach != nil},
		{"exhaust", p.Exhaust != nil},
		{"tick_size", p.TickSize != nil},
		{"tick_share", p.TickShare != nil},
	}
}

func (p Payout) validateSteps(s comparator) (wrong []error) {
	for _, steps := range p.stepTables() {
		wrong = append(wrong, s.validateTable(steps)...)
	}
	if len(p.Rings) == 0 {
		return wrong
	}
	if s.direction != AtLeast {
		wrong = append(wrong, fmt.Errorf("rings are for direction %s", AtLeast))
	}
	for i, ring := range p.Rings {
		if !isShare(ring.RadiusShare) {
			wrong = append(wrong, fmt.Errorf("radius_share %s is not above 0 and at most 1", ring.RadiusShare))
		}
		if i > 0 && !ring.RadiusShare.GreaterThan(p.Rings[i-1].RadiusShare) {
			wrong = append(wrong, fmt.Errorf("radius_share %s does not ascend", ring.RadiusShare))
		}
	}
	if outermost := p.Rings[len(p.Rings)-1].RadiusShare; !outermost.Equal(decimal.New(1, 0)) {
		wrong = append(wrong, fmt.Errorf("the outermost radius_share is %s, not 1", outermost))
	}
	return wrong
}

// validateTable requires thresholds of rising severity and factors that never decrease.
func (s comparator) validateTable(steps []Rung) (wrong []error) {
	if len(steps) == 0 {
		return []error{errors.New("a ring needs steps")}
	}
	for i, rung := range steps {
		if !isShare(rung.Factor) {
			wrong = append(wrong, fmt.Errorf("factor %s is not above 0 and at most 1", rung.Factor))
		}
		if i == 0 {
			continue
		}
		if !s.distanceBeyond(rung.Threshold, steps[i-1].Threshold).IsPositive() {
			wrong = append(wrong, fmt.Errorf("threshold %s is not beyond the one before it, %s",
				rung.Threshold, steps[i-1].Threshold))
		}
		if rung.Factor.LessThan(steps[i-1].Factor) {
			wrong = append(wrong, fmt.Errorf("factor %s is below that of a milder threshold, %s",
				rung.Factor, steps[i-1].Factor))
		}
	}
	return wrong
}

func isShare(share decimal.Decimal) bool {
	return share.IsPositive() && !share.GreaterThan(decimal.New(1, 0))
}
