package occurrence

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/hazard"
	"parapet/model/hazard/summary"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
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

// Get returns one occurrence. Only the partner itself and operators see a
// partner's sandbox occurrences. Errors: not_found.
func (s *Service) Get(ctx context.Context, actor actor.Actor, id string) (*wire.Occurrence, error) {
	return store.OneOrNotFound[wire.Occurrence](store.ResourceOccurrence, id)(s.ByID(ctx, actor, []string{id}))
}

// ByID returns, by id, the occurrences that the actor may see.
func (s *Service) ByID(ctx context.Context, caller actor.Actor, ids []string) (map[string]*wire.Occurrence, error) {
	if err := s.Authorize(ctx, caller, caller.PreferScope(actor.ScopePoliciesRead, actor.ScopeClaimsRead)); err != nil {
		return nil, err
	}
	found, err := store.GetManyByID(ctx, s.Store, store.ResourceOccurrence, ids, func(q *bun.SelectQuery) *bun.SelectQuery { return RestrictToScope(caller, q) }, func(r *OccurrenceRow) (string, *wire.Occurrence) {
		return store.ResourceOccurrence.FormatID(r.ID), r.ToRecord()
	})
	if err != nil {
		return nil, err
	}
	return found, summary.Add(ctx, s.DB, found)
}

func (s *Service) loadOccurrence(ctx context.Context, caller actor.Actor, id string) (*OccurrenceRow, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeClaimsRead); err != nil {
		return nil, err
	}
	key, err := store.ResourceOccurrence.ParseID(id)
	if err != nil {
		return nil, err
	}
	row, err := LoadVisibleOccurrence(ctx, s.DB, key, caller.Partner)
	return row, store.TranslateError(err)
}

// List returns occurrences, most recently recorded first, without those merged
// into others. Errors: parameter_invalid, cursor_invalid.
func (s *Service) List(ctx context.Context, caller actor.Actor, f HazardFilter, in store.PageRequest) (*store.Page[wire.Occurrence], error) {
	if err := s.Authorize(ctx, caller, actor.ScopeClaimsRead); err != nil {
		return nil, err
	}
	var rows []OccurrenceRow
	q, err := f.applyFilter(RestrictToScope(caller, s.DB.NewSelect().Model(&rows).Where("oc.merged_into is null")))
	if err != nil {
		return nil, err
	}
	p, err := s.FetchPage(ctx, caller, q, in, f.cursorName("occurrences"), store.SortNewestFirst)
	if err != nil {
		return nil, err
	}
	page, err := store.NewPage(p, rows, func(r *OccurrenceRow) string { return r.ID.String() }, func(r *OccurrenceRow) wire.Occurrence { return *r.ToRecord() })
	if err != nil {
		return nil, err
	}
	records := make(map[string]*wire.Occurrence, len(page.Data))
	for i := range page.Data {
		records[page.Data[i].ID] = &page.Data[i]
	}
	return page, summary.Add(ctx, s.DB, records)
}

// RestrictToScope restricts a query over occurrences or observations to those that the
// actor may see.
func RestrictToScope(a actor.Actor, q *bun.SelectQuery) *bun.SelectQuery {
	if a.Kind == actor.KindPartner {
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
			return nil, apperr.InvalidParameter("kind", "Use earthquake, storm_fix or station_day.")
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

// ToRecord returns the public record of an occurrence.
func (r *OccurrenceRow) ToRecord() *wire.Occurrence {
	return &wire.Occurrence{
		Header: wire.Header{
			ID: store.ResourceOccurrence.FormatID(r.ID), Object: store.ResourceOccurrence.Name,
			CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, Version: r.Version,
		},
		Source: r.Source, SourceEventID: r.SourceEventID, Kind: string(r.Kind), OccurredAt: r.OccurredAt, LastAt: r.LastAt,
		Stage: string(r.Stage), SourceVersion: r.SourceVersion,
		Station: r.Station, Definition: r.Definition,
		MergedInto: store.ResourceOccurrence.FormatOptionalID(r.MergedInto), Sandbox: r.Scope != "",
	}
}

// LoadVisibleOccurrence loads an occurrence that the partner may see; any occurrence when
// the partner is empty.
func LoadVisibleOccurrence(ctx context.Context, db bun.IDB, id uuid.UUID, partner string) (*OccurrenceRow, error) {
	row := new(OccurrenceRow)
	q := db.NewSelect().Model(row).Where("oc.id = ?", id)
	if partner != "" {
		q = q.Where("oc.scope in ('', ?)", partner)
	}
	if err := q.Scan(ctx); err != nil {
		if store.IsNoRows(err) {
			return nil, store.ResourceOccurrence.NotFoundError()
		}
		return nil, fmt.Errorf("read occurrence: %w", err)
	}
	return row, nil
}
