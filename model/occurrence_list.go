package model

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/google/uuid"

	"parapet/model/hazard"
	"parapet/model/wire"
)

// HazardFilter filters lists of occurrences and observations. Empty fields do not filter.
type HazardFilter struct {
	Kind         string
	Source       string
	OccurrenceID string     // observations only
	From         *time.Time // time of the event, inclusive
	To           *time.Time // exclusive
}

// GetOccurrence returns one occurrence. Only the partner itself and operators see a
// partner's sandbox occurrences. Errors: not_found.
func (s *Service) GetOccurrence(ctx context.Context, actor Actor, id string) (*wire.Occurrence, error) {
	return oneOrNotFound[wire.Occurrence](resourceOccurrence, id)(s.OccurrencesByID(ctx, actor, []string{id}))
}

// OccurrencesByID returns, by id, the occurrences that the actor may see.
func (s *Service) OccurrencesByID(ctx context.Context, actor Actor, ids []string) (map[string]*wire.Occurrence, error) {
	if err := s.authorize(ctx, actor, actor.preferScope(ScopePoliciesRead, ScopeClaimsRead)); err != nil {
		return nil, err
	}
	return getManyByID(ctx, s, resourceOccurrence, ids, actor.restrictToScope, func(r *occurrenceRow) (string, *wire.Occurrence) {
		return resourceOccurrence.formatID(r.ID), r.toRecord()
	})
}

func (s *Service) loadOccurrence(ctx context.Context, actor Actor, id string) (*occurrenceRow, error) {
	if err := s.authorize(ctx, actor, ScopeClaimsRead); err != nil {
		return nil, err
	}
	key, err := resourceOccurrence.parseID(id)
	if err != nil {
		return nil, err
	}
	row, err := loadVisibleOccurrence(ctx, s.db, key, actor.Partner)
	return row, translateError(err)
}

// ListOccurrences returns occurrences, most recently recorded first, without those merged
// into others. Errors: parameter_invalid, cursor_invalid.
func (s *Service) ListOccurrences(ctx context.Context, actor Actor, f HazardFilter, in PageRequest) (*Page[wire.Occurrence], error) {
	if err := s.authorize(ctx, actor, ScopeClaimsRead); err != nil {
		return nil, err
	}
	var rows []occurrenceRow
	q, err := f.applyFilter(actor.restrictToScope(s.db.NewSelect().Model(&rows).Where("oc.merged_into is null")))
	if err != nil {
		return nil, err
	}
	p, err := s.fetchPage(ctx, actor, q, in, f.cursorName("occurrences"), newestFirst)
	if err != nil {
		return nil, err
	}
	return newPage(p, rows, func(r *occurrenceRow) string { return r.ID.String() }, func(r *occurrenceRow) wire.Occurrence { return *r.toRecord() })
}

// restrictToScope restricts a query over occurrences or observations to those that the
// actor may see.
func (a Actor) restrictToScope(q *bun.SelectQuery) *bun.SelectQuery {
	if a.Kind == ActorPartner {
		return q.Where("?TableAlias.scope in ('', ?)", a.Partner)
	}
	return q
}

func (f HazardFilter) cursorName(list string) string {
	return fmt.Sprintf("%s?%q", list, []any{f.Kind, f.Source, f.OccurrenceID, f.From, f.To})
}

func (f HazardFilter) applyFilter(q *bun.SelectQuery) (*bun.SelectQuery, error) {
	if f.Kind != "" {
		if !slices.Contains(hazard.Kinds(), hazard.Kind(f.Kind)) {
			return nil, badParameter("kind", "Use earthquake, storm_fix or station_day.")
		}
		q = q.Where("?TableAlias.kind = ?", f.Kind)
	}
	if f.Source != "" {
		q = q.Where("?TableAlias.source = ?", f.Source)
	}
	if f.From != nil {
		q = q.Where("?TableAlias.occurred_at >= ?", *f.From)
	}
	if f.To != nil {
		q = q.Where("?TableAlias.occurred_at < ?", *f.To)
	}
	return q, nil
}

func (r *occurrenceRow) toRecord() *wire.Occurrence {
	return &wire.Occurrence{
		Header: wire.Header{
			ID: resourceOccurrence.formatID(r.ID), Object: resourceOccurrence.name,
			CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, Version: r.Version,
		},
		Source: r.Source, SourceEventID: r.SourceEventID, Kind: string(r.Kind), OccurredAt: r.OccurredAt, LastAt: r.LastAt,
		Stage: string(r.Stage), SourceVersion: r.SourceVersion,
		Station: r.Station, Definition: r.Definition,
		MergedInto: resourceOccurrence.formatOptionalID(r.MergedInto), Sandbox: r.Scope != "",
	}
}

// loadVisibleOccurrence loads an occurrence that the partner may see; any occurrence when
// the partner is empty.
func loadVisibleOccurrence(ctx context.Context, db bun.IDB, id uuid.UUID, partner string) (*occurrenceRow, error) {
	row := new(occurrenceRow)
	q := db.NewSelect().Model(row).Where("oc.id = ?", id)
	if partner != "" {
		q = q.Where("oc.scope in ('', ?)", partner)
	}
	if err := q.Scan(ctx); err != nil {
		if isNoRows(err) {
			return nil, resourceOccurrence.notFoundError()
		}
		return nil, fmt.Errorf("read occurrence: %w", err)
	}
	return row, nil
}
