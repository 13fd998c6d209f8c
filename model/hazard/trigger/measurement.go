package trigger

import (
	"fmt"
	"regexp"
	"time"

	"github.com/shopspring/decimal"

	"parapet/model/hazard"
)

// Measurement names the sources that decide a cover, and how their readings become one
// determination. Package hazard/measurement applies it.
type Measurement struct {
	Sources []MeasurementSource `json:"sources"` // in order of rank
	Rule    MeasurementRule     `json:"rule"`
	// Wait is the time from the end of the occurrence to the decision when not all sources
	// have reported (ISO 8601).
	Wait     string              `json:"wait"`
	Fallback MeasurementFallback `json:"fallback"`
	// LongStop is the time from the end of the occurrence after which nothing is determined
	// any more (ISO 8601).
	LongStop string `json:"long_stop"`
	// ChallengeWindow is the time from a decision in which a partner may contest it (ISO 8601).
	ChallengeWindow string `json:"challenge_window"`
}

// MeasurementSource is a source and the stage from which its readings count.
type MeasurementSource struct {
	Source string `json:"source"`
	Stage  Stage  `json:"stage"`
}

// MeasurementRule selects the determination of one source. It never blends readings.
type MeasurementRule struct {
	Kind MeasurementRuleKind `json:"kind"`
	M    int                 `json:"m,omitzero"` // m_of_n: how many sources must agree
	// Tolerance is the largest difference between readings that agree, in the unit of the
	// trigger's index; only for m_of_n.
	Tolerance *hazard.Measure `json:"tolerance,omitempty"`
}

// MeasurementRuleKind is the kind of a rule.
type MeasurementRuleKind string

const (
	// FirstOf selects the source of the highest rank that reported in time.
	FirstOf MeasurementRuleKind = "first_of"
	// MOfN selects the middle reading of the largest set of sources that agree.
	MOfN MeasurementRuleKind = "m_of_n"
	// WorstOf selects the smallest amount of the sources that reported in time.
	WorstOf MeasurementRuleKind = "worst_of"
	// BestOf selects the largest amount of the sources that reported in time.
	BestOf MeasurementRuleKind = "best_of"
)

// MeasurementFallback is what happens when the rule selected no source in time.
type MeasurementFallback string

const (
	// FallbackNextRank selects the highest rank that reports at all.
	FallbackNextRank MeasurementFallback = "next_rank"
	// FallbackOperator leaves the decision to an operator.
	FallbackOperator MeasurementFallback = "operator"
	// FallbackNone waits for the sources until the long stop.
	FallbackNone MeasurementFallback = "none"
)

// maxMeasurementSources bounds the sources of a cover.
const maxMeasurementSources = 5

var sourceNamePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

// MeasurementFault is an invalid member of a measurement; Pointer is a JSON pointer into it.
type MeasurementFault struct{ Pointer, Detail string }

// Faults returns all faults of a measurement for a trigger, each with what is allowed.
func (m Measurement) Faults(t Trigger) (faults []MeasurementFault) {
	fault := func(wrong bool, pointer, format string, args ...any) {
		if wrong {
			faults = append(faults, MeasurementFault{pointer, fmt.Sprintf(format, args...)})
		}
	}
	n := len(m.Sources)
	fault(n < 1 || n > maxMeasurementSources, "/sources", "name 1 to %d sources, the highest rank first", maxMeasurementSources)
	seen := make(map[string]bool, n)
	for i, s := range m.Sources {
		at := fmt.Sprintf("/sources/%d", i)
		fault(!sourceNamePattern.MatchString(s.Source), at+"/source", "use the name of a registered source, such as usgs")
		fault(seen[s.Source], at+"/source", "%s is there twice: name each source once", s.Source)
		fault(s.Stage != Preliminary && s.Stage != Final, at+"/stage", "use preliminary or final")
		seen[s.Source] = true
	}
	m.Rule.checkAgreement(n, t, fault)
	fault(m.Fallback != FallbackNextRank && m.Fallback != FallbackOperator && m.Fallback != FallbackNone, "/fallback", "use next_rank, operator or none")
	start := time.Unix(0, 0)
	wait, waitErr := AddDuration(start, m.Wait)
	stop, stopErr := AddDuration(start, m.LongStop)
	_, windowErr := AddDuration(start, m.ChallengeWindow)
	for _, each := range []struct {
		pointer string
		err     error
	}{{"/wait", waitErr}, {"/long_stop", stopErr}, {"/challenge_window", windowErr}} {
		if each.err != nil {
			fault(true, each.pointer, "%v", each.err)
		}
	}
	fault(waitErr == nil && stopErr == nil && !stop.After(wait), "/long_stop", "the long stop %s must come after the wait %s", m.LongStop, m.Wait)
	return faults
}

// checkAgreement checks the members of the rule for n sources.
func (r MeasurementRule) checkAgreement(n int, t Trigger, fault func(wrong bool, pointer, format string, args ...any)) {
	switch r.Kind {
	case FirstOf, WorstOf, BestOf:
		fault(r.M != 0, "/rule/m", "only m_of_n has m: leave it out")
		fault(r.Tolerance != nil, "/rule/tolerance", "only m_of_n has a tolerance: leave it out")
		return
	case MOfN:
	default:
		fault(true, "/rule/kind", "use first_of, m_of_n, worst_of or best_of")
		return
	}
	fault(r.M < 1 || r.M > n, "/rule/m", "%d of %d sources cannot agree: use a number from 1 to %d", r.M, n, n)
	if r.Tolerance == nil {
		fault(true, "/rule/tolerance", "m_of_n needs a tolerance in %s", t.Unit)
		return
	}
	fault(r.Tolerance.Unit != t.Unit, "/rule/tolerance/unit", "the tolerance has the unit of the index, %s, not %s", t.Unit, r.Tolerance.Unit)
	value, err := decimal.NewFromString(r.Tolerance.Value)
	fault(err != nil || value.IsNegative(), "/rule/tolerance/value", "use a decimal of at least 0, such as 0.3")
}

// Names reports whether the cover is decided by readings of a source. A cover without a
// measurement accepts every source.
func (c Cover) Names(source string) bool {
	if c.Measurement == nil {
		return true
	}
	return c.Measurement.Rank(source) >= 0
}

// EvaluateReport is Evaluate for an occurrence that a source reported. An occurrence of a
// source that the terms do not name meets no trigger; its index and distance are kept for
// comparison.
func EvaluateReport(c Cover, p Period, payableFrom time.Time, o Occurrence) Determination {
	return c.refuseUnnamed(o, Evaluate(c, p, payableFrom, o))
}

// EvaluateReportOfAnyBasin is EvaluateReport without the rule of basins: determinations
// before it were made so.
func EvaluateReportOfAnyBasin(c Cover, p Period, payableFrom time.Time, o Occurrence) Determination {
	return c.refuseUnnamed(o, evaluate(c, p, payableFrom, o, true))
}

func (c Cover) refuseUnnamed(o Occurrence, d Determination) Determination {
	if !c.Names(o.Source) {
		d.Met, d.Reason, d.Factor, d.Amount = false, SourceNotNamed, decimal.Zero, 0
	}
	return d
}

// Rank returns the rank of a source, 0 for the highest, and -1 for a source that is not named.
func (m *Measurement) Rank(source string) int {
	for i := range m.Sources {
		if m.Sources[i].Source == source {
			return i
		}
	}
	return -1
}

// DecidingStage returns the stage from which readings decide the cover. With several
// sources it is that of the highest rank.
func (c Cover) DecidingStage() Stage {
	if c.Measurement != nil {
		return c.Measurement.Sources[0].Stage
	}
	return c.Trigger.DecidesOn
}

// IsMeasured reports whether not all readings of the occurrence were retracted.
func (o Occurrence) IsMeasured() bool { return o.Quake != nil || o.Storm != nil || o.AtStation != nil }

// HasSeveralSources reports whether several sources decide the cover.
func (c Cover) HasSeveralSources() bool {
	return c.Measurement != nil && len(c.Measurement.Sources) > 1
}
