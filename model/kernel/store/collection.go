package store

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/kernel/actor"
)

// Collection reads rows of one resource type: one, many by id, or a page. Every statement
// is prepared and restricted to the tenant.
type Collection[Row, Record any] struct {
	Resource        ResourceType
	Plural          string
	RequiredScope   func(actor.Actor) actor.Scope
	Statuses        []string // values allowed in a status filter; nil: no status
	Index           listIndex
	Keys            string // table of every record's id, partner and partner_reference, without updates; empty: the records' own
	PolicyCondition string // condition for the filter policy_id; empty: the column
	// Narrow adds the conditions of the filter's further fields; few means that they alone
	// select few records. nil: there are none.
	Narrow   func(ctx context.Context, s *Store, f Filter, w *WhereClause) (few bool, err error)
	ToRecord func(*Row) Record
	// Optional are the columns that only some members of the record need.
	Optional []OptionalColumns
}

// OptionalColumns are columns of a row that only these members of its record need; with
// no members, none does. Of names another type, whose records are embedded.
type OptionalColumns struct {
	Of               ResourceType
	Members, Columns []string
}

// Selection is the members that a caller reads, so that a list leaves out columns that
// only other members need. A type that is not named, and a nil Selection, are read whole.
type Selection struct {
	Members map[string]map[string]bool // by the names of a type and of a member
}

// selectStatement returns the beginning of the statement that reads the rows of the
// collection for a selection.
func (b *Collection[Row, Record]) selectStatement(s *Store, in *Selection) string {
	return s.selectColumns(new(Row), b.unreadColumns(in))
}

// unreadColumns returns the columns that a selection does not need.
func (b *Collection[Row, Record]) unreadColumns(in *Selection) (without []string) {
	for _, o := range b.Optional {
		var members map[string]bool
		if in != nil {
			members = in.Members[cmp.Or(o.Of, b.Resource).Name]
		}
		if len(o.Members) == 0 || members != nil && !slices.ContainsFunc(o.Members, func(name string) bool { return members[name] }) {
			without = append(without, o.Columns...)
		}
	}
	return without
}

// FixedScope returns the same scope for every actor.
func FixedScope(scope actor.Scope) func(actor.Actor) actor.Scope {
	return func(actor.Actor) actor.Scope { return scope }
}

// joinedRow is a row that is read with columns beyond those of its table.
type joinedRow interface {
	// SelectJoined adds the columns for which reads returns true.
	SelectJoined(q *bun.SelectQuery, reads func(column string) bool) *bun.SelectQuery
}

// SelectStatement returns the beginning of the statement that reads a row: columns,
// table, joins.
func (s *Store) SelectStatement(row any) string { return s.selectColumns(row, nil) }

// selectColumns is SelectStatement without some of the columns.
func (s *Store) selectColumns(row any, without []string) string {
	return s.Statements.Get(row, "select"+strings.Join(without, " "), func() string {
		table := s.DB.Table(reflect.TypeOf(row).Elem())
		reads := func(column string) bool { return !slices.Contains(without, column) }
		q := s.DB.NewSelect().Model(row)
		for _, field := range table.Fields {
			if reads(field.Name) {
				q = q.ColumnExpr("?TableAlias.?", field.SQLName)
			}
		}
		if table.SoftDeleteField != nil {
			q = q.WhereAllWithDeleted() // NewWhere excludes deleted rows
		}
		if v, ok := row.(joinedRow); ok {
			q = v.SelectJoined(q, reads)
		}
		return q.String()
	})
}

func (s *Store) tableAlias(row any) string {
	return string(s.DB.Table(reflect.TypeOf(row).Elem()).SQLAlias)
}

// WhereClause is the condition of a prepared statement. In its terms ? is the next
// argument and ! the row's alias.
type WhereClause struct {
	Alias string
	terms []string
	Args  []any
}

// NewWhere returns the conditions for rows of a type; it excludes deleted rows.
func (s *Store) NewWhere(row any) *WhereClause {
	w := &WhereClause{Alias: s.tableAlias(row)}
	if deleted := s.DB.Table(reflect.TypeOf(row).Elem()).SoftDeleteField; deleted != nil {
		w.AddTerm("!." + deleted.Name + " is null")
	}
	return w
}

// AddTerm adds a condition; "!" in it is the alias of the table and "?" an argument.
func (w *WhereClause) AddTerm(term string, args ...any) {
	term = strings.ReplaceAll(term, "!", w.Alias)
	for _, arg := range args {
		term = strings.Replace(term, "?", w.BindArg(arg), 1)
	}
	w.terms = append(w.terms, term)
}

// BindArg adds an argument and returns its placeholder.
func (w *WhereClause) BindArg(arg any) string {
	w.Args = append(w.Args, arg)
	return "$" + strconv.Itoa(len(w.Args))
}

func (w *WhereClause) clone() *WhereClause {
	return &WhereClause{Alias: w.Alias, terms: slices.Clone(w.terms), Args: slices.Clone(w.Args)}
}

// String returns the clause, empty without conditions.
func (w *WhereClause) String() string {
	if len(w.terms) == 0 {
		return ""
	}
	return " where " + strings.Join(w.terms, " and ")
}

// restrictToTenant restricts the rows to those that the actor may see.
func (w *WhereClause) restrictToTenant(caller actor.Actor) {
	if caller.Kind == actor.KindPartner {
		w.AddTerm("!.partner = ?", caller.Partner)
	}
}

// Get returns one record by its public id. Errors: not_found.
func (b *Collection[Row, Record]) Get(ctx context.Context, s *Store, actor actor.Actor, id string) (*Record, error) {
	row := new(Row)
	if err := s.loadRecord(ctx, actor, b.RequiredScope(actor), b.Resource, id, row, b.unreadColumns(nil)); err != nil {
		return nil, err
	}
	record := b.ToRecord(row)
	return &record, nil
}

// GetMany returns, in one statement and by id, the records with the given ids that the
// actor may see.
func (b *Collection[Row, Record]) GetMany(ctx context.Context, s *Store, actor actor.Actor, ids []string) (map[string]*Record, error) {
	if err := s.Authorize(ctx, actor, b.RequiredScope(actor)); err != nil {
		return nil, err
	}
	keys := b.Resource.ParseIDs(ids)
	found := make(map[string]*Record, len(keys))
	if len(keys) == 0 {
		return found, nil
	}
	w := s.NewWhere(new(Row))
	w.AddTerm("!.id = any(?)", keys)
	w.restrictToTenant(actor)
	var rows []Row
	if err := s.QueryPreparedRows(ctx, s.Pool, &rows, b.selectStatement(s, nil)+w.String(), w.Args...); err != nil {
		return nil, TranslateError(fmt.Errorf("read %s: %w", b.Plural, err))
	}
	for i := range rows {
		record := b.ToRecord(&rows[i])
		found[b.Resource.FormatID(rowHeaderOf(&rows[i]).ID)] = &record
	}
	return found, nil
}

func rowHeaderOf(row any) *RowHeader { return row.(interface{ head() *RowHeader }).head() }

// RowKey returns the id of a row, the cursor key of lists ordered by id.
func RowKey[Row any](row *Row) string { return rowHeaderOf(row).ID.String() }

// ParseIDs returns the keys of the valid ids, without duplicates.
func (n ResourceType) ParseIDs(ids []string) []uuid.UUID {
	var keys []uuid.UUID
	for _, id := range ids {
		if key, err := n.ParseID(id); err == nil {
			keys = append(keys, key)
		}
	}
	return sortIDs(keys)
}

// sortIDs sorts ids and returns each once.
func sortIDs(ids []uuid.UUID) []uuid.UUID {
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	return slices.Compact(ids)
}

func (s *Store) tableName(row any) string {
	return string(s.DB.Table(reflect.TypeOf(row).Elem()).SQLName)
}
