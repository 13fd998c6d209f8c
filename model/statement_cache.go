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

// querier runs a statement as it is written: the pool, or a unit's connection.
type querier interface {
	Query(ctx context.Context, text string, args ...any) (pgx.Rows, error)
}

// prepared runs a statement whose arguments are $1, $2 and so on. Postgres parses
// and plans it once a connection, which is most of what a small statement costs.
// It is for hot paths; elsewhere the builder, which writes arguments into the
// text, reads better. What never reached Postgres is asked once more, on another
// connection where there is one.
func prepared(ctx context.Context, on querier, text string, args ...any) (pgx.Rows, error) {
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

// preparedRow reads the one row of a prepared statement; sql.ErrNoRows without
// one.
func (s *Service) preparedRow(ctx context.Context, on querier, into any, text string, args ...any) error {
	rows, err := prepared(ctx, on, text, args...)
	if err != nil {
		return err
	}
	return s.one(rows, text, into)
}

// one reads the first row of a statement and closes rows.
func (s *Service) one(rows pgx.Rows, text string, into any) error {
	defer rows.Close()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return err
		}
		return pgx.ErrNoRows
	}
	row := reflect.ValueOf(into).Elem()
	reader, err := s.scanner(rows, text, row)
	if err != nil {
		return err
	}
	if err := reader.scan(rows, row); err != nil {
		return err
	}
	rows.Close()
	return rows.Err()
}

// preparedRows reads all rows of a prepared statement into a slice.
func (s *Service) preparedRows(ctx context.Context, on querier, into any, text string, args ...any) error {
	rows, err := prepared(ctx, on, text, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	return s.all(rows, text, into)
}

// all reads the rows of a statement into a slice.
func (s *Service) all(rows pgx.Rows, text string, into any) (err error) {
	all := reflect.ValueOf(into).Elem()
	all.SetLen(0) // its capacity may say how many are expected
	var reader *scanner
	for n := 0; rows.Next(); n++ {
		all.Grow(1)
		all.SetLen(n + 1)
		row := all.Index(n)
		row.SetZero()
		if reader == nil {
			if reader, err = s.scanner(rows, text, row); err != nil {
				return err
			}
		}
		if err := reader.scan(rows, row); err != nil {
			return err
		}
	}
	return rows.Err()
}

// preparedCount reads the one number of a prepared statement.
func (s *Service) preparedCount(ctx context.Context, text string, args ...any) (n int, err error) {
	rows, err := prepared(ctx, s.pool, text, args...)
	if err != nil {
		return 0, err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowTo[int])
}

// argument is a column's value as the driver takes it.
func argument(field *schema.Field, row reflect.Value) any {
	if field.NullZero && field.HasZeroValue(row) {
		return nil
	}
	value := field.Value(row).Interface()
	if text, raw := value.(jsontext.Value); raw {
		return []byte(text)
	}
	return value
}

// insert writes one row, together with what is written next: nobody may ask for
// it before.
func (u *unit) insert(row any) { u.insertWritten(row, nil) }

// insertWritten is insert for a row whose columns of JSON were already written as
// members of its record.
func (u *unit) insertWritten(row any, members map[string]jsontext.Value) {
	table := u.svc.db.Table(reflect.TypeOf(row).Elem())
	fields := table.Fields
	text := u.svc.texts.of(row, "insert", func() string {
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
			args[i] = argument(field, value)
		}
	}
	u.later.Queue(text, args...)
}

// update writes columns of a row that still has the version it was read with and,
// where one is given, the state; else it is a conflict.
func (u *unit) update(ctx context.Context, row interface{ head() *header }, was int64, from []string, columns ...string) error {
	table := u.svc.db.Table(reflect.TypeOf(row).Elem())
	fields := make([]*schema.Field, len(columns))
	for i, name := range columns {
		fields[i] = table.LookupField(name)
	}
	text := u.svc.texts.of(row, fmt.Sprint("update", columns, len(from)), func() string {
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
		args = append(args, argument(field, value))
	}
	for _, state := range from {
		args = append(args, state)
	}
	u.later.Queue(text, args...).Exec(func(done pgconn.CommandTag) error {
		if done.RowsAffected() != 1 {
			return overtaken()
		}
		return nil
	})
	return u.send(ctx)
}

// queueGuarded queues an update that must change exactly n rows; otherwise the
// transaction ends with overtaken. The server judges it: the statement may travel with
// the commit, which a client that counts rows could not hold back any more.
func (u *unit) queueGuarded(n int, update string, args ...any) {
	u.later.Queue(fmt.Sprintf("with written as (%s returning 1) select require_rows(count(*), $%d) from written", update, len(args)+1), append(args, n)...)
}

// rowsOvertaken is the SQLSTATE of require_rows.
const rowsOvertaken = "PA001"

// texts are prepared statements that the builder wrote, so that a row's columns
// are named in one place: its struct.
type texts struct{ written sync.Map }

type textName struct {
	row reflect.Type
	use string
}

// of is the text for a use of a type of row, written at its first use.
func (t *texts) of(row any, use string, write func() string) string {
	name := textName{reflect.TypeOf(row), use}
	if text, ok := t.written.Load(name); ok {
		return text.(string)
	}
	text := write()
	t.written.Store(name, text)
	return text
}

// inGo are the columns of a row under the names of Go, so that the JSON that Postgres
// makes of the whole row is read back by its struct. Building an object member by
// member costs half as much again.
func inGo(db *bun.DB, row any) schema.QueryAppender {
	table := db.Table(reflect.TypeOf(row).Elem())
	columns := make([]string, len(table.Fields))
	for i, field := range table.Fields {
		columns[i] = fmt.Sprintf("%s.%s as %q", table.SQLAlias, field.SQLName, field.GoName)
	}
	return bun.SafeQuery(strings.Join(columns, ", "))
}

// byID selects a row by its id ($1), if the actor may see it ($2 is its tenant).
func (a Actor) byID(q *bun.SelectQuery) *bun.SelectQuery {
	return q.Where("?TableAlias.id = $1").Where(a.seen())
}
