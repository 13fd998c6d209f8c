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
	statuses        []string // that a filter may name; none: there is no status to filter by
	index           listIndex
	policyCondition string // condition of the filter policy_id; empty: the column
	toRecord        func(*Row) Record
}

// fixedScope is a scope that does not depend on who asks.
func fixedScope(scope Scope) func(Actor) Scope { return func(Actor) Scope { return scope } }

// joinedRow is a row that is read with more than its table's columns.
type joinedRow interface {
	selectJoined(q *bun.SelectQuery) *bun.SelectQuery
}

// selectStatement is how the statement that reads a row begins: columns, table, joins.
func (s *Service) selectStatement(row any) string {
	return s.statements.get(row, "select", func() string {
		q := s.db.NewSelect().Model(row).ColumnExpr("?TableColumns")
		if s.db.Table(reflect.TypeOf(row).Elem()).SoftDeleteField != nil {
			q = q.WhereAllWithDeleted() // rows says which
		}
		if v, ok := row.(joinedRow); ok {
			q = v.selectJoined(q)
		}
		return q.String()
	})
}

func (s *Service) tableAlias(row any) string {
	return string(s.db.Table(reflect.TypeOf(row).Elem()).SQLAlias)
}

// whereClause is the condition of a prepared statement. ? is the next argument, ! the
// row's alias.
type whereClause struct {
	alias string
	terms []string
	args  []any
}

// newWhere are the conditions of rows of a type: those that were deleted are not there.
func (s *Service) newWhere(row any) *whereClause {
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

// bindArg adds an argument and returns its place.
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

// restrictToTenant narrows to what the actor may see.
func (w *whereClause) restrictToTenant(actor Actor) {
	if actor.Kind == ActorPartner {
		w.addTerm("!.partner = ?", actor.Partner)
	}
}

// get is one record by its public id. Errors: not_found.
func (b *collection[Row, Record]) get(ctx context.Context, s *Service, actor Actor, id string) (*Record, error) {
	row := new(Row)
	if err := s.loadRecord(ctx, actor, b.requiredScope(actor), b.resource, id, row); err != nil {
		return nil, err
	}
	record := b.toRecord(row)
	return &record, nil
}

// getMany are the records with the ids that the actor may see, by id, in one
// statement.
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

// parseIDs are the keys of those ids that can be some record's, each once.
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

func (s *Service) tableName(row any) string {
	return string(s.db.Table(reflect.TypeOf(row).Elem()).SQLName)
}
