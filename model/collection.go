package model

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
)

// shelf is where the records of one kind stand: how their rows are read, one by
// one, as a list, or by what they belong to. All of it is prepared, and all of it
// asks for the tenant.
type shelf[Row, Record any] struct {
	kind     noun
	plural   string
	scope    func(Actor) Scope
	statuses []string // that a filter may name; none: there is no status to filter by
	index    listIndex
	policy   string // condition of the filter policy_id; empty: the column
	public   func(*Row) Record
}

// always is a scope that does not depend on who asks.
func always(scope Scope) func(Actor) Scope { return func(Actor) Scope { return scope } }

// viewed is a row that is read with more than its table's columns.
type viewed interface {
	view(q *bun.SelectQuery) *bun.SelectQuery
}

// selectText is how the statement that reads a row begins: columns, table, joins.
func (s *Service) selectText(row any) string {
	return s.texts.of(row, "select", func() string {
		q := s.db.NewSelect().Model(row).ColumnExpr("?TableColumns")
		if s.db.Table(reflect.TypeOf(row).Elem()).SoftDeleteField != nil {
			q = q.WhereAllWithDeleted() // rows says which
		}
		if v, ok := row.(viewed); ok {
			q = v.view(q)
		}
		return q.String()
	})
}

func (s *Service) alias(row any) string {
	return string(s.db.Table(reflect.TypeOf(row).Elem()).SQLAlias)
}

// where is the condition of a prepared statement as it grows. ? stands for the
// next argument, ! for the row's alias.
type where struct {
	alias string
	terms []string
	args  []any
}

// rows are the conditions of rows of a type: those that were deleted are not there.
func (s *Service) rows(row any) *where {
	w := &where{alias: s.alias(row)}
	if deleted := s.db.Table(reflect.TypeOf(row).Elem()).SoftDeleteField; deleted != nil {
		w.and("!." + deleted.Name + " is null")
	}
	return w
}

func (w *where) and(term string, args ...any) {
	term = strings.ReplaceAll(term, "!", w.alias)
	for _, arg := range args {
		term = strings.Replace(term, "?", w.bind(arg), 1)
	}
	w.terms = append(w.terms, term)
}

// bind adds an argument and returns its place.
func (w *where) bind(arg any) string {
	w.args = append(w.args, arg)
	return "$" + strconv.Itoa(len(w.args))
}

func (w *where) clone() *where {
	return &where{alias: w.alias, terms: slices.Clone(w.terms), args: slices.Clone(w.args)}
}

func (w *where) String() string {
	if len(w.terms) == 0 {
		return ""
	}
	return " where " + strings.Join(w.terms, " and ")
}

// tenancy narrows to what the actor may see.
func (w *where) tenancy(actor Actor) {
	if actor.Kind == ActorPartner {
		w.and("!.partner = ?", actor.Partner)
	}
}

// get is one record by its public id. Errors: not_found.
func (b *shelf[Row, Record]) get(ctx context.Context, s *Service, actor Actor, id string) (*Record, error) {
	row := new(Row)
	if err := s.read(ctx, actor, b.scope(actor), b.kind, id, row); err != nil {
		return nil, err
	}
	record := b.public(row)
	return &record, nil
}

// named are the records with the ids that the actor may see, by id, in one
// statement.
func (b *shelf[Row, Record]) named(ctx context.Context, s *Service, actor Actor, ids []string) (map[string]*Record, error) {
	if err := s.authorize(ctx, actor, b.scope(actor)); err != nil {
		return nil, err
	}
	keys := b.kind.parseAll(ids)
	found := make(map[string]*Record, len(keys))
	if len(keys) == 0 {
		return found, nil
	}
	w := s.rows(new(Row))
	w.and("!.id = any(?)", keys)
	w.tenancy(actor)
	var rows []Row
	if err := s.preparedRows(ctx, s.pool, &rows, s.selectText(new(Row))+w.String(), w.args...); err != nil {
		return nil, explain(fmt.Errorf("read %s: %w", b.plural, err))
	}
	for i := range rows {
		record := b.public(&rows[i])
		found[b.kind.id(headOf(&rows[i]).ID)] = &record
	}
	return found, nil
}

func headOf(row any) *header { return row.(interface{ head() *header }).head() }

func keyOf[Row any](row *Row) string { return headOf(row).ID.String() }

// parseAll are the keys of those ids that can be some record's, each once.
func (n noun) parseAll(ids []string) []uuid.UUID {
	var keys []uuid.UUID
	for _, id := range ids {
		if key, err := n.parse(id); err == nil {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	return slices.Compact(keys)
}

func (s *Service) table(row any) string {
	return string(s.db.Table(reflect.TypeOf(row).Elem()).SQLName)
}
