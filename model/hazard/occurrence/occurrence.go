package occurrence

import (
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"
	"github.com/uptrace/bun"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/receipts/receipt"
	"parapet/model/wire"
)

// OccurrenceRow is one event: an earthquake, a storm with all its fixes, or a wet spell,
// month or dekad at a station. Its observations are its facts.
type OccurrenceRow struct {
	bun.BaseModel `bun:"table:occurrences,alias:oc"`

	ID            uuid.UUID `bun:",pk,type:uuid"`
	Scope         string
	Version       int64
	CreatedAt     time.Time
	UpdatedAt     time.Time
	Source        string
	SourceEventID string
	Kind          hazard.Kind
	OccurredAt    time.Time // start; at a station the first day
	LastAt        time.Time // end; at a station the last day
	Stage         trigger.Stage
	SourceVersion string
	MergedInto    *uuid.UUID `bun:"type:uuid"`
	FinalTrackAt  *time.Time // when the storm's complete final track was reported
	Station       *string    // rain only
	Definition    *string    // the kind of occurrence at a station; see trigger.Definition

	PeriodEndedAt *time.Time // of a month or dekad: when it was found to be over with days missing; see OpenEndedPeriods

	FactsWithRetracted *trigger.Occurrence `bun:"-"` // the facts including retracted observations; nil if none was retracted

	observed []receipt.ObservationVersion // the reports that the facts come from
	reading  *ReadingRow                  // the facts as determinations refer to them; see Reading
}

// IsRetracted reports whether every reading of the occurrence was retracted.
func (r *OccurrenceRow) IsRetracted() bool { return r.Stage == trigger.Retracted }

// EndedAt returns the end of the occurrence, from which the waits of a measurement count:
// the moment of an earthquake, the last fix of a storm, the end of the last day at a
// station.
func (r *OccurrenceRow) EndedAt() time.Time {
	if r.Kind.IsDaily() {
		return r.LastAt.Add(24 * time.Hour)
	}
	return r.LastAt
}

// AliasRow is another id of an occurrence at its source.
type AliasRow struct {
	bun.BaseModel `bun:"table:occurrence_aliases"`

	Scope        string      `bun:",pk"`
	Source       string      `bun:",pk"`
	Kind         hazard.Kind `bun:",pk"`
	Alias        string      `bun:",pk"`
	OccurrenceID uuid.UUID   `bun:"type:uuid"`
}

// ToBrief returns the short form of an occurrence that claims embed.
func (r *OccurrenceRow) ToBrief(at time.Time) *wire.OccurrenceBrief {
	return &wire.OccurrenceBrief{ID: store.ResourceOccurrence.FormatID(r.ID), Source: r.Source, SourceEventID: r.SourceEventID, OccurredAt: at}
}

// ToFacts returns the facts for the trigger, without retracted observations. If there are
// any, it stores the facts including them in FactsWithRetracted.
func (r *OccurrenceRow) ToFacts(observations []ObservationRow) trigger.Occurrence {
	standing := slices.DeleteFunc(slices.Clone(observations), func(o ObservationRow) bool { return o.isRetracted() })
	r.observed, r.reading = make([]receipt.ObservationVersion, len(standing)), nil
	for i := range standing {
		r.observed[i] = standing[i].toVersion()
	}
	if len(standing) < len(observations) {
		r.FactsWithRetracted = new(r.factsFrom(observations))
	}
	return r.factsFrom(standing)
}

// factsFrom returns the facts from all given observations. Of several reports of one
// earthquake, the final one counts, then the highest revision, then the latest.
func (r *OccurrenceRow) factsFrom(observations []ObservationRow) trigger.Occurrence {
	o := trigger.Occurrence{Source: r.Source, SourceEventID: r.SourceEventID, SourceVersion: r.SourceVersion, Stage: r.Stage}
	switch r.Kind.Rules().Form {
	case hazard.QuakeForm:
		if len(observations) > 0 {
			best := slices.MaxFunc(observations, func(a, b ObservationRow) int {
				return cmp.Or(finalRank(a)-finalRank(b), cmp.Compare(revisionOrNone(a), revisionOrNone(b)), a.UpdatedAt.Compare(b.UpdatedAt))
			})
			o.Quake, o.Stage, o.Unit = best.toQuake(), trigger.Stage(best.Stage), best.Body.Measures["magnitude"].Unit
		}
	case hazard.TrackForm:
		if len(observations) == 0 {
			break
		}
		storm := &hazard.Storm{ID: r.SourceEventID}
		for i := range observations {
			storm.Fixes = append(storm.Fixes, observations[i].toFix())
		}
		o.Storm = storm
	case hazard.DailyForm: // the facts are the days of its station; see LoadStationFacts
	}
	return o
}

func finalRank(o ObservationRow) int {
	if o.Stage == string(trigger.Final) {
		return 1
	}
	return 0
}

func revisionOrNone(o ObservationRow) int64 {
	if o.Revision == nil {
		return -1
	}
	return *o.Revision
}

func (r *ObservationRow) toQuake() *hazard.Quake {
	q := &hazard.Quake{At: r.OccurredAt, Where: *r.Body.Location, EventID: r.SourceEventID}
	if m := r.measuredValue("magnitude"); m != nil {
		q.Magnitude = *m
	}
	q.DepthKM = r.measuredValue("depth")
	return q
}

func (r *ObservationRow) toFix() hazard.Fix {
	return hazard.Fix{At: r.OccurredAt, Where: *r.Body.Location, WindKN: r.measuredValue("wind"), PressureHPA: r.measuredValue("pressure")}
}

// measuredValue returns a measured value; nil when it was not measured.
func (r *ObservationRow) measuredValue(name string) *decimal.Decimal {
	m, ok := r.Body.Measures[name]
	if !ok {
		return nil
	}
	value, err := decimal.NewFromString(m.Value)
	if err != nil { // impossible: it was validated when it was recorded
		return nil
	}
	return &value
}

// CurrentID returns the occurrence's id after merges.
func (r *OccurrenceRow) CurrentID() uuid.UUID {
	if r.MergedInto != nil {
		return *r.MergedInto
	}
	return r.ID
}

// EventNotFound is the error for a source event without an occurrence.
func EventNotFound() *apperr.Error {
	return apperr.Fail(apperr.CodeNotFound, "There is no occurrence of this source with this id.")
}

// WhatIfSource is the source of hypothetical observations.
const WhatIfSource = "what-if"
