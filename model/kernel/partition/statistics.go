package partition

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"parapet/model/kernel/store"
)

// grownQuery finds a partitioned table whose partitions have more than twice the rows that
// it had when its statistics were collected. Autovacuum keeps the numbers of the partitions.
const grownQuery = `select p.relname from pg_class p join pg_inherits i on i.inhparent = p.oid join pg_class c on c.oid = i.inhrelid
	where p.relkind = 'p' and p.relnamespace = 'public'::regnamespace group by p.oid, p.relname, p.reltuples
	having sum(greatest(c.reltuples, 0)) > 10000 + 2 * greatest(p.reltuples, 0) order by 1 limit 1`

// statisticsTarget is the default_statistics_target of AnalyzeGrown: Postgres reads 300 rows
// for each of its units. The usual 100 takes seconds of a processor, also while an event of
// 100,000 claims is decided; a tenth suffices to tell how many rows a record has.
const statisticsTarget = 10

// AnalyzeGrown collects the statistics of one partitioned table that has grown, and returns
// 1, or 0 if there is none. Autovacuum collects those of partitions only; without those of the
// whole table, Postgres expects thousands of events of each record, and reads all partitions
// where it should use an index.
func AnalyzeGrown(ctx context.Context, tx *store.Tx) (int, error) {
	var table string
	err := tx.NewRaw(grownQuery).Scan(ctx, &table)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("find grown tables: %w", err)
	}
	if _, err := tx.NewRaw("set local default_statistics_target = ?", statisticsTarget).Exec(ctx); err != nil {
		return 0, fmt.Errorf("choose the size of the sample: %w", err)
	}
	if _, err := tx.NewRaw("select analyze_partitioned(?::regclass)", table).Exec(ctx); err != nil {
		return 0, fmt.Errorf("collect statistics of %s: %w", table, err)
	}
	return 1, nil
}
