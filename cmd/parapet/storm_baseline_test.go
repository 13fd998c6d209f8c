//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"parapet/internal/meter"
	"parapet/model/modeltest"
)

const (
	stagedWorkers = 2
	stagedSlice   = 1000 // policies of a transaction
)

// stagedTable is a table that deciding writes, and the query of the rows that it wrote for
// an occurrence: r is the row, and storm has the slice of each policy. Columns are those
// that deciding writes; it is empty if deciding writes whole rows.
type stagedTable struct{ name, rows, columns string }

// stagedTables are these tables in the order of their foreign keys. Progress of the
// matching, requests of jobs and queue rows have no equal in the baseline.
var stagedTables = []stagedTable{
	{name: "determinations", rows: "determinations r join storm on storm.policy = r.policy_id where r.occurrence_id = storm.occurrence"},
	{name: "claims", rows: "claims r join storm on storm.policy = r.policy_id where r.occurrence_id = storm.occurrence"},
	{name: "payouts", rows: "payouts r join claims c on c.id = r.claim_id join storm on storm.policy = c.policy_id where c.occurrence_id = storm.occurrence"},
	{name: "timeline_entries", rows: "timeline_entries r join claims c on c.id = r.claim_id join storm on storm.policy = c.policy_id where c.occurrence_id = storm.occurrence"},
	{name: "events", rows: "events r join event_outbox o on o.event_id = r.id join storm_subjects s on s.id = r.subject_id join storm on storm.policy = s.policy"},
	{name: "event_outbox", rows: "event_outbox r join events e on e.id = r.event_id join storm_subjects s on s.id = e.subject_id join storm on storm.policy = s.policy"},
	{name: "ledger_entries", rows: "ledger_entries r join event_outbox o on o.event_id = r.event_id join storm on storm.policy = r.policy_id"},
}

// stagedOccurrence is the occurrence itself, and stagedPolicies the policies that deciding
// updates.
var (
	stagedOccurrence = stagedTable{name: "occurrences", rows: "occurrences r join (select distinct occurrence, 0::bigint as slice from storm) storm on storm.occurrence = r.id"}
	stagedPolicies   = stagedTable{name: "policies", rows: "policies r join storm on storm.policy = r.id", columns: "id, partner, version, updated_at, status, limit_remaining"}
)

// stormSQL creates storm and storm_subjects for an occurrence.
const stormSQL = `create unlogged table storm as
	select o.id as occurrence, c.policy_id as policy, (row_number() over (order by c.policy_id) - 1) / %d as slice
	from occurrences o join claims c on c.occurrence_id = o.id where o.source_event_id = '%s';
create unlogged table storm_subjects as
	select policy as id, policy from storm
	union all select c.id, c.policy_id from claims c join storm on storm.policy = c.policy_id where c.occurrence_id = storm.occurrence
	union all select p.id, c.policy_id from payouts p join claims c on c.id = p.claim_id join storm on storm.policy = c.policy_id where c.occurrence_id = storm.occurrence;
analyze storm, storm_subjects`

// writeStaged writes the rows that a storm wrote, kept in a folder by keepRows, into a
// fresh copy of the book, by the shortest SQL: the rows lie in staging tables, and each of
// two connections inserts a slice of them in a transaction, into the same tables with the
// same constraints, triggers and indexes, and updates the policies. It returns what that
// cost.
func (s *stormServer) writeStaged(b *testing.B, folder string) meter.Usage {
	b.Helper()
	pool, err := pgxpool.New(b.Context(), s.copyBook(b, modeltest.BookName, "storm_staged"))
	require.NoError(b, err)
	defer pool.Close()
	statements, count, rows := stageRows(b, pool, folder)
	_, err = pool.Exec(b.Context(), "checkpoint")
	require.NoError(b, err)
	used := meter.Start(b, pool, os.Getpid())
	var next atomic.Int64
	var written atomic.Int64
	var workers errgroup.Group
	for range stagedWorkers {
		workers.Go(func() error {
			for slice := next.Add(1) - 1; slice < count; slice = next.Add(1) - 1 {
				rows, err := writeSlice(b.Context(), pool, statements, slice)
				if err != nil {
					return err
				}
				written.Add(rows)
			}
			return nil
		})
	}
	require.NoError(b, workers.Wait())
	usage := used.Stop()
	require.Equal(b, rows, written.Load())
	return usage
}

// writeSlice writes a slice in a transaction and one round trip. It returns the number of
// rows.
func writeSlice(ctx context.Context, pool *pgxpool.Pool, statements []string, slice int64) (rows int64, err error) {
	batch := &pgx.Batch{}
	count := func(tag pgconn.CommandTag) error {
		rows += tag.RowsAffected()
		return nil
	}
	batch.Queue("begin")
	for _, statement := range statements {
		batch.Queue(statement, slice).Exec(count)
	}
	batch.Queue("commit")
	return rows, pool.SendBatch(ctx, batch).Close()
}

// keepRows writes the rows that a storm wrote to files of a folder, one for each table.
func keepRows(b *testing.B, from *pgxpool.Pool, city, folder string) {
	b.Helper()
	_, err := from.Exec(b.Context(), fmt.Sprintf(stormSQL, stagedSlice, city))
	require.NoError(b, err)
	for _, table := range slices.Concat([]stagedTable{stagedOccurrence, stagedPolicies}, stagedTables) {
		file, err := os.Create(filepath.Join(folder, table.name))
		require.NoError(b, err)
		columns := "r." + strings.ReplaceAll(table.writtenColumns(b, from), ", ", ", r.")
		require.NoError(b, copyRows(b, from, func(conn *pgconn.PgConn) error {
			_, err := conn.CopyTo(b.Context(), file, fmt.Sprintf("copy (select storm.slice, %s from %s) to stdout (format binary)", columns, table.rows))
			return err
		}))
		require.NoError(b, file.Close())
	}
}

// stageRows reads the files of keepRows into staging tables of another database. It returns
// the statements that write a slice of them, the number of slices, and of rows.
func stageRows(b *testing.B, to *pgxpool.Pool, folder string) (statements []string, count, rows int64) {
	b.Helper()
	_, err := to.Exec(b.Context(), "create schema staged")
	require.NoError(b, err)
	written, _ := stagedOccurrence.stage(b, to, folder)
	_, err = to.Exec(b.Context(), fmt.Sprintf("insert into occurrences (%[1]s) select %[1]s from staged.occurrences", written)) // written before the storm is decided
	require.NoError(b, err)
	for _, table := range stagedTables {
		columns, staged := table.stage(b, to, folder)
		rows += staged
		statements = append(statements, fmt.Sprintf("insert into %[1]s (%[2]s) select %[2]s from staged.%[1]s where slice = $1", table.name, columns))
	}
	_, staged := stagedPolicies.stage(b, to, folder)
	rows += staged
	statements = append(statements, `update policies p set version = s.version, updated_at = s.updated_at, status = s.status, limit_remaining = s.limit_remaining
		from staged.policies s where s.slice = $1 and (p.id, p.partner) = (s.id, s.partner)`)
	require.NoError(b, to.QueryRow(b.Context(), "select max(slice) + 1 from staged.policies").Scan(&count))
	return statements, count, rows
}

// writtenColumns lists the columns that are written. A whole row is without the ordinal of
// the outbox, which a sequence draws.
func (t stagedTable) writtenColumns(b *testing.B, pool *pgxpool.Pool) string {
	b.Helper()
	if t.columns != "" {
		return t.columns
	}
	var columns string
	err := pool.QueryRow(b.Context(), `select string_agg(column_name::text, ', ' order by ordinal_position) from information_schema.columns
		where table_schema = 'public' and table_name = $1 and column_name <> 'ordinal'`, t.name).Scan(&columns)
	require.NoError(b, err)
	return columns
}

// stage reads the file of the table into its staging table. It returns the columns that are
// written, and the number of rows.
func (t stagedTable) stage(b *testing.B, to *pgxpool.Pool, folder string) (columns string, rows int64) {
	b.Helper()
	columns = t.writtenColumns(b, to)
	_, err := to.Exec(b.Context(), fmt.Sprintf("create unlogged table staged.%[1]s as select 0::bigint as slice, %[2]s from %[1]s limit 0", t.name, columns))
	require.NoError(b, err)
	file, err := os.Open(filepath.Join(folder, t.name))
	require.NoError(b, err)
	defer file.Close()
	require.NoError(b, copyRows(b, to, func(conn *pgconn.PgConn) error {
		copied, err := conn.CopyFrom(b.Context(), file, fmt.Sprintf("copy staged.%s from stdin (format binary)", t.name))
		rows = copied.RowsAffected()
		return err
	}))
	_, err = to.Exec(b.Context(), fmt.Sprintf("create index on staged.%[1]s (slice); analyze staged.%[1]s", t.name))
	require.NoError(b, err)
	require.Positive(b, rows, t.name)
	return columns, rows
}

func copyRows(b *testing.B, pool *pgxpool.Pool, do func(*pgconn.PgConn) error) error {
	b.Helper()
	conn, err := pool.Acquire(b.Context())
	if err != nil {
		return err
	}
	defer conn.Release()
	return do(conn.Conn().PgConn())
}
