package node

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"parapet/model"
	"parapet/model/wire"
)

// Occurrence is one thing that happened.
type Occurrence struct {
	*wire.Occurrence
	kin *kin
}

// IsNode makes it findable.
func (*Occurrence) IsNode() {}

func (r *Reader) occurrences(records []*wire.Occurrence) []*Occurrence {
	return together(r, records, func(o *wire.Occurrence) string { return o.ID }, func(o *wire.Occurrence, k *kin) *Occurrence { return &Occurrence{o, k} })
}

// Occurrence is one occurrence. Errors: not_found.
func (r *Reader) Occurrence(ctx context.Context, id string) (*Occurrence, error) {
	return one(r.occurrences)(r.Service.GetOccurrence(ctx, r.Actor, id))
}

// Occurrences are what happened, the newest recorded first.
func (r *Reader) Occurrences(ctx context.Context, first *int, after *string, filter *HappenedFilter, order *string) (*OccurrenceConnection, error) {
	return listed(r.occurrences)(r.Service.ListOccurrences(ctx, r.Actor, filter.narrow(), ordered(first, after, order)))
}

// Policies are those that it touched.
func (o *Occurrence) Policies(ctx context.Context, first *int, after *string, nearMisses bool) (*ExplanationConnection, error) {
	r := o.kin.read
	read := func(ctx context.Context, actor model.Actor, ids []string, in model.PageRequest) (map[string]*model.Page[wire.Explanation], error) {
		return r.Service.TouchedBy(ctx, actor, ids, nearMisses, in)
	}
	return members(ctx, o.kin, o.ID, fmt.Sprint("policies", nearMisses), pageOf(first, after), read, r.explanations)
}

// Observations are what it is made of.
func (o *Occurrence) Observations(ctx context.Context, first *int, after, order *string) (*ObservationConnection, error) {
	return members(ctx, o.kin, o.ID, "observations", ordered(first, after, order), o.kin.read.Service.ObservationsOf, observations)
}

// HappenedFilter narrows lists of occurrences and observations.
type HappenedFilter struct {
	Kind         *string
	Source       *string
	OccurrenceID *string
	From         *time.Time
	To           *time.Time
}

func (f *HappenedFilter) narrow() model.HappenedFilter {
	if f == nil {
		return model.HappenedFilter{}
	}
	return model.HappenedFilter{Kind: orEmpty(f.Kind), Source: orEmpty(f.Source), OccurrenceID: orEmpty(f.OccurrenceID), From: f.From, To: f.To}
}

// Observation is one measurement.
type Observation struct{ *wire.Observation }

// IsNode makes it findable.
func (*Observation) IsNode() {}

func observations(records []*wire.Observation) []*Observation {
	return alone(records, func(o *wire.Observation) *Observation { return &Observation{o} })
}

// Observation is one observation. Errors: not_found.
func (r *Reader) Observation(ctx context.Context, id string) (*Observation, error) {
	return one(observations)(r.Service.GetObservation(ctx, r.Actor, id))
}

// Station that measured.
func (o *Observation) Station() *string { return orNil(o.Observation.Station) }

// NamedMeasure is a measured value with its name.
type NamedMeasure struct {
	Name string
	wire.Measure
}

// Measures are the values, by name.
func (o *Observation) Measures() []NamedMeasure {
	measures := make([]NamedMeasure, 0, len(o.Observation.Measures))
	for _, name := range slices.Sorted(maps.Keys(o.Observation.Measures)) {
		measures = append(measures, NamedMeasure{name, o.Observation.Measures[name]})
	}
	return measures
}

// Observations are what sources measured, the newest recorded first.
func (r *Reader) Observations(ctx context.Context, first *int, after *string, filter *HappenedFilter, order *string) (*ObservationConnection, error) {
	return listed(observations)(r.Service.ListObservations(ctx, r.Actor, filter.narrow(), ordered(first, after, order)))
}
