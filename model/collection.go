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

// collection reads rows of one resource type: one, many by id, or a page. Every statement
// is prepared and restricted to the tenant.
type collection[Row, Record any] struct {
	resource        ResourceType
	plural          string
	requiredScope   func(Actor) Scope
	statuses        []string // values allowed in a status filter; nil: no status
	index           listIndex
	policyCondition string // condition for the filter policy_id; empty: the column
	toRecord        func(*Row) Record
}

// fixedScope returns the same scope for every actor.
func fixedScope(scope Scope) func(Actor) Scope { return func(Actor) Scope { return scope } }

// joinedRow is a row that is read with columns beyond those of its table.
type joinedRow interface {
	selectJoined(q *bun.SelectQuery) *bun.SelectQuery
}

// selectStatement returns the beginning of the statement that reads a row: columns,
// table, joins.
func (s *Store) selectStatement(row any) string {
	return s.statements.get(row, "select", func() string {
		q := s.db.NewSelect().Model(row).ColumnExpr("?TableColumns")
		if s.db.Table(reflect.TypeOf(row).Elem()).SoftDeleteField != nil {
			q = q.WhereAllWithDeleted() // newWhere excludes deleted rows
		}
		if v, ok := row.(joinedRow); ok {
			q = v.selectJoined(q)
		}
		return q.String()
	})
}

func (s *Store) tableAlias(row any) string {
	return string(s.db.Table(reflect.TypeOf(row).Elem()).SQLAlias)
}

// whereClause is the condition of a prepared statement. In its terms ? is the next
// argument and ! the row's alias.
type whereClause struct {
	alias string
	terms []string
	args  []any
}

// newWhere returns the conditions for rows of a type; it excludes deleted rows.
func (s *Store) newWhere(row any) *whereClause {
	w := &whereClause{alias: s.tableAlias(row)}
	if deleted := s.db.Table(reflect.TypeOf(row).Elem()).SoftDeleteField; deleted != nil {
		w.addTerm("!." + deleted.Name + " is null")
	}
	return w
}

func (w *whereClause) addTerm(term string, args ...any) {
	term = strings.ReplaceAll(term, "!", w.alias)
	for _, arg := range args {
		term = strings.Replace(term, "?", w.bindArg(arg), 1)
	}
	w.terms = append(w.terms, term)
}

// bindArg adds an argument and returns its placeholder.
func (w *whereClause) bindArg(arg any) string {
	w.args = append(w.args, arg)
	return "$" + strconv.Itoa(len(w.args))
}

func (w *whereClause) clone() *whereClause {
	return &whereClause{alias: w.alias, terms: slices.Clone(w.terms), args: slices.Clone(w.args)}
}

func (w *whereClause) String() string {
	if len(w.terms) == 0 {
		return ""
	}
	return " where " + strings.Join(w.terms, " and ")
}

// restrictToTenant restricts the rows to those that the actor may see.
func (w *whereClause) restrictToTenant(actor Actor) {
	if actor.Kind == ActorPartner {
		w.addTerm("!.partner = ?", actor.Partner)
	}
}

// get returns one record by its public id. Errors: not_found.
func (b *collection[Row, Record]) get(ctx context.Context, s *Service, actor Actor, id string) (*Record, error) {
	row := new(Row)
	if err := s.loadRecord(ctx, actor, b.requiredScope(actor), b.resource, id, row); err != nil {
		return nil, err
	}
	record := b.toRecord(row)
	return &record, nil
}

// getMany returns, in one statement and by id, the records with the given ids that the
// actor may see.
func (b *collection[Row, Record]) getMany(ctx context.Context, s *Service, actor Actor, ids []string) (map[string]*Record, error) {
	if err := s.authorize(ctx, actor, b.requiredScope(actor)); err != nil {
		return nil, err
	}
	keys := b.resource.parseIDs(ids)
	found := make(map[string]*Record, len(keys))
	if len(keys) == 0 {
		return found, nil
	}
	w := s.newWhere(new(Row))
	w.addTerm("!.id = any(?)", keys)
	w.restrictToTenant(actor)
	var rows []Row
	if err := s.queryPreparedRows(ctx, s.pool, &rows, s.selectStatement(new(Row))+w.String(), w.args...); err != nil {
		return nil, translateError(fmt.Errorf("read %s: %w", b.plural, err))
	}
	for i := range rows {
		record := b.toRecord(&rows[i])
		found[b.resource.formatID(rowHeaderOf(&rows[i]).ID)] = &record
	}
	return found, nil
}

func rowHeaderOf(row any) *RowHeader { return row.(interface{ head() *RowHeader }).head() }

func rowKey[Row any](row *Row) string { return rowHeaderOf(row).ID.String() }

// parseIDs returns the keys of the valid ids, without duplicates.
func (n ResourceType) parseIDs(ids []string) []uuid.UUID {
	var keys []uuid.UUID
	for _, id := range ids {
		if key, err := n.parseID(id); err == nil {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	return slices.Compact(keys)
}

func (s *Store) tableName(row any) string {
	return string(s.db.Table(reflect.TypeOf(row).Elem()).SQLName)
}
