package store_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

// When a migration changed the type of a column, Postgres refuses a prepared statement
// once; the driver then prepares it again on that connection.
func TestScannerFollowsColumnTypesThatAMigrationChanges(t *testing.T) {
	t.Parallel()
	s, db := openSamples(t)
	conn, err := db.Pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	run := func(statement string) {
		_, err := db.Pool.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	read := func() (row sampleRow, err error) {
		return row, s.QueryPreparedRow(t.Context(), conn, &row, "select * from (select count, rate, nullable from samples) as s")
	}
	run("insert into samples (count, rate, nullable) values (7, 1.5, 'a')")
	row, err := read()
	require.NoError(t, err)
	require.Equal(t, 7, row.Count)
	for _, migration := range []string{
		"alter table samples alter column count type bigint, alter column rate type double precision",
		"alter table samples alter column nullable type varchar(9), alter column count type int",
	} {
		run(migration)
		_, err = read()
		require.ErrorContains(t, err, "cached plan must not change result type")
		require.ErrorAs(t, err, new(*pgconn.PgError))
		for range 2 {
			row, err = read()
			require.NoError(t, err, migration)
			require.Equal(t, 7, row.Count)
			require.Equal(t, "1.5", row.Rate.String())
			require.Equal(t, "a", *row.Nullable)
		}
	}
}
