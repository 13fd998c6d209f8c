package partition

import (
	"context"
	"fmt"
	"time"

	"parapet/model/kernel/store"
)

// AddAhead creates what is missing of the partitions of this month and the next three, and
// returns their number: none when other transactions keep the tables locked for half a
// second, and none of a month of which a default partition has rows.
func AddAhead(ctx context.Context, tx *store.Tx) (int, error) {
	var made int
	err := tx.NewRaw("select cardinality(add_month_partitions(clock_timestamp(), "+store.BusinessNowSQL+"))").Scan(ctx, &made)
	if err != nil {
		return 0, fmt.Errorf("add partitions: %w", err)
	}
	return made, nil
}

// minAhead is how far ahead partitions must exist. AddAhead keeps them three months ahead.
const minAhead = 31 * 24 * time.Hour

// Stats are the figures that raise alarms.
type Stats struct {
	Overdue   time.Duration // how much the newest partitions of a table lack of minAhead, of the table that lacks most
	Misplaced int64         // rows of the last week of both clocks in default partitions, at most maxMisplacedCounted of each
}

const maxMisplacedCounted = 10_000

// A posting is in a default partition exactly if its event is.
const statsQuery = `with clocks as materialized (select statement_timestamp() as real_now, ` + store.BusinessNowSQL + ` as business_now)
select (select ceil(max(extract(epoch from greatest(interval '0', $2 - (coalesce(uuid_time(newest.upper_id), t.at) - t.at)))))::bigint
		from (values ('events', real_now), ('ledger_entries', real_now), ('timeline_entries', business_now)) as t (parent, at)
			left join lateral (select upper_id from partition_ranges r where r.parent = t.parent and not r.is_default order by upper_id desc limit 1) as newest on true) as overdue,
	(select count(*) from (select from events_default where id >= (select lowest_uuid(real_now - interval '7 days') from clocks)
		and id < (select lowest_uuid(real_now + interval '1 day') from clocks) limit $1) as e)
	+ (select count(*) from (select from timeline_entries_default where claim_id >= (select lowest_uuid(business_now - interval '7 days') from clocks)
		and claim_id < (select lowest_uuid(business_now + interval '1 day') from clocks) limit $1) as t) as misplaced
from clocks`

// LoadStats reads the figures from the catalogue and two indexes.
func LoadStats(ctx context.Context, s *store.Store) (Stats, error) {
	var overdue int64
	var stats Stats
	if err := s.Pool.QueryRow(ctx, statsQuery, maxMisplacedCounted, minAhead).Scan(&overdue, &stats.Misplaced); err != nil {
		return Stats{}, fmt.Errorf("read partitions: %w", err)
	}
	stats.Overdue = time.Duration(overdue) * time.Second
	return stats, nil
}
