package model

import (
	"context"
	"database/sql"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"
)

// querier runs a statement as it is written: the pool, or a unit's transaction.
type querier interface {
	QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error)
}

// prepared runs a statement whose arguments are $1, $2 and so on. Postgres parses
// and plans it once a connection, which is most of what a small statement costs.
// It is for hot paths; elsewhere the builder, which writes arguments into the
// text, reads better.
func prepared(ctx context.Context, on querier, text string, args ...any) (*sql.Rows, error) {
	return on.QueryContext(ctx, text, append([]any{pgx.QueryExecModeCacheStatement}, args...)...)
}

// preparedRow reads the one row of a prepared statement; sql.ErrNoRows without
// one.
func (s *Service) preparedRow(ctx context.Context, on querier, into any, text string, args ...any) error {
	rows, err := prepared(ctx, on, text, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return err
		}
		return sql.ErrNoRows
	}
	if err := s.db.ScanRow(ctx, rows, into); err != nil {
		return err
	}
	return rows.Close()
}

// preparedRows reads all rows of a prepared statement into a slice.
func (s *Service) preparedRows(ctx context.Context, on querier, into any, text string, args ...any) error {
	rows, err := prepared(ctx, on, text, args...) //nolint:rowserrcheck // ScanRows does, and closes them
	if err != nil {
		return err
	}
	return s.db.ScanRows(ctx, rows, into)
}

// exec is prepared for a statement of the unit that answers no rows.
func (u *unit) exec(ctx context.Context, text string, args ...any) error {
	_, err := u.Tx.Tx.ExecContext(ctx, text, append([]any{pgx.QueryExecModeCacheStatement}, args...)...)
	return err
}

// insert writes one row, prepared; pgx writes its JSON as encoding/json does.
func (u *unit) insert(ctx context.Context, row any) error {
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
		args[i] = field.Value(value).Interface()
	}
	return u.exec(ctx, text, args...)
}

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

// byID selects a row by its id ($1), if the actor may see it ($2 is its tenant).
func byID(q *bun.SelectQuery) *bun.SelectQuery {
	return q.Where("?TableAlias.id = $1").Where("?TableAlias.partner = $2 or $2::text is null")
}
