package adjudication

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun/dialect/pgdialect"

	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/store"
)

// figureKey is whose policies a figure of a slice counts.
type figureKey struct{ partner, currency string }

// coversInReach are the numbers of policies of a slice that preliminary readings may come
// to pay.
type coversInReach map[figureKey]int

// save keeps the numbers until the matching is complete. A slice without figures repeats
// policies of another one.
func (c coversInReach) save(ctx context.Context, tx *store.Tx, slice *SliceRow) error {
	if len(c) == 0 {
		return nil
	}
	var partners, currencies []string
	var counts []int
	for key, count := range c {
		partners, currencies, counts = append(partners, key.partner), append(currencies, key.currency), append(counts, count)
	}
	_, err := tx.NewRaw(`update matching_figures mf set within_reach = least(u.covers, mf.candidates) from unnest(?::text[], ?::text[], ?::integer[]) as u (partner, currency, covers)
		where mf.occurrence_id = ? and mf.version = ? and mf.number = ? and mf.partner = u.partner and mf.currency = u.currency`,
		pgdialect.Array(partners), pgdialect.Array(currencies), pgdialect.Array(counts), slice.OccurrenceID, slice.Version, slice.Number).Exec(ctx)
	if err != nil {
		return fmt.Errorf("count covers within reach: %w", err)
	}
	return nil
}

// watchesQuery counts the covers within reach by partner, and keeps the numbers that are
// new or have doubled since the last event.
const watchesQuery = `insert into occurrence_watches as w (occurrence_id, partner, covers)
select mf.occurrence_id, mf.partner, sum(mf.within_reach) from matching_figures mf
where (mf.occurrence_id, mf.version) in (select * from unnest(?::uuid[], ?::bigint[]))
group by 1, 2 having sum(mf.within_reach) > 0 order by 1, 2
on conflict (occurrence_id, partner) do update set covers = excluded.covers where excluded.covers >= 2 * w.covers
returning occurrence_id, partner, covers`

// announceWatches records occurrence.watch for the partners whose covers came within reach
// of completed matchings: one event, and another when the number has doubled.
func announceWatches(ctx context.Context, tx *store.Tx, completed []MatchingRow) error {
	if len(completed) == 0 {
		return nil
	}
	var keys sliceKeys
	for _, matching := range completed {
		keys.add(SliceRow{OccurrenceID: matching.OccurrenceID, Version: matching.Version})
	}
	var watches []occurrence.Watch
	if err := tx.NewRaw(watchesQuery, keys.args()[:2]...).Scan(ctx, &watches); err != nil {
		return fmt.Errorf("count covers within reach: %w", err)
	}
	rows := make(map[uuid.UUID]*occurrence.OccurrenceRow)
	for _, watch := range watches {
		row := rows[watch.OccurrenceID]
		if row == nil {
			row = new(occurrence.OccurrenceRow)
			if err := tx.NewSelect().Model(row).Where("oc.id = ?", watch.OccurrenceID).Scan(ctx); err != nil {
				return fmt.Errorf("read occurrence: %w", err)
			}
			rows[watch.OccurrenceID] = row
		}
		if err := watch.Announce(tx, row); err != nil {
			return err
		}
	}
	return nil
}
