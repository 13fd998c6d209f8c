// Package matching keeps the state of the matching of each version of an occurrence: which
// pass and which slices are left. Package adjudication decides the slices.
package matching

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"parapet/model/claims/candidates"
	"parapet/model/claims/watches"
	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/store"
)

// Row is the matching of one version of an occurrence to policies.
type Row struct {
	bun.BaseModel `bun:"table:matchings,alias:ma"`

	OccurrenceID uuid.UUID `bun:",pk,type:uuid"`
	Version      int64     `bun:",pk"`
	Candidates   int       // policies in its slices that are counted in figures
	StartedAt    time.Time
	CompletedAt  *time.Time // nil while a slice or a pass is left
	PassAfter    *string    // After of the job of the pass that is left; nil if none is
	PassDueAt    *time.Time // when that job counts as lost
}

// Lock inserts or locks matchings in the order of their ids, and writes which pass is left.
// A row without a pass is of a first pass: that pass is not left any more, and a second one
// that was left stays. A row that expects the first pass is of any other job: it changes no
// matching that exists.
func Lock(ctx context.Context, tx *store.Tx, rows []*Row) error {
	slices.SortFunc(rows, func(a, b *Row) int { return bytes.Compare(a.OccurrenceID[:], b.OccurrenceID[:]) })
	_, err := tx.NewInsert().Model(&rows).On("conflict (occurrence_id, version) do update").Set("pass_after = case when excluded.pass_after is null then nullif(ma.pass_after, '') when excluded.pass_after = '' then ma.pass_after else excluded.pass_after end").
		Set("pass_due_at = case when excluded.pass_after is null and ma.pass_after = '' then null when excluded.pass_after <> '' then excluded.pass_due_at else ma.pass_due_at end").
		Set("completed_at = case when coalesce(excluded.pass_after, '') = '' then ma.completed_at end").Returning("null").Exec(ctx)
	if err != nil {
		return fmt.Errorf("lock matchings: %w", err)
	}
	return nil
}

// DropSuperseded removes the candidates of locked matchings whose occurrence has a newer
// version by now: the job of that version finds them.
func DropSuperseded(ctx context.Context, tx *store.Tx, rows []*Row, found map[uuid.UUID][]candidates.Candidate) error {
	ids, versions := Keys(rows)
	var current []uuid.UUID
	err := tx.NewSelect().Model((*occurrence.OccurrenceRow)(nil)).Column("id").
		Where("(id, version) in (select * from unnest(?::uuid[], ?::bigint[]))", pgdialect.Array(ids), pgdialect.Array(versions)).Scan(ctx, &current)
	if err != nil {
		return fmt.Errorf("read versions of occurrences: %w", err)
	}
	maps.DeleteFunc(found, func(id uuid.UUID, _ []candidates.Candidate) bool { return !slices.Contains(current, id) })
	return nil
}

// Complete completes the matchings of occurrences, or of all for nil, of which neither a
// slice nor a pass is left, and announces the covers within their reach. It locks them
// first: a statement that waits for a lock does not see the slices that the holder of the
// lock wrote.
func Complete(ctx context.Context, tx *store.Tx, occurrences []uuid.UUID) error {
	var decided, completed []*Row
	q := tx.NewSelect().Model(&decided).Column("occurrence_id", "version").Where("ma.completed_at is null").Where(decidedSQL)
	if occurrences != nil {
		q = q.Where("ma.occurrence_id in (?)", bun.List(occurrences))
	}
	if err := q.OrderExpr("ma.occurrence_id, ma.version").For("NO KEY UPDATE").Scan(ctx); err != nil {
		return fmt.Errorf("lock decided matchings: %w", err)
	}
	if len(decided) == 0 {
		return nil
	}
	ids, versions := Keys(decided)
	err := tx.NewUpdate().TableExpr("matchings as ma").Set("completed_at = business_now()").Where("ma.completed_at is null").Where(decidedSQL).
		Where("(ma.occurrence_id, ma.version) in (select * from unnest(?::uuid[], ?::bigint[]))", pgdialect.Array(ids), pgdialect.Array(versions)).Returning("occurrence_id, version").Scan(ctx, &completed)
	if err != nil {
		return fmt.Errorf("complete matchings: %w", err)
	}
	ids, versions = Keys(completed)
	return watches.Announce(ctx, tx, ids, versions)
}

// Keys returns the keys of matchings as arrays of the same length.
func Keys(rows []*Row) (occurrences []uuid.UUID, versions []int64) {
	for _, row := range rows {
		occurrences, versions = append(occurrences, row.OccurrenceID), append(versions, row.Version)
	}
	return occurrences, versions
}

// decidedSQL is true for a matching of which neither a slice nor a pass is left.
const decidedSQL = `ma.pass_after is null and not exists (select from matching_slices ms
	where ms.occurrence_id = ma.occurrence_id and ms.version = ma.version and ms.done_at is null)`
