package model

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"
)

// querier runs a statement unchanged: the pool, or the connection of a Tx.
type querier interface {
	Query(ctx context.Context, text string, args ...any) (pgx.Rows, error)
}

// queryPrepared runs a statement with the arguments $1, $2 and so on. Postgres parses
// and plans it once per connection, which is most of the cost of a small statement. Use
// it in hot paths; elsewhere the query builder, which writes arguments into the text,
// is easier to read. A statement that never reached Postgres is sent once more, on
// another connection if there is one.
func queryPrepared(ctx context.Context, on querier, text string, args ...any) (pgx.Rows, error) {
	args = append([]any{pgx.QueryExecModeCacheStatement}, args...)
	rows, err := on.Query(ctx, text, args...)
	if err != nil && pgconn.SafeToRetry(err) {
		rows, err = on.Query(ctx, text, args...)
	}
	if err != nil {
		return rows, err
	}
	return chargeRows(ctx, rows), nil
}

// queryPreparedRow reads the single row of a prepared statement; sql.ErrNoRows if there
// is none.
func (s *Store) queryPreparedRow(ctx context.Context, on querier, into any, text string, args ...any) error {
	rows, err := queryPrepared(ctx, on, text, args...)
	if err != nil {
		return err
	}
	return s.scanOne(rows, text, into)
}

// scanOne reads the first row of a statement and closes rows.
func (s *Store) scanOne(rows pgx.Rows, text string, into any) error {
	defer rows.Close()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return err
		}
		return pgx.ErrNoRows
	}
	row := reflect.ValueOf(into).Elem()
	reader, err := s.scannerFor(rows, text, row)
	if err != nil {
		return err
	}
	if err := reader.scan(rows, row); err != nil {
		return err
	}
	rows.Close()
	return rows.Err()
}

// queryPreparedRows reads all rows of a prepared statement into a slice.
func (s *Store) queryPreparedRows(ctx context.Context, on querier, into any, text string, args ...any) error {
	rows, err := queryPrepared(ctx, on, text, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	return s.scanAll(rows, text, into)
}

// scanAll reads the rows of a statement into a slice.
func (s *Store) scanAll(rows pgx.Rows, text string, into any) (err error) {
	all := reflect.ValueOf(into).Elem()
	all.SetLen(0) // its capacity may be the expected number of rows
	var reader *rowScanner
	for n := 0; rows.Next(); n++ {
		all.Grow(1)
		all.SetLen(n + 1)
		row := all.Index(n)
		row.SetZero()
		if reader == nil {
			if reader, err = s.scannerFor(rows, text, row); err != nil {
				return err
			}
		}
		if err := reader.scan(rows, row); err != nil {
			return err
		}
	}
	return rows.Err()
}

// queryPreparedCount reads the single number of a prepared statement.
func (s *Store) queryPreparedCount(ctx context.Context, text string, args ...any) (n int, err error) {
	rows, err := queryPrepared(ctx, s.pool, text, args...)
	if err != nil {
		return 0, err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowTo[int])
}

// driverArg returns a column's value in the form that the driver takes.
func driverArg(field *schema.Field, row reflect.Value) any {
	if field.NullZero && field.HasZeroValue(row) {
		return nil
	}
	value := field.Value(row).Interface()
	if text, raw := value.(jsontext.Value); raw {
		return []byte(text)
	}
	return value
}

// queueInsert queues the insert of a row for the next flush. The row cannot be read
// before.
func (tx *Tx) queueInsert(row any) { tx.queueInsertEncoded(row, nil) }

// queueInsertEncoded is queueInsert for a row whose JSON columns were already encoded
// as members of its record.
func (tx *Tx) queueInsertEncoded(row any, members map[string]jsontext.Value) {
	table := tx.store.db.Table(reflect.TypeOf(row).Elem())
	fields := table.Fields
	text := tx.store.statements.get(row, "insert", func() string {
		columns, places := make([]string, len(fields)), make([]string, len(fields))
		for i, field := range fields {
			columns[i], places[i] = string(field.SQLName), fmt.Sprintf("$%d", i+1)
		}
		return fmt.Sprintf("insert into %s (%s) values (%s)", table.SQLName, strings.Join(columns, ", "), strings.Join(places, ", "))
	})
	value := reflect.ValueOf(row).Elem()
	args := make([]any, len(fields))
	for i, field := range fields {
		if written, ok := members[field.Name]; ok && field.UserSQLType == "json" {
			args[i] = []byte(written)
		} else {
			args[i] = driverArg(field, value)
		}
	}
	tx.batch.Queue(text, args...)
}

// updateRow writes columns of a row if it still has the version it was read with and,
// if from is given, one of those states; otherwise it returns a conflict.
func (tx *Tx) updateRow(ctx context.Context, row interface{ head() *RowHeader }, was int64, from []string, columns ...string) error {
	table := tx.store.db.Table(reflect.TypeOf(row).Elem())
	fields := make([]*schema.Field, len(columns))
	for i, name := range columns {
		fields[i] = table.LookupField(name)
	}
	text := tx.store.statements.get(row, fmt.Sprint("update", columns, len(from)), func() string {
		set, guard := make([]string, len(fields)), ""
		for i, field := range fields {
			set[i] = fmt.Sprintf("%s = $%d", field.SQLName, i+4)
		}
		if len(from) > 0 {
			guard = fmt.Sprintf(" and status = $%d", len(fields)+4)
		}
		return fmt.Sprintf("update %s set %s where id = $1 and partner = $2 and version = $3%s", table.SQLName, strings.Join(set, ", "), guard)
	})
	value := reflect.ValueOf(row).Elem()
	args := []any{row.head().ID, row.head().Partner, was}
	for _, field := range fields {
		args = append(args, driverArg(field, value))
	}
	for _, state := range from {
		args = append(args, state)
	}
	tx.batch.Queue(text, args...).Exec(func(done pgconn.CommandTag) error {
		if done.RowsAffected() != 1 {
			return versionConflict()
		}
		return nil
	})
	return tx.flush(ctx)
}

// queueGuarded queues an update that must change exactly n rows; otherwise the
// transaction fails with versionConflict. The server checks the count, because the
// statement may be sent with the commit, when a client that counts rows is too late.
func (tx *Tx) queueGuarded(n int, update string, args ...any) {
	tx.batch.Queue(fmt.Sprintf("with written as (%s returning 1) select require_rows(count(*), $%d) from written", update, len(args)+1), append(args, n)...)
}

// versionConflictState is the SQLSTATE of require_rows.
const versionConflictState = "PA001"

// statementCache caches the SQL text that bun builds for a row type, so that columns are
// named once, in the struct.
type statementCache struct{ cached sync.Map }

type statementKey struct {
	row reflect.Type
	use string
}

// get returns the text for a use of a row type. The first call builds it.
func (t *statementCache) get(row any, use string, write func() string) string {
	name := statementKey{reflect.TypeOf(row), use}
	if text, ok := t.cached.Load(name); ok {
		return text.(string)
	}
	text := write()
	t.cached.Store(name, text)
	return text
}

// goColumnAliases returns the columns of a row under their Go names, so that a struct can
// decode the JSON that Postgres makes of the whole row. Building an object member by
// member costs half as much again.
func goColumnAliases(db *bun.DB, row any) schema.QueryAppender {
	table := db.Table(reflect.TypeOf(row).Elem())
	columns := make([]string, len(table.Fields))
	for i, field := range table.Fields {
		columns[i] = fmt.Sprintf("%s.%s as %q", table.SQLAlias, field.SQLName, field.GoName)
	}
	return bun.SafeQuery(strings.Join(columns, ", "))
}

// restrictToID selects a row by its id ($1), if the actor may see it ($2 is its
// tenant).
func (a Actor) restrictToID(q *bun.SelectQuery) *bun.SelectQuery {
	return q.Where("?TableAlias.id = $1").Where(a.tenantPredicate())
}
