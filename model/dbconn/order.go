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
