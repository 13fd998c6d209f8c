package model

import (
	"context"

	"github.com/uptrace/bun"

	"parapet/model/wire"
)

// GetObservation returns one observation. Errors: not_found.
func (s *Service) GetObservation(ctx context.Context, actor Actor, id string) (*wire.Observation, error) {
	return oneOrNotFound[wire.Observation](resourceObservation, id)(s.ObservationsByID(ctx, actor, []string{id}))
}

// ObservationsByID returns, by id, the observations that the actor may see.
func (s *Service) ObservationsByID(ctx context.Context, actor Actor, ids []string) (map[string]*wire.Observation, error) {
	if err := s.authorize(ctx, actor, ScopeClaimsRead); err != nil {
		return nil, err
	}
	return getManyByID(ctx, s, resourceObservation, ids, actor.restrictToScope, func(r *observationRow) (string, *wire.Observation) {
		return resourceObservation.formatID(r.ID), r.toRecord()
	})
}

// ListObservations returns observations, most recently recorded first. For an occurrence
// at a station they are its days. Errors: parameter_invalid, cursor_invalid; not_found
// for an unknown occurrence.
func (s *Service) ListObservations(ctx context.Context, actor Actor, f HazardFilter, in PageRequest) (*Page[wire.Observation], error) {
	if err := s.authorize(ctx, actor, ScopeClaimsRead); err != nil {
		return nil, err
	}
	var rows []observationRow
	q, err := f.applyFilter(actor.restrictToScope(s.db.NewSelect().Model(&rows)))
	if err != nil {
		return nil, err
	}
	if f.OccurrenceID != "" {
		of, err := s.loadOccurrence(ctx, actor, f.OccurrenceID)
		if err != nil {
			return nil, err
		}
		q = of.restrictObservations(q)
	}
	p, err := s.fetchPage(ctx, actor, q, in, f.cursorName("observations"), newestFirst)
	if err != nil {
		return nil, err
	}
	return newPage(p, rows, func(r *observationRow) string { return r.ID.String() }, func(r *observationRow) wire.Observation { return *r.toRecord() })
}

// restrictObservations restricts a query to the observations of an occurrence.
func (r *occurrenceRow) restrictObservations(q *bun.SelectQuery) *bun.SelectQuery {
	if r.Station != nil {
		return q.Where("o.station = ?", *r.Station).Where("o.source = ?", r.Source).Where("o.scope = ?", r.Scope).
			Where("o.day between ?::date and ?::date", r.OccurredAt, r.LastAt)
	}
	return q.Where("o.occurrence_id = ?", r.ID)
}
