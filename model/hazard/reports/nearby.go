package reports

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/hazard"
	"parapet/model/kernel/store"
)

// nearbyQuery finds pairs of occurrences that overlap in time.
const nearbyQuery = `select a.id as own, n.id as other
from occurrences a join (values %s) as k (kind, margin) on k.kind = a.kind
join occurrences n on n.kind = a.kind and n.scope = a.scope and %s and n.merged_into is null
	and n.occurred_at between a.occurred_at - make_interval(secs => k.margin + ?) and a.last_at + make_interval(secs => k.margin)
	and n.last_at >= a.occurred_at - make_interval(secs => k.margin)
where a.id in (?) order by 1, 2`

type pair struct{ Own, Other uuid.UUID }

// findNearby returns, with each occurrence, those that overlap it in time and meet a
// condition of both, a and n.
func findNearby(ctx context.Context, db bun.IDB, ids []uuid.UUID, condition string) (pairs []pair, err error) {
	var margins []string
	var args []any
	for _, kind := range hazard.Kinds() {
		if !kind.IsDaily() {
			margins, args = append(margins, "(?, ?::float8)"), append(args, kind, kind.Rules().Duplicates.Time.Seconds())
		}
	}
	err = db.NewRaw(fmt.Sprintf(nearbyQuery, strings.Join(margins, ", "), condition), append(args, EventWindow.Seconds(), bun.List(ids))...).Scan(ctx, &pairs)
	if err != nil {
		return nil, store.TranslateError(fmt.Errorf("find occurrences nearby: %w", err))
	}
	return pairs, nil
}

// FindRetracted returns the retracted occurrences that their source may have reported again as
// one of the given ones.
func FindRetracted(ctx context.Context, db bun.IDB, ids []uuid.UUID) (retracted []uuid.UUID, err error) {
	pairs, err := findNearby(ctx, db, ids, "n.source = a.source and n.stage = 'retracted' and a.stage <> 'retracted'")
	for _, p := range pairs {
		retracted = append(retracted, p.Other)
	}
	return retracted, err
}

// FindOtherSources returns, by occurrence, the occurrences of other sources that overlap it
// in time and may be reports of the same event, and those that an operator merged with it.
func FindOtherSources(ctx context.Context, db bun.IDB, ids []uuid.UUID) (map[uuid.UUID][]uuid.UUID, error) {
	pairs, err := findNearby(ctx, db, ids, "n.source <> a.source")
	if err != nil {
		return nil, err
	}
	related, err := LoadRelations(ctx, db, ids)
	if err != nil {
		return nil, err
	}
	others := make(map[uuid.UUID][]uuid.UUID)
	for _, pair := range pairs {
		if _, decided := related[pair.Own][pair.Other]; !decided {
			others[pair.Own] = append(others[pair.Own], pair.Other)
		}
	}
	for _, id := range ids {
		for _, other := range slices.SortedFunc(maps.Keys(related[id]), func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }) {
			if related[id][other] {
				others[id] = append(others[id], other)
			}
		}
	}
	return others, nil
}
