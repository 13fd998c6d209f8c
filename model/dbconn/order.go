package dbconn

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"
)

// OrderByIndex forbids Postgres to sort rows for the rest of the transaction, so that it
// reads them in the order of an index, which must exist, and stops when it has enough. While
// the statistics of a table do not know about the rows of a large event, Postgres expects a
// few, and would read and sort all of them.
func OrderByIndex(ctx context.Context, tx bun.IDB) error {
	if _, err := tx.NewRaw("select set_config('enable_sort', 'off', true)").Exec(ctx); err != nil {
		return fmt.Errorf("set how rows are ordered: %w", err)
	}
	return nil
}

// StablePlansSQL makes the statements of a transaction, after it, use plans that are kept and
// that read tables by their indexes. Planning a statement again can cost more than its
// execution. A kept plan must not depend on the size of a table when it was made: a large
// event fills a table whose plan reads it whole, and a pass of the relay took a second for
// 2,000 of 170,000 events.
const StablePlansSQL = "select set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true)"
