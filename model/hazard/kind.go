package hazard

import (
	"slices"
	"time"

	"github.com/shopspring/decimal"
)

// Kind is what an observation measures.
type Kind string

// Form is how observations make up an occurrence.
type Form int

const (
	// QuakeForm: each observation reports one earthquake at its epicentre. Other events at a
	// point need a form of their own: how an occurrence is evaluated depends on its form.
	QuakeForm Form = iota + 1
	// TrackForm: the observations of a source's event are the fixes of its track.
	TrackForm
	// DailyForm: an observation is one UTC day at a station; occurrences are made of the
	// days by the definition that policies have.
	DailyForm
)

// KindRules holds what differs between the kinds of observations. Each kind has one
// value, in a file of its own.
type KindRules struct {
	Kind Kind
	Form Form
	// Peril is the one that policies with a place on the map insure against these
	// observations; empty for DailyForm.
	Peril Peril
	// NaturalKey identifies an observation among those of its source and kind.
	NaturalKey func(sourceEventID, station string, at time.Time) string
	Measures   map[string]MeasureRule // by name
	Duplicates DuplicateRules
	Moratorium *MoratoriumRules // nil: observations stop no sales by themselves
}

// MeasureRule describes one measure of a kind.
type MeasureRule struct {
	Units    []string
	Min, Max float64 // values outside are errors of the source
	Required bool
}

// DuplicateRules bound which occurrences may be one event under two ids. Agencies, and
// networks of one agency, date and locate the same event differently.
type DuplicateRules struct {
	Time time.Duration // inclusive; without effect for DailyForm, where a shared day decides
	KM   float64       // inclusive
	// Size is the largest difference between the magnitudes that two sources report of one
	// earthquake, inclusive; zero has no effect. It separates a shock from those after it.
	Size decimal.Decimal
	// SameSource: two ids of one source may be one event too.
	SameSource bool
	// Window is the largest difference between the times of two claims that are compared.
	// It exceeds Time and the length of an occurrence, because the time of a claim is the
	// start of its occurrence.
	Window time.Duration
}

// MoratoriumRules are the shipped rules for the sale of cover near an event.
type MoratoriumRules struct {
	Measure  string          // the measure that is compared
	Minimum  decimal.Decimal // inclusive
	RadiusKM float64
	Lasts    time.Duration // from the time of the observation
	// Reason says to rejected partners what was measured of which event, and when.
	Reason func(measured Measure, event string, at time.Time) string
}

var kindRules = []*KindRules{&earthquakeRules, &stormFixRules, &stationDayRules}

// Kinds lists every kind in the contract's order.
func Kinds() []Kind {
	kinds := make([]Kind, len(kindRules))
	for i, rules := range kindRules {
		kinds[i] = rules.Kind
	}
	return kinds
}

// Rules returns the rules of a kind; those of an unknown kind are empty.
func (k Kind) Rules() *KindRules {
	if i := slices.IndexFunc(kindRules, func(r *KindRules) bool { return r.Kind == k }); i >= 0 {
		return kindRules[i]
	}
	return &KindRules{Kind: k}
}

// IsDaily reports whether observations of the kind are days at a station.
func (k Kind) IsDaily() bool { return k.Rules().Form == DailyForm }

// IsFix reports whether observations of the kind are fixes of a track.
func (k Kind) IsFix() bool { return k.Rules().Form == TrackForm }

// FixKinds lists the kinds whose observations are fixes of a track.
func FixKinds() []Kind { return slices.DeleteFunc(Kinds(), func(k Kind) bool { return !k.IsFix() }) }
