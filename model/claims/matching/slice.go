package matching

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"parapet/model/kernel/store"
)

// SliceRow is a part of the policies that a version of an occurrence may affect. One
// transaction locks it, decides its policies and marks it done.
type SliceRow struct {
	bun.BaseModel `bun:"table:matching_slices,alias:ms"`

	OccurrenceID uuid.UUID   `bun:",pk,type:uuid"`
	Version      int64       `bun:",pk"` // of the occurrence
	Number       int         `bun:",pk"`
	Candidates   int         // policies of all slices that were written with it
	Policies     []uuid.UUID `bun:",array,type:uuid[]"`
	Attempts     int         // failed ones
	DueAt        time.Time
	Error        *string // of the last failed attempt
	DoneAt       *time.Time
}

// LastSliceNumber returns the highest number of the slices of a locked matching, also of
// those that were deleted, whose figures stay.
func LastSliceNumber(ctx context.Context, tx *store.Tx, occurrence uuid.UUID, version int64) (last int, err error) {
	err = tx.NewRaw(`select greatest((select max(number) from matching_slices where occurrence_id = ?0 and version = ?1),
		(select max(number) from matching_figures where occurrence_id = ?0 and version = ?1), 0)`, occurrence, version).Scan(ctx, &last)
	if err != nil {
		return 0, fmt.Errorf("read the last slice: %w", err)
	}
	return last, nil
}

// LoadSliced returns the slices of matchings that are not done and that no worker holds
// or, with done, all of them. A worker may have read what the caller just changed, so that
// the policies of a slice in its hands must be decided again. Slices without figures are
// left out: they repeat policies.
func LoadSliced(ctx context.Context, tx *store.Tx, matchings []*Row, done bool) (rows []SliceRow, err error) {
	ids, versions := Keys(matchings)
	q := tx.NewSelect().Model(&rows).Column("occurrence_id", "version", "number", "policies").
		Where("(occurrence_id, version) in (select * from unnest(?::uuid[], ?::bigint[]))", pgdialect.Array(ids), pgdialect.Array(versions)).
		Where("exists (select from matching_figures mf where (mf.occurrence_id, mf.version, mf.number) = (ms.occurrence_id, ms.version, ms.number))")
	if !done {
		q = q.Where("done_at is null").For("NO KEY UPDATE SKIP LOCKED")
	}
	if err := q.Scan(ctx); err != nil {
		return nil, fmt.Errorf("read slices: %w", err)
	}
	return rows, nil
}

// EndOlderSlices marks slices of older versions of occurrences as done. Slices that a
// worker has locked are left to it.
func EndOlderSlices(ctx context.Context, tx *store.Tx, occurrences []uuid.UUID) error {
	_, err := tx.NewRaw(`with older as (select occurrence_id, version, number from matching_slices ms where occurrence_id in (?0) and done_at is null
			and exists (select from matchings ma where ma.occurrence_id = ms.occurrence_id and ma.version > ms.version) for update skip locked)
		update matching_slices ms set done_at = ?1 from older
		where ms.occurrence_id = older.occurrence_id and ms.version = older.version and ms.number = older.number`, bun.List(occurrences), tx.Clock).Exec(ctx)
	if err != nil {
		return fmt.Errorf("end slices of older versions: %w", err)
	}
	return nil
}
