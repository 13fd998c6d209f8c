package trigger

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"parapet/model/hazard"
)

// PerilRules holds what differs between perils for terms, evaluation and sentences. Each
// peril has one value, in a file of its own. What its observations have in common is in
// hazard.KindRules.
type PerilRules struct {
	Peril   hazard.Peril
	Kind    hazard.Kind      // of the observations that are its evidence
	Indices map[string]Index // that its triggers may measure
	// Growth says that a policy is owed more for an occurrence than was approved; empty if
	// the perils' occurrences do not grow.
	Growth string
	// contextMembers returns the optional members of a quote's context that change the
	// trigger.
	contextMembers func(Trigger) []string
	validate       func(Trigger) error // the members of the trigger that the peril needs

	// For perils at stations; nil for others.
	define          func(Trigger) Definition
	parseDefinition func(text string) (Definition, bool)
}

// Index is a number that triggers measure.
type Index struct {
	Unit   string
	Phrase string // a format of value and unit: "a wind of %s %s"
	Near   int64  // in tenths of the unit: an index that misses its threshold by at most this is near it
}

var perilRules = []*PerilRules{&earthquakeRules, &windstormRules, &rainfallRules, &temperatureRules}

// Perils lists every peril in the contract's order.
func Perils() []hazard.Peril {
	perils := make([]hazard.Peril, len(perilRules))
	for i, rules := range perilRules {
		perils[i] = rules.Peril
	}
	return perils
}

// PerilNames lists every peril in a sentence: "earthquake, windstorm, rainfall".
func PerilNames() string {
	names := make([]string, len(perilRules))
	for i, rules := range perilRules {
		names[i] = string(rules.Peril)
	}
	return strings.Join(names, ", ")
}

// Rules returns the rules of the trigger's peril, nil if there is no such peril.
func (t Trigger) Rules() *PerilRules {
	if i := slices.IndexFunc(perilRules, func(r *PerilRules) bool { return r.Peril == t.Kind }); i >= 0 {
		return perilRules[i]
	}
	return nil
}

// Form returns how observations make up the trigger's occurrences; 0 for an unknown peril.
func (t Trigger) Form() hazard.Form {
	if rules := t.Rules(); rules != nil {
		return rules.Kind.Rules().Form
	}
	return 0
}

// IsAtStation reports whether the trigger measures days at a station.
func (t Trigger) IsAtStation() bool { return t.Form() == hazard.DailyForm }

// ContextMembers returns the optional members of a quote's context that change the trigger.
func (t Trigger) ContextMembers() []string {
	if rules := t.Rules(); rules != nil {
		return rules.contextMembers(t)
	}
	return nil
}

// IndexPhrase describes a value of the trigger's index: "a wind of 120 kn".
func (t Trigger) IndexPhrase(m hazard.Measure) string {
	if rules := t.Rules(); rules != nil {
		if index, known := rules.Indices[t.Index]; known {
			return fmt.Sprintf(index.Phrase, m.Value, m.Unit)
		}
	}
	return fmt.Sprintf("%s %s %s", t.Index, m.Value, m.Unit)
}

// IsWithinReach reports whether a reading meets the trigger or, inside of the place, nearly
// does: preliminary values change by about that much.
func (t Trigger) IsWithinReach(d Determination) bool {
	if d.Met || d.Reason != ThresholdNotMet {
		return d.Met
	}
	rules := t.Rules()
	return rules != nil && d.Missed.LessThanOrEqual(decimal.New(rules.Indices[t.Index].Near, -1))
}

// validate requires a known peril, a place where it can happen, and the members that it
// needs.
func (t Trigger) validate(place PlaceKind) error {
	rules := t.Rules()
	switch {
	case rules == nil:
		return fmt.Errorf("trigger %q is none of %v", t.Kind, Perils())
	case t.IsAtStation() != (place == AtStation):
		return fmt.Errorf("a trigger of %s cannot happen at a %s", t.Kind, place)
	}
	return rules.validate(t)
}

// Grows reports whether later observations can raise the amount owed for the occurrence
// and, without a revision, never lower it: the track of a storm gets longer, a count of
// days higher.
func (o Occurrence) Grows() bool {
	return o.Storm != nil || o.AtStation != nil && o.AtStation.Definition.Grows()
}
