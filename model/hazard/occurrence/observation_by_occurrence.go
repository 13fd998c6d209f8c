package occurrence

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// observedRow is an observation with its occurrence, one of several.
type observedRow struct {
	ObservationRow `bun:",extend"`

	Of uuid.UUID `bun:",scanonly"`
}

// ObservationsByOccurrence returns a page of observations for each of several
// occurrences, in one statement. Occurrences that the actor may not see have empty pages.
// A cursor is valid for one occurrence only, also in ListObservations for that
// occurrence. Errors: parameter_invalid, cursor_invalid.
func (s *Service) ObservationsByOccurrence(ctx context.Context, caller actor.Actor, occurrences []string, in store.PageRequest) (map[string]*store.Page[wire.Observation], error) {
	if err := s.Authorize(ctx, caller, actor.ScopeClaimsRead); err != nil {
		return nil, err
	}
	var of []*OccurrenceRow
	if keys := store.ResourceOccurrence.ParseIDs(occurrences); len(keys) > 0 {
		if err := RestrictToScope(caller, s.DB.NewSelect().Model(&of).Where("oc.id in (?)", bun.List(keys))).Scan(ctx); err != nil {
			return nil, store.TranslateError(fmt.Errorf("read occurrences: %w", err))
		}
	}
	counts := sync.OnceValues(func() (map[string]int, error) { return s.countObservations(ctx, caller, of) })
	rows := map[string][]ObservationRow{}
	pages := make(map[string]*store.Page[wire.Observation], len(occurrences))
	for i, id := range occurrences {
		p, err := s.ParsePage(caller, in, HazardFilter{OccurrenceID: id}.cursorName("observations"), store.SortNewestFirst)
		if err == nil && i == 0 { // the pages differ only in the cursor, which is valid for one occurrence
			rows, err = s.loadObservations(ctx, caller, of, p)
		}
		if err != nil {
			return nil, err
		}
		p.Count = func(context.Context) (int, error) {
			all, err := counts()
			return all[id], err
		}
		if pages[id], err = store.NewPage(p, rows[id], func(r *ObservationRow) string { return r.ID.String() }, func(r *ObservationRow) wire.Observation { return *r.toRecord() }); err != nil {
			return nil, err
		}
	}
	return pages, nil
}

// unionAll builds one query from the queries of all occurrences.
func unionAll(occurrences []*OccurrenceRow, each func(*OccurrenceRow) *bun.SelectQuery) (all *bun.SelectQuery) {
	for _, occurrence := range occurrences {
		if q := each(occurrence); all == nil {
			all = q
		} else {
			all = all.UnionAll(q)
		}
	}
	return all
}

func (s *Service) loadObservations(ctx context.Context, actor actor.Actor, occurrences []*OccurrenceRow, p store.PageSpec) (map[string][]ObservationRow, error) {
	if len(occurrences) == 0 {
		return nil, nil
	}
	direction := p.Order
	all := unionAll(occurrences, func(occurrence *OccurrenceRow) *bun.SelectQuery {
		q := occurrence.restrictObservations(RestrictToScope(actor, s.DB.NewSelect().Model((*ObservationRow)(nil)))).ColumnExpr("o.*").ColumnExpr("?::uuid as of", occurrence.ID)
		if p.After != "" {
			q = q.Where("o.id "+direction.Comparison+" ?::uuid", p.After)
		}
		return q.OrderExpr("o.id " + direction.Keyword).Limit(p.FetchLimit())
	})
	var found []observedRow
	if err := s.DB.NewSelect().TableExpr("(?) as o", all).ColumnExpr("o.*").Scan(ctx, &found); err != nil {
		return nil, store.TranslateError(fmt.Errorf("read observations of occurrences: %w", err))
	}
	slices.SortFunc(found, func(a, b observedRow) int {
		if direction == store.SortOldestFirst {
			return bytes.Compare(a.ID[:], b.ID[:])
		}
		return bytes.Compare(b.ID[:], a.ID[:])
	})
	rows := make(map[string][]ObservationRow, len(occurrences))
	for i := range found {
		id := store.ResourceOccurrence.FormatID(found[i].Of)
		rows[id] = append(rows[id], found[i].ObservationRow)
	}
	return rows, nil
}

// countObservations counts the observations of each occurrence, up to MaxTotal+1 each.
func (s *Service) countObservations(ctx context.Context, actor actor.Actor, occurrences []*OccurrenceRow) (map[string]int, error) {
	counts := make(map[string]int, len(occurrences))
	if len(occurrences) == 0 {
		return counts, nil
	}
	all := unionAll(occurrences, func(occurrence *OccurrenceRow) *bun.SelectQuery {
		q := occurrence.restrictObservations(RestrictToScope(actor, s.DB.NewSelect().Model((*ObservationRow)(nil)))).ColumnExpr("?::uuid as of", occurrence.ID)
		return q.Limit(store.MaxTotal + 1)
	})
	var found []struct {
		Of uuid.UUID
		N  int
	}
	if err := s.DB.NewSelect().TableExpr("(?) as o", all).ColumnExpr("o.of, count(*) as n").GroupExpr("o.of").Scan(ctx, &found); err != nil {
		return nil, fmt.Errorf("count observations of occurrences: %w", err)
	}
	for _, f := range found {
		counts[store.ResourceOccurrence.FormatID(f.Of)] = f.N
	}
	return counts, nil
}
