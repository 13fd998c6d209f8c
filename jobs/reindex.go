package jobs

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
)

// OwnsTables reports whether the role of a pool owns the tables of the queue.
func OwnsTables(ctx context.Context, pool *pgxpool.Pool) (owns bool, err error) {
	const query = "select coalesce(bool_and(pg_has_role(relowner, 'usage')), true) from pg_class where relnamespace = to_regnamespace($1) and relkind = 'r'"
	if err := pool.QueryRow(ctx, query, Schema).Scan(&owns); err != nil {
		return false, fmt.Errorf("read owner of the queue: %w", err)
	}
	return owns, nil
}
