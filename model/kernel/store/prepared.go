package store

import (
	"context"
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"

	"parapet/model/dbconn"
	"parapet/model/kernel/bulk"
	"parapet/model/kernel/readcharge"
	"parapet/model/kernel/replica"
	"parapet/model/kernel/rowscan"
)

// Querier runs a statement unchanged: the pool, or the connection of a Tx.
type Querier interface {
	Query(ctx context.Context, text string, args ...any) (pgx.Rows, error)
}

// queryPrepared runs a statement with the arguments $1, $2 and so on. Postgres parses
// and plans it once per connection, which is most of the cost of a small statement. Use
// it in hot paths; elsewhere the query builder, which writes arguments into the text,
// is easier to read. A statement that never reached Postgres is sent once more, on
// another connection if there is one.
func queryPrepared(ctx context.Context, on Querier, text string, args ...any) (pgx.Rows, error) {
	args = append([]any{pgx.QueryExecModeCacheStatement}, args...)
	rows, err := on.Query(ctx, text, args...)
	if err != nil && pgconn.SafeToRetry(err) {
		rows, err = on.Query(ctx, text, args...)
	}
	if err != nil {
		return rows, err
	}
	return readcharge.Charge(ctx, rows), nil
}

// QueryPreparedRow reads the single row of a prepared statement; sql.ErrNoRows if there
// is none.
func (s *Store) QueryPreparedRow(ctx context.Context, on Querier, into any, text string, args ...any) error {
	return readPrepared(ctx, on, func(rows pgx.Rows) error { return rowscan.One(s.DB, rows, text, into) }, text, args...)
}

// readPrepared scans the rows of a prepared statement, also after a migration.
func readPrepared(ctx context.Context, on Querier, scan func(pgx.Rows) error, text string, args ...any) error {
	return dbconn.RetryStalePlan(on, func() error {
		rows, err := queryPrepared(ctx, on, text, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		return scan(rows)
	})
}

// QueryPreparedRows reads all rows of a prepared statement into a slice.
func (s *Store) QueryPreparedRows(ctx context.Context, on Querier, into any, text string, args ...any) error {
	return readPrepared(ctx, on, func(rows pgx.Rows) error { return rowscan.All(s.DB, rows, text, into) }, text, args...)
}

// ScanRows reads the rows of a query with the arguments $1, $2 and so on into a slice. It is
// planned each time: the plan of a prepared statement stays while a large event fills tables
// that were nearly empty when it was made.
func (tx *Tx) ScanRows(ctx context.Context, q *bun.SelectQuery, into any, args ...any) error {
	text := q.String()
	rows, _ := tx.PgxConn.Query(ctx, text, append([]any{pgx.QueryExecModeDescribeExec}, args...)...) // All returns the error
	return rowscan.All(tx.Store.DB, rows, text, into)
}

// QueryPreparedCount reads the single number of a prepared statement.
func (s *Store) QueryPreparedCount(ctx context.Context, text string, args ...any) (n int, err error) {
	return queryCount(ctx, s.Pool, text, args...)
}

// readReplicaCount is QueryPreparedCount by ReadReplica.
func (s *Store) readReplicaCount(ctx context.Context, text string, args ...any) (n int, err error) {
	err = s.ReadReplica(ctx, func(ctx context.Context, from replica.Source) (err error) {
		n, err = queryCount(ctx, from.Pool, text, args...)
		return err
	})
	return n, err
}

func queryCount(ctx context.Context, on Querier, text string, args ...any) (n int, err error) {
	err = readPrepared(ctx, on, func(rows pgx.Rows) (err error) {
		n, err = pgx.CollectExactlyOneRow(rows, pgx.RowTo[int])
		return err
	}, text, args...)
	return n, err
}

// QueueInsert queues the insert of a row for the next flush. The row cannot be read
// before.
func (tx *Tx) QueueInsert(row any) { tx.QueueInsertEncoded(row, nil) }

// QueueInsertEncoded is QueueInsert for a row whose JSON columns were already encoded
// as members of its record.
func (tx *Tx) QueueInsertEncoded(row any, members map[string]jsontext.Value) {
	table := tx.Store.DB.Table(reflect.TypeOf(row).Elem())
	fields := table.Fields
	text := tx.Store.Statements.Get(row, "insert", func() string { return bulk.InsertOneStatement(table) })
	value := reflect.ValueOf(row).Elem()
	args := make([]any, len(fields))
	for i, field := range fields {
		if written, ok := members[field.Name]; ok && field.UserSQLType == "json" {
			args[i] = []byte(written)
		} else {
			args[i] = bulk.RowArgument(field, value)
		}
	}
	tx.Batch.Queue(text, args...)
}

// UpdateRow writes columns of a row if it still has the version it was read with and,
// if from is given, one of those states; otherwise it returns a conflict.
func (tx *Tx) UpdateRow(ctx context.Context, row interface{ head() *RowHeader }, was int64, from []string, columns ...string) error {
	table := tx.Store.DB.Table(reflect.TypeOf(row).Elem())
	fields := make([]*schema.Field, len(columns))
	for i, name := range columns {
		fields[i] = table.LookupField(name)
	}
	text := tx.Store.Statements.Get(row, fmt.Sprint("update", columns, len(from)), func() string {
		text := bulk.UpdateOneStatement(table, fields)
		if len(from) > 0 {
			text += fmt.Sprintf(" and %s = $%d", GuardedStatusSQL("status"), len(fields)+4)
		}
		return text
	})
	value := reflect.ValueOf(row).Elem()
	args := []any{row.head().ID, row.head().Partner, was}
	for _, field := range fields {
		args = append(args, bulk.RowArgument(field, value))
	}
	for _, state := range from {
		args = append(args, state)
	}
	tx.Batch.Queue(text, args...).Exec(func(done pgconn.CommandTag) error {
		if done.RowsAffected() != 1 {
			return VersionConflict()
		}
		return nil
	})
	return tx.Flush(ctx)
}

// GuardedStatusSQL is a column of a status in the condition of an update of rows by id. The
// expression uses no index: for such a condition the planner may prefer an index that
// begins with the status to the primary key, and then reads all rows of a partner with it.
func GuardedStatusSQL(column string) string { return column + " || ''" }

// QueueGuarded queues an update that must change exactly n rows; otherwise the
// transaction fails with VersionConflict. The server checks the count, because the
// statement may be sent with the commit, when a client that counts rows is too late.
func (tx *Tx) QueueGuarded(n int, update string, args ...any) {
	tx.Batch.Queue(fmt.Sprintf("with written as (%s returning 1) select require_rows(count(*), $%d) from written", update, len(args)+1), append(args, n)...)
}

// versionConflictState is the SQLSTATE of require_rows.
const versionConflictState = "PA001"
