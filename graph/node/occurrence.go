package node

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"parapet/model/hazard/occurrence"
	"parapet/model/insight/progress"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/optional"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// Occurrence is a recorded occurrence.
type Occurrence struct {
	*wire.Occurrence
	batch *batch
}

// IsNode implements Node.
func (*Occurrence) IsNode() {}

func (r *Reader) newOccurrences(records []*wire.Occurrence) []*Occurrence {
	return newBatch(r, records, func(o *wire.Occurrence) string { return o.ID }, nil, func(o *wire.Occurrence, b *batch) *Occurrence { return &Occurrence{o, b} })
}

// Occurrence returns an occurrence. Errors: not_found.
func (r *Reader) Occurrence(ctx context.Context, id string) (*Occurrence, error) {
	return toNode(r.newOccurrences)(r.Service.Occurrences.Get(ctx, r.Actor, id))
}

// Occurrences lists occurrences, most recently recorded first.
func (r *Reader) Occurrences(ctx context.Context, first *int, after *string, filter *HazardFilter, order *string) (*OccurrenceConnection, error) {
	return toConnection(r.newOccurrences)(r.Service.Occurrences.List(ctx, r.Actor, filter.toModel(), orderedPage(first, after, order)))
}

// Policies lists the affected policies.
func (o *Occurrence) Policies(ctx context.Context, first *int, after *string, nearMisses bool) (*ExplanationConnection, error) {
	r := o.batch.reader
	read := func(ctx context.Context, actor actor.Actor, ids []string, in store.PageRequest) (map[string]*store.Page[wire.Explanation], error) {
		return r.Service.Scenarios.AffectedPolicies(ctx, actor, ids, nearMisses, in)
	}
	return loadPages(ctx, o.batch, o.ID, fmt.Sprint("policies", nearMisses), pageRequest(first, after), read, r.newExplanations)
}

// Observations lists the observations of the occurrence.
func (o *Occurrence) Observations(ctx context.Context, first *int, after, order *string) (*ObservationConnection, error) {
	return loadPages(ctx, o.batch, o.ID, "observations", orderedPage(first, after, order), o.batch.reader.Service.Occurrences.ObservationsByOccurrence, newObservations)
}

// Progress returns how far the occurrence is matched, decided and paid.
func (o *Occurrence) Progress(ctx context.Context) (*wire.OccurrenceProgress, error) {
	r := o.batch.reader
	return loadRelation(ctx, o.batch, o.ID, "progress", func(ctx context.Context) (map[string]*wire.OccurrenceProgress, error) {
		return r.Service.Progress.ByID(ctx, r.Actor, o.batch.ids)
	})
}

// OwedByProduct returns what the claims of the occurrence owe.
func (o *Occurrence) OwedByProduct(ctx context.Context) ([]progress.ProductOwed, error) {
	r := o.batch.reader
	return loadRelation(ctx, o.batch, o.ID, "owedByProduct", func(ctx context.Context) (map[string][]progress.ProductOwed, error) {
		return r.Service.Progress.ByProduct(ctx, r.Actor, o.batch.ids)
	})
}

// HazardFilter filters lists of occurrences and observations.
type HazardFilter struct {
	Kind         *string
	Source       *string
	OccurrenceID *string
	From         *time.Time
	To           *time.Time
}

func (f *HazardFilter) toModel() occurrence.HazardFilter {
	if f == nil {
		return occurrence.HazardFilter{}
	}
	return occurrence.HazardFilter{Kind: optional.OrZero(f.Kind), Source: optional.OrZero(f.Source), OccurrenceID: optional.OrZero(f.OccurrenceID), From: f.From, To: f.To}
}

// Observation is a recorded observation.
type Observation struct{ *wire.Observation }

// IsNode implements Node.
func (*Observation) IsNode() {}

func newObservations(records []*wire.Observation) []*Observation {
	return wrapEach(records, func(o *wire.Observation) *Observation { return &Observation{o} })
}

// Observation returns an observation. Errors: not_found.
func (r *Reader) Observation(ctx context.Context, id string) (*Observation, error) {
	return toNode(newObservations)(r.Service.Occurrences.GetObservation(ctx, r.Actor, id))
}

// Station returns the station that measured.
func (o *Observation) Station() *string { return orNil(o.Observation.Station) }

// Measures returns the values sorted by name.
func (o *Observation) Measures() []wire.NamedMeasure {
	measures := make([]wire.NamedMeasure, 0, len(o.Observation.Measures))
	for _, name := range slices.Sorted(maps.Keys(o.Observation.Measures)) {
		measures = append(measures, wire.NamedMeasure{Name: name, Measure: o.Observation.Measures[name]})
	}
	return measures
}

// Observations lists observations, most recently recorded first.
func (r *Reader) Observations(ctx context.Context, first *int, after *string, filter *HazardFilter, order *string) (*ObservationConnection, error) {
	return toConnection(newObservations)(r.Service.Occurrences.ListObservations(ctx, r.Actor, filter.toModel(), orderedPage(first, after, order)))
}

// ObservationRevision is an observation as it was after one report.
type ObservationRevision struct {
	*Observation
	RecordedAt time.Time
	Changed    []string
}

func newObservationRevisions(records []*wire.ObservationRevision) []*ObservationRevision {
	return wrapEach(records, func(r *wire.ObservationRevision) *ObservationRevision {
		return &ObservationRevision{&Observation{&r.Observation}, r.RecordedAt, r.Changed}
	})
}

// ObservationRevisions lists the reports of an observation, the first one first. Errors:
// not_found.
func (r *Reader) ObservationRevisions(ctx context.Context, id string, first *int, after, order *string) (*ObservationRevisionConnection, error) {
	return toConnection(newObservationRevisions)(r.Service.Occurrences.ListRevisions(ctx, r.Actor, id, orderedPage(first, after, order)))
}
