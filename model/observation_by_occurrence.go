package model

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/wire"
)

// observedRow is an observation of one of several occurrences.
type observedRow struct {
	observationRow `bun:",extend"`

	Of uuid.UUID `bun:",scanonly"`
}

// ObservationsOf are the observations of several occurrences, a page of each, in
// one statement; those that the actor may not see have empty pages. A cursor is
// good for one occurrence only, and for ListObservations with it. Errors:
// parameter_invalid, cursor_invalid.
func (s *Service) ObservationsOf(ctx context.Context, actor Actor, occurrences []string, in PageRequest) (map[string]*Page[wire.Observation], error) {
	if err := s.authorize(ctx, actor, ScopeClaimsRead); err != nil {
		return nil, err
	}
	var of []*occurrenceRow
	if keys := nounOccurrence.parseAll(occurrences); len(keys) > 0 {
		if err := actor.scoped(s.db.NewSelect().Model(&of).Where("oc.id in (?)", bun.List(keys))).Scan(ctx); err != nil {
			return nil, explain(fmt.Errorf("read occurrences: %w", err))
		}
	}
	counts := sync.OnceValues(func() (map[string]int, error) { return s.observedCounts(ctx, actor, of) })
	rows := map[string][]observationRow{}
	pages := make(map[string]*Page[wire.Observation], len(occurrences))
	for i, id := range occurrences {
		p, err := s.page(actor, in, HappenedFilter{OccurrenceID: id}.name("observations"))
		if err == nil && i == 0 { // they differ in nothing but the cursor, which is one occurrence's
			rows, err = s.observedRows(ctx, actor, of, p)
		}
		if err != nil {
			return nil, err
		}
		p.count = func(context.Context) (int, error) {
			all, err := counts()
			return all[id], err
		}
		if pages[id], err = paged(p, rows[id], func(r *observationRow) string { return r.ID.String() }, func(r *observationRow) wire.Observation { return *r.public() }); err != nil {
			return nil, err
		}
	}
	return pages, nil
}

// together is one query of as many as there are occurrences.
func together(of []*occurrenceRow, each func(*occurrenceRow) *bun.SelectQuery) (all *bun.SelectQuery) {
	for _, occurrence := range of {
		if q := each(occurrence); all == nil {
			all = q
		} else {
			all = all.UnionAll(q)
		}
	}
	return all
}

func (s *Service) observedRows(ctx context.Context, actor Actor, of []*occurrenceRow, p page) (map[string][]observationRow, error) {
	if len(of) == 0 {
		return nil, nil
	}
	along := p.along.or(newestFirst)
	all := together(of, func(occurrence *occurrenceRow) *bun.SelectQuery {
		q := occurrence.observed(actor.scoped(s.db.NewSelect().Model((*observationRow)(nil)))).ColumnExpr("o.*").ColumnExpr("?::uuid as of", occurrence.ID)
		if p.after != "" {
			q = q.Where("o.id "+along.beyond+" ?::uuid", p.after)
		}
		return q.OrderExpr("o.id " + along.order).Limit(p.fetch())
	})
	var found []observedRow
	if err := s.db.NewSelect().TableExpr("(?) as o", all).ColumnExpr("o.*").Scan(ctx, &found); err != nil {
		return nil, explain(fmt.Errorf("read observations of occurrences: %w", err))
	}
	slices.SortFunc(found, func(a, b observedRow) int {
		if along == oldestFirst {
			return bytes.Compare(a.ID[:], b.ID[:])
		}
		return bytes.Compare(b.ID[:], a.ID[:])
	})
	rows := make(map[string][]observationRow, len(of))
	for i := range found {
		id := nounOccurrence.id(found[i].Of)
		rows[id] = append(rows[id], found[i].observationRow)
	}
	return rows, nil
}

// observedCounts are how many observations occurrences have, up to one more than
// MaxTotal each.
func (s *Service) observedCounts(ctx context.Context, actor Actor, of []*occurrenceRow) (map[string]int, error) {
	counts := make(map[string]int, len(of))
	if len(of) == 0 {
		return counts, nil
	}
	all := together(of, func(occurrence *occurrenceRow) *bun.SelectQuery {
		q := occurrence.observed(actor.scoped(s.db.NewSelect().Model((*observationRow)(nil)))).ColumnExpr("?::uuid as of", occurrence.ID)
		return q.Limit(MaxTotal + 1)
	})
	var found []struct {
		Of uuid.UUID
		N  int
	}
	if err := s.db.NewSelect().TableExpr("(?) as o", all).ColumnExpr("o.of, count(*) as n").GroupExpr("o.of").Scan(ctx, &found); err != nil {
		return nil, fmt.Errorf("count observations of occurrences: %w", err)
	}
	for _, f := range found {
		counts[nounOccurrence.id(f.Of)] = f.N
	}
	return counts, nil
}
