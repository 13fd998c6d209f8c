package model

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/google/uuid"
)

// expectedRows is the initial capacity for rows before they are counted.
const expectedRows = 256

// childCollection reads the child records of many parents in one statement, for example
// the messages of a page of claims.
type childCollection[Row, Record any] struct {
	*collection[Row, Record]

	cursorName    string       // bound into cursors together with the parent's id
	parent        ResourceType // the type of the parent
	parentTable   string       // the parent table, aliased w
	joinCondition string       // joins child rows (alias !) to the parent w
	extraColumns  string       // more columns, from w
	orderColumn   string       // the column that orders the page; id when empty
	order         sortOrder
	cursorKey     func(*Row) string // the value of orderColumn
	parentID      func(*Row) uuid.UUID

	// union is set when the rows come from several tables; joinCondition, extraColumns
	// and orderColumn are unused then.
	union *unionStatements
}

// unionStatements are the statements of a childCollection whose rows come from several
// tables.
type unionStatements struct {
	// pageStatement selects the page of the parent w; where restricts the parents.
	pageStatement func(where *whereClause, p pageSpec, direction sortOrder) (text string, err error)
	// countExpression is an SQL expression for the number of rows of the parent w.
	countExpression string
}

// getPage returns one page of the children of one record. Errors: not_found,
// cursor_invalid.
func (b *childCollection[Row, Record]) getPage(ctx context.Context, s *Service, actor Actor, parent string, in PageRequest) (*Page[Record], error) {
	if _, err := b.parent.parseID(parent); err != nil {
		return nil, firstError(s.authorize(ctx, actor, b.requiredScope(actor)), err)
	}
	pages, err := b.getPages(ctx, s, actor, []string{parent}, in)
	if err != nil {
		return nil, err
	}
	page := pages[parent]
	if len(page.Data) > 0 {
		return page, nil
	}
	return page, s.requireExisting(ctx, actor, b.parent, b.parentTable, parent)
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// requireExisting returns not_found unless the actor can see the record.
func (s *Store) requireExisting(ctx context.Context, actor Actor, kind ResourceType, table, id string) error {
	key, err := kind.parseID(id)
	if err != nil {
		return err
	}
	n, err := s.queryPreparedCount(ctx, "select count(*) from "+table+" where id = $1 and (partner = $2 or $2::text is null)", key, actor.tenantArg())
	if err == nil && n == 0 {
		return kind.notFoundError()
	}
	return translateError(err)
}

// getPages returns the same page for each of several parents, by parent id, in one
// statement. Parents that the actor cannot see have empty pages. A cursor is valid for
// one parent only.
func (b *childCollection[Row, Record]) getPages(ctx context.Context, s *Service, actor Actor, parents []string, in PageRequest) (map[string]*Page[Record], error) {
	if err := s.authorize(ctx, actor, b.requiredScope(actor)); err != nil {
		return nil, err
	}
	checked := make(map[string]pageSpec, len(parents))
	var p pageSpec
	for _, parent := range parents {
		var err error
		if p, err = s.parsePage(actor, in, b.cursorName+"/"+parent); err != nil {
			return nil, err
		}
		checked[parent] = p
	}
	keys := b.parent.parseIDs(parents)
	rows, err := b.loadRows(ctx, s, actor, keys, p)
	if err != nil {
		return nil, translateError(fmt.Errorf("read %s of %ss: %w", b.plural, b.parent.name, err))
	}
	counts := b.countOnDemand(s, actor, keys)
	pages := make(map[string]*Page[Record], len(parents))
	for _, parent := range parents {
		id, _ := b.parent.parseID(parent) // an invalid id has no rows
		p := checked[parent]
		p.count = func(ctx context.Context) (int, error) {
			of, err := counts(ctx)
			return of[id], err
		}
		if pages[parent], err = newPage(p, rows[id], b.cursorKey, b.toRecord); err != nil {
			return nil, err
		}
	}
	return pages, nil
}

// loadRows loads the rows of each parent's page, plus one more.
func (b *childCollection[Row, Record]) loadRows(ctx context.Context, s *Service, actor Actor, parents []uuid.UUID, p pageSpec) (map[uuid.UUID][]Row, error) {
	w := b.parentCondition(s, actor, parents)
	text, args, err := b.pageStatement(s, w, p)
	if err != nil {
		return nil, err
	}
	all := make([]Row, 0, min(expectedRows, len(parents)*int(p.fetchLimit())))
	if err := s.queryPreparedRows(ctx, s.pool, &all, text, args...); err != nil {
		return nil, err
	}
	rows := make(map[uuid.UUID][]Row, len(parents))
	begin := 0
	for i := range all { // the rows are grouped by parent
		if owner := b.parentID(&all[i]); i+1 == len(all) || b.parentID(&all[i+1]) != owner {
			rows[owner], begin = all[begin:i+1:i+1], i+1
		}
	}
	return rows, nil
}

// pageStatement returns the statement that reads the page of each parent that w selects.
func (b *childCollection[Row, Record]) pageStatement(s *Service, w *whereClause, p pageSpec) (text string, args []any, err error) {
	by, direction := b.orderColumn, p.order.orDefault(b.order).reversed(p.last)
	if b.union != nil {
		text, err = b.union.pageStatement(w, p, direction)
		return text, w.args, err
	}
	inner := s.newWhere(new(Row))
	inner.args = w.args
	inner.addTerm(b.joinCondition)
	var after any
	switch {
	case by == "":
		by = "id"
		if p.after != "" {
			after, err = uuid.Parse(p.after)
		}
	case p.after != "":
		after, err = strconv.ParseInt(p.after, 10, 64)
	}
	if err != nil {
		return "", nil, fmt.Errorf("cursor: %w", err)
	}
	if after != nil {
		inner.addTerm("!."+by+" "+direction.comparison+" ?", after)
	}
	order := by + " " + direction.keyword
	text = fmt.Sprintf("select r.*%s from %s as w cross join lateral (%s%s order by %s.%s limit $%d) as r%s order by w.id, r.%s",
		b.extraColumns, b.parentTable, s.selectStatement(new(Row)), inner, w.alias, order, len(inner.args)+1, w, order)
	return text, append(inner.args, p.fetchLimit()), nil
}

func (b *childCollection[Row, Record]) parentCondition(s *Service, actor Actor, parents []uuid.UUID) *whereClause {
	w := &whereClause{alias: s.tableAlias(new(Row))}
	if len(parents) == 1 { // plan for one parent; a list is planned for ten
		w.addTerm("w.id = ?", parents[0])
	} else {
		w.addTerm("w.id = any(?)", parents)
	}
	if actor.Kind == ActorPartner {
		w.addTerm("w.partner = ?", actor.Partner)
	}
	return w
}

// countOnDemand returns a function that counts the rows of all parents on its first call,
// up to MaxTotal+1 per parent.
func (b *childCollection[Row, Record]) countOnDemand(s *Service, actor Actor, parents []uuid.UUID) func(context.Context) (map[uuid.UUID]int, error) {
	var once sync.Once
	var counted map[uuid.UUID]int
	var err error
	return func(ctx context.Context) (map[uuid.UUID]int, error) {
		once.Do(func() {
			w := b.parentCondition(s, actor, parents)
			var rows []struct {
				ID uuid.UUID
				N  int
			}
			text := fmt.Sprintf("select w.id, %s as n from %s as w%s", b.countExpression(s, w.alias), b.parentTable, w)
			err = s.queryPreparedRows(ctx, s.pool, &rows, text, w.args...)
			counted = make(map[uuid.UUID]int, len(rows))
			for _, row := range rows {
				counted[row.ID] = row.N
			}
		})
		return counted, err
	}
}

// countExpression returns an SQL expression for the number of rows of the parent w, up to
// MaxTotal+1 when they must be counted.
func (b *childCollection[Row, Record]) countExpression(s *Service, alias string) string {
	if b.union != nil {
		return b.union.countExpression
	}
	inner := s.newWhere(new(Row))
	inner.addTerm(b.joinCondition)
	return fmt.Sprintf("(select count(*) from (select from %s as %s%s limit %d) as counted)", s.tableName(new(Row)), alias, inner, MaxTotal+1)
}
