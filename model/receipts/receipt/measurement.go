package receipt

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"parapet/model/hazard"
	"parapet/model/hazard/measurement"
	"parapet/model/hazard/trigger"
	"parapet/model/wire"
)

// MeasuredState is how far the measurement of a determination had come.
type MeasuredState string

const (
	// MeasuredWaiting: the wait for the sources had not ended.
	MeasuredWaiting MeasuredState = "waiting"
	// MeasuredSelected: the rule selected a source.
	MeasuredSelected MeasuredState = "selected"
	// MeasuredFallback: the fallback selected a source.
	MeasuredFallback MeasuredState = "fallback"
	// MeasuredKept: the source that decided the claim before still counts.
	MeasuredKept MeasuredState = "kept"
	// MeasuredOperator: an operator determines, by evidence.
	MeasuredOperator MeasuredState = "operator"
	// MeasuredStopped: the long stop came before a source was selected.
	MeasuredStopped MeasuredState = "stopped"
)

// SourceReading is what one source reported of an event, as it was evaluated.
type SourceReading struct {
	measurement.Reading

	Facts  trigger.Occurrence
	Digest string // of the facts
}

// NewMeasurement returns what the rule of the terms made of the readings at an instant.
// kept means that the selected source decided the claim before.
func NewMeasurement(c trigger.Cover, readings []SourceReading, outcome measurement.Outcome, kept bool, now time.Time) *wire.MeasurementResult {
	m := &wire.MeasurementResult{State: string(outcome.State), EvaluatedAt: now, DeadlineAt: outcome.DeadlineAt, LongStopAt: outcome.LongStopAt, Sources: []wire.SourceReading{}}
	switch {
	case kept:
		m.State = string(MeasuredKept)
	case outcome.Fallback:
		m.State = string(MeasuredFallback)
	}
	if outcome.Selected >= 0 {
		m.SelectedSource = &c.Measurement.Sources[outcome.Selected].Source
	}
	for i := range readings {
		r := &readings[i]
		alone := ToDetermination(c, "", r.Facts, r.Determination)
		source := wire.SourceReading{
			Source: r.Facts.Source, SourceEventID: r.Facts.SourceEventID, SourceVersion: r.Facts.SourceVersion, Stage: alone.Stage, EndedAt: r.EndedAt,
			Index: alone.Index, Amount: alone.Amount, Reason: string(r.Determination.Reason), Used: slices.Contains(outcome.Used, r.Rank), ReadingsDigest: r.Digest,
		}
		if r.Counts {
			source.CountedAt = &r.CountedAt
		}
		m.Sources = append(m.Sources, source)
	}
	return m
}

// Digests returns the digests of the readings that the determination was computed from.
func (h *Hashed) Digests() (digests []string) {
	if h == nil || h.ReadingsDigest == "" {
		return nil
	}
	digests = append(digests, h.ReadingsDigest)
	if m := h.Determination.Measurement; m != nil {
		for _, source := range m.Sources {
			digests = append(digests, source.ReadingsDigest)
		}
	}
	return digests
}

// SelectReading applies the terms to readings. The source that decided the claim before, if
// any, stays selected.
func SelectReading(terms trigger.Measurement, readings []SourceReading, before string, now time.Time) measurement.Outcome {
	plain := make([]measurement.Reading, len(readings))
	for i := range readings {
		plain[i] = readings[i].Reading
	}
	outcome := measurement.Select(terms, plain, now)
	if before != "" {
		outcome.State, outcome.Selected, outcome.Fallback = measurement.Selected, terms.Rank(before), false
	}
	return outcome
}

// endOf returns the end of an occurrence, from which the waits of a measurement count.
func endOf(o trigger.Occurrence) time.Time {
	switch {
	case o.Quake != nil:
		return o.Quake.At
	case o.Storm != nil && len(o.Storm.Fixes) > 0:
		last := slices.MaxFunc(o.Storm.Fixes, func(a, b hazard.Fix) int { return a.At.Compare(b.At) })
		return last.At
	case o.AtStation != nil:
		return o.AtStation.Last.Add(24 * time.Hour)
	}
	return time.Time{}
}

// RecomputeMeasurement evaluates the readings of all sources again and applies the rule of
// the terms. Inputs are when each source reported, and when it was decided. before is the
// source that decided the part before; empty for the first.
func (h *Hashed) RecomputeMeasurement(c trigger.Cover, readings map[string]*Facts, before string) (*wire.MeasurementResult, error) {
	stated, evaluate := h.Determination.Measurement, triggerVersions[h.TriggerVersion]
	if stated == nil || c.Measurement == nil || evaluate == nil || h.PayableFrom == nil {
		return nil, nil //nolint:nilnil // one source decides
	}
	var all []SourceReading
	for _, source := range stated.Sources {
		facts := readings[source.ReadingsDigest]
		if facts == nil {
			return nil, fmt.Errorf("the receipt has no readings with the digest %s", source.ReadingsDigest)
		}
		o, err := facts.Occurrence(nil)
		if err != nil {
			return nil, err
		}
		r := SourceReading{Facts: o, Digest: source.ReadingsDigest}
		r.Rank, r.EndedAt = c.Measurement.Rank(o.Source), endOf(o)
		r.Determination = evaluate(c, trigger.Period{From: h.CoverFrom, To: h.CoverTo}, *h.PayableFrom, o)
		if r.Rank < 0 || slices.ContainsFunc(all, func(other SourceReading) bool { return other.Rank == r.Rank }) {
			return nil, fmt.Errorf("the terms name %s once among the sources, or not at all", o.Source)
		}
		if r.Counts = source.CountedAt != nil && (o.Stage == trigger.Final || c.Measurement.Sources[r.Rank].Stage == trigger.Preliminary); r.Counts {
			r.CountedAt = *source.CountedAt
		}
		all = append(all, r)
	}
	if len(all) == 0 {
		return nil, errors.New("no source reported")
	}
	return NewMeasurement(c, all, SelectReading(*c.Measurement, all, before, stated.EvaluatedAt), before != "", stated.EvaluatedAt), nil
}
