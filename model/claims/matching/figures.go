package matching

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"parapet/model/claims/candidates"
	"parapet/model/kernel/store"
)

// sliceKeys are the keys of slices as arguments of a statement.
type sliceKeys struct {
	occurrences []uuid.UUID
	versions    []int64
	numbers     []int
}

func (k *sliceKeys) add(slice SliceRow) {
	k.occurrences = append(k.occurrences, slice.OccurrenceID)
	k.versions = append(k.versions, slice.Version)
	k.numbers = append(k.numbers, slice.Number)
}

func (k *sliceKeys) args() []any {
	return []any{pgdialect.Array(k.occurrences), pgdialect.Array(k.versions), pgdialect.Array(k.numbers)}
}

// FigureRow is how many policies of a slice have a partner and a currency.
type FigureRow struct {
	bun.BaseModel `bun:"table:matching_figures,alias:mf"`

	OccurrenceID uuid.UUID `bun:",pk,type:uuid"`
	Version      int64     `bun:",pk"`
	Number       int       `bun:",pk"` // of the slice
	Partner      string    `bun:",pk"`
	Currency     string    `bun:",pk"`
	Candidates   int
}

// CountFigures returns the figures of a slice of these policies.
func CountFigures(slice *SliceRow, policies []candidates.Candidate) (rows []*FigureRow) {
	type group struct{ partner, currency string }
	counted := make(map[group]*FigureRow)
	for _, each := range policies {
		of := group{each.Partner, each.Currency}
		row := counted[of]
		if row == nil {
			row = &FigureRow{OccurrenceID: slice.OccurrenceID, Version: slice.Version, Number: slice.Number, Partner: of.partner, Currency: of.currency}
			counted[of], rows = row, append(rows, row)
		}
		row.Candidates++
	}
	return rows
}

// KeepFigures deletes the figures of locked matchings and of older versions, except those
// of the given slices: the policies of the others are in slices that are written next.
func KeepFigures(ctx context.Context, tx *store.Tx, matchings []*Row, kept []SliceRow) error {
	ids, versions := Keys(matchings)
	var keys sliceKeys
	for _, slice := range kept {
		keys.add(slice)
	}
	_, err := tx.NewRaw(`delete from matching_figures mf using unnest(?::uuid[], ?::bigint[]) as m (occurrence_id, version)
		where mf.occurrence_id = m.occurrence_id and (mf.version < m.version or mf.version = m.version
			and (mf.occurrence_id, mf.version, mf.number) not in (select * from unnest(?::uuid[], ?::bigint[], ?::integer[])))`,
		append([]any{pgdialect.Array(ids), pgdialect.Array(versions)}, keys.args()...)...).Exec(ctx)
	if err != nil {
		return fmt.Errorf("delete figures of older slices: %w", err)
	}
	return nil
}

// MoveFigures subtracts the policies of the second half of a slice from those of the
// first. A slice without figures repeats policies of another slice: its halves have none.
func MoveFigures(ctx context.Context, tx *store.Tx, first, second SliceRow) error {
	_, err := tx.NewRaw(`with moved as (
			insert into matching_figures (occurrence_id, version, number, partner, currency, candidates)
			select mf.occurrence_id, mf.version, ?::integer, mf.partner, mf.currency, count(*)
			from matching_figures mf join policies p on p.partner = mf.partner and p.currency = mf.currency and p.id = any(?)
			where mf.occurrence_id = ? and mf.version = ? and mf.number = ? group by 1, 2, 4, 5 returning partner, currency, candidates)
		update matching_figures mf set candidates = mf.candidates - moved.candidates from moved
		where mf.occurrence_id = ? and mf.version = ? and mf.number = ? and mf.partner = moved.partner and mf.currency = moved.currency`,
		second.Number, pgdialect.Array(second.Policies), first.OccurrenceID, first.Version, first.Number,
		first.OccurrenceID, first.Version, first.Number).Exec(ctx)
	if err != nil {
		return fmt.Errorf("move figures of a halved slice: %w", err)
	}
	return nil
}
