package occurrence

import (
	"context"

	"github.com/uptrace/bun"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// GetObservation returns one observation. Errors: not_found.
func (s *Service) GetObservation(ctx context.Context, actor actor.Actor, id string) (*wire.Observation, error) {
	return store.OneOrNotFound[wire.Observation](store.ResourceObservation, id)(s.ObservationsByID(ctx, actor, []string{id}))
}

// ObservationsByID returns, by id, the observations that the actor may see.
func (s *Service) ObservationsByID(ctx context.Context, caller actor.Actor, ids []string) (map[string]*wire.Observation, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeClaimsRead); err != nil {
		return nil, err
	}
	return store.GetManyByID(ctx, s.Store, store.ResourceObservation, ids, func(q *bun.SelectQuery) *bun.SelectQuery { return RestrictToScope(caller, q) }, func(r *ObservationRow) (string, *wire.Observation) {
		return store.ResourceObservation.FormatID(r.ID), r.toRecord()
	})
}

// ListObservations returns observations, most recently recorded first. For an occurrence
// at a station they are its days. Errors: parameter_invalid, cursor_invalid; not_found
// for an unknown occurrence.
func (s *Service) ListObservations(ctx context.Context, caller actor.Actor, f HazardFilter, in store.PageRequest) (*store.Page[wire.Observation], error) {
	if err := s.Authorize(ctx, caller, actor.ScopeClaimsRead); err != nil {
		return nil, err
	}
	var rows []ObservationRow
	q, err := f.applyFilter(RestrictToScope(caller, s.DB.NewSelect().Model(&rows)))
	if err != nil {
		return nil, err
	}
	if f.OccurrenceID != "" {
		of, err := s.loadOccurrence(ctx, caller, f.OccurrenceID)
		if err != nil {
			return nil, err
		}
		q = of.restrictObservations(q)
	}
	p, err := s.FetchPage(ctx, caller, q, in, f.cursorName("observations"), store.SortNewestFirst)
	if err != nil {
		return nil, err
	}
	return store.NewPage(p, rows, func(r *ObservationRow) string { return r.ID.String() }, func(r *ObservationRow) wire.Observation { return *r.toRecord() })
}

// restrictObservations restricts a query to the observations of an occurrence.
func (r *OccurrenceRow) restrictObservations(q *bun.SelectQuery) *bun.SelectQuery {
	if r.Station != nil {
		return q.Where("o.station = ?", *r.Station).Where("o.source = ?", r.Source).Where("o.scope = ?", r.Scope).
			Where("o.day between ?::date and ?::date", r.OccurredAt, r.LastAt)
	}
	return q.Where("o.occurrence_id = ?", r.ID)
}
