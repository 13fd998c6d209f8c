// Package watches announces the covers that preliminary readings put within reach: slices
// of a matching count them, and a complete matching announces them by the event
// occurrence.watch.
//
// It has no states. Its callers lock the matching. Start reading at watches.go.
package watches

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun/dialect/pgdialect"

	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// Key is whose policies a figure of a slice counts.
type Key struct{ Partner, Currency string }

// Counts are the numbers of policies of a slice that preliminary readings may come to pay.
type Counts map[Key]int

// Save keeps the numbers of a slice until the matching is complete. A slice without figures
// repeats policies of another one.
func (c Counts) Save(ctx context.Context, tx *store.Tx, occurrenceID uuid.UUID, version int64, number int) error {
	if len(c) == 0 {
		return nil
	}
	var partners, currencies []string
	var counts []int
	for key, count := range c {
		partners, currencies, counts = append(partners, key.Partner), append(currencies, key.Currency), append(counts, count)
	}
	_, err := tx.NewRaw(`update matching_figures mf set within_reach = least(u.covers, mf.candidates) from unnest(?::text[], ?::text[], ?::integer[]) as u (partner, currency, covers)
		where mf.occurrence_id = ? and mf.version = ? and mf.number = ? and mf.partner = u.partner and mf.currency = u.currency`,
		pgdialect.Array(partners), pgdialect.Array(currencies), pgdialect.Array(counts), occurrenceID, version, number).Exec(ctx)
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

// Announce records occurrence.watch for the partners whose covers came within reach of
// versions of occurrences whose matchings are complete: one event, and another when the
// number has doubled.
func Announce(ctx context.Context, tx *store.Tx, occurrences []uuid.UUID, versions []int64) error {
	if len(occurrences) == 0 {
		return nil
	}
	var watches []occurrence.Watch
	if err := tx.NewRaw(watchesQuery, pgdialect.Array(occurrences), pgdialect.Array(versions)).Scan(ctx, &watches); err != nil {
		return fmt.Errorf("count covers within reach: %w", err)
	}
	records := make(map[uuid.UUID]*wire.Occurrence)
	for _, watch := range watches {
		if records[watch.OccurrenceID] == nil {
			record, err := watch.LoadRecord(ctx, tx)
			if err != nil {
				return err
			}
			records[watch.OccurrenceID] = record
		}
		if err := watch.Announce(tx, records[watch.OccurrenceID]); err != nil {
			return err
		}
	}
	return nil
}
