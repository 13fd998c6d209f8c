package model

import (
	"context"

	"github.com/uptrace/bun"

	"parapet/model/wire"
)

// GetObservation is one observation. Errors: not_found.
func (s *Service) GetObservation(ctx context.Context, actor Actor, id string) (*wire.Observation, error) {
	return only[wire.Observation](nounObservation, id)(s.ObservationsByID(ctx, actor, []string{id}))
}

// ObservationsByID are those of the observations that the actor may see, by id.
func (s *Service) ObservationsByID(ctx context.Context, actor Actor, ids []string) (map[string]*wire.Observation, error) {
	if err := s.authorize(ctx, actor, ScopeClaimsRead); err != nil {
		return nil, err
	}
	return byID(ctx, s, nounObservation, ids, actor.scoped, func(r *observationRow) (string, *wire.Observation) { return nounObservation.id(r.ID), r.public() })
}

// ListObservations are observations, the newest recorded first. An
// occurrence at a station has its days. Errors:
// parameter_invalid, cursor_invalid; not_found for an unknown occurrence.
func (s *Service) ListObservations(ctx context.Context, actor Actor, f HappenedFilter, in PageRequest) (*Page[wire.Observation], error) {
	if err := s.authorize(ctx, actor, ScopeClaimsRead); err != nil {
		return nil, err
	}
	var rows []observationRow
	q, err := f.narrow(actor.scoped(s.db.NewSelect().Model(&rows)))
	if err != nil {
		return nil, err
	}
	if f.OccurrenceID != "" {
		of, err := s.occurrenceOf(ctx, actor, f.OccurrenceID)
		if err != nil {
			return nil, err
		}
		q = of.observed(q)
	}
	p, err := s.fetch(ctx, actor, q, in, f.name("observations"), newestFirst)
	if err != nil {
		return nil, err
	}
	return paged(p, rows, func(r *observationRow) string { return r.ID.String() }, func(r *observationRow) wire.Observation { return *r.public() })
}

// observed narrows a query to the observations of an occurrence.
func (r *occurrenceRow) observed(q *bun.SelectQuery) *bun.SelectQuery {
	if r.Station != nil {
		return q.Where("o.station = ?", *r.Station).Where("o.source = ?", r.Source).Where("o.scope = ?", r.Scope).
			Where("o.day between ?::date and ?::date", r.OccurredAt, r.LastAt)
	}
	return q.Where("o.occurrence_id = ?", r.ID)
}
