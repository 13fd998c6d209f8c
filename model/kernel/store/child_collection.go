package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"parapet/model/kernel/actor"
)

const expectedRows = 1024 // the largest capacity for rows before they are counted

// ChildCollection reads the child records of many parents in one statement, for example
// the messages of a page of claims.
type ChildCollection[Row, Record any] struct {
	*Collection[Row, Record]

	CursorName    string       // bound into cursors together with the parent's id
	Parent        ResourceType // the type of the parent
	ParentTable   string       // the parent table, aliased w
	JoinCondition string       // joins child rows (alias !) to the parent w
	ReadsParent   bool         // JoinCondition names columns of w other than id and partner
	ExtraColumns  string       // more columns, from w
	OrderColumn   string       // the column that orders the page; id when empty
	Order         SortOrder
	CursorKey     func(*Row) string // the value of OrderColumn
	ParentID      func(*Row) uuid.UUID

	perParent atomic.Int64 // one more than the rows per parent of the last read: what the next one expects

	// Union is set when the rows come from several tables; JoinCondition, ExtraColumns
	// and OrderColumn are unused then.
	Union *UnionStatements
}

// UnionStatements are the statements of a ChildCollection whose rows come from several
// tables.
type UnionStatements struct {
	// PageStatement selects the page of the parent w; where restricts the parents.
	PageStatement func(where *WhereClause, p PageSpec, direction SortOrder) (text string, err error)
	// CountExpression is an SQL expression for the number of rows of the parent w.
	CountExpression string
}

// GetPage returns one page of the children of one record. Errors: not_found,
// cursor_invalid.
func (b *ChildCollection[Row, Record]) GetPage(ctx context.Context, s *Store, actor actor.Actor, parent string, in PageRequest) (*Page[Record], error) {
	if _, err := b.Parent.ParseID(parent); err != nil {
		return nil, cmp.Or(s.Authorize(ctx, actor, b.RequiredScope(actor)), err)
	}
	pages, err := b.GetPages(ctx, s, actor, []string{parent}, in)
	if err != nil {
		return nil, err
	}
	page := pages[parent]
	if len(page.Data) > 0 {
		return page, nil
	}
	return page, s.requireExisting(ctx, actor, b.Parent, b.ParentTable, parent)
}

// requireExisting returns not_found unless the actor can see the record.
func (s *Store) requireExisting(ctx context.Context, actor actor.Actor, kind ResourceType, table, id string) error {
	key, err := kind.ParseID(id)
	if err != nil {
		return err
	}
	n, err := s.QueryPreparedCount(ctx, "select count(*) from "+table+" where id = $1 and (partner = $2 or $2::text is null)", key, TenantArg(actor))
	if err == nil && n == 0 {
		return kind.NotFoundError()
	}
	return TranslateError(err)
}

// GetPages returns the same page for each of several parents, by parent id, in one
// statement. Parents that the actor cannot see have empty pages. A cursor is valid for
// one parent only.
func (b *ChildCollection[Row, Record]) GetPages(ctx context.Context, s *Store, actor actor.Actor, parents []string, in PageRequest) (map[string]*Page[Record], error) {
	if err := s.Authorize(ctx, actor, b.RequiredScope(actor)); err != nil {
		return nil, err
	}
	var p PageSpec
	var err error
	ids := make([]uuid.UUID, len(parents)) // uuid.Nil for an invalid id
	for i, parent := range parents {
		ids[i], _ = b.Parent.ParseID(parent)
		if i > 0 && in.Cursor == "" { // the request is as valid as it was for the first
			continue
		}
		if p, err = s.ParsePage(actor, in, b.listOf(parent), b.Order); err != nil {
			return nil, err
		}
	}
	keys := sortIDs(slices.DeleteFunc(slices.Clone(ids), func(id uuid.UUID) bool { return id == uuid.Nil }))
	rows, err := b.loadRows(ctx, s, actor, keys, p)
	if err != nil {
		return nil, TranslateError(fmt.Errorf("read %s of %ss: %w", b.Plural, b.Parent.Name, err))
	}
	counts := b.countOnDemand(s, actor, keys)
	pages := make(map[string]*Page[Record], len(parents))
	for i, parent := range parents {
		p.List = b.listOf(parent)
		p.Count = func(ctx context.Context) (int, error) {
			of, err := counts(ctx)
			return of[ids[i]], err
		}
		if pages[parent], err = NewPage(p, rows[ids[i]], b.CursorKey, b.ToRecord); err != nil {
			return nil, err
		}
	}
	return pages, nil
}

func (b *ChildCollection[Row, Record]) listOf(parent string) string {
	return b.CursorName + "/" + parent
}

// loadRows loads the rows of each parent's page, plus one more.
func (b *ChildCollection[Row, Record]) loadRows(ctx context.Context, s *Store, actor actor.Actor, parents []uuid.UUID, p PageSpec) (map[uuid.UUID][]Row, error) {
	text, args, err := b.pageStatement(s, actor, parents, p)
	if err != nil {
		return nil, err
	}
	all := make([]Row, 0, min(expectedRows, len(parents)*int(min(p.FetchLimit(), b.perParent.Load()))))
	if err := s.readReplicaRows(ctx, &all, text, args...); err != nil {
		return nil, err
	}
	b.perParent.Store(int64(len(all)/max(1, len(parents)) + 1))
	return groupRows(all, len(parents), b.ParentID), nil
}

// groupRows returns the rows of each of so many parents, in their order. They follow each
// other, unless Postgres read in parallel.
func groupRows[Row any](all []Row, parents int, parentID func(*Row) uuid.UUID) map[uuid.UUID][]Row {
	rows := make(map[uuid.UUID][]Row, parents)
	begin := 0
	for i := range all {
		if owner := parentID(&all[i]); i+1 == len(all) || parentID(&all[i+1]) != owner {
			group := all[begin : i+1 : i+1]
			if before := rows[owner]; before != nil {
				group = append(before, group...)
			}
			rows[owner], begin = group, i+1
		}
	}
	return rows
}

// pageStatement returns the statement that reads the page of each parent. The subquery
// sorts the rows of one parent; sorting those of all again took a fifth of the time.
func (b *ChildCollection[Row, Record]) pageStatement(s *Store, actor actor.Actor, parents []uuid.UUID, p PageSpec) (text string, args []any, err error) {
	by, direction := b.OrderColumn, p.Order.Reversed(p.Last)
	if b.Union != nil {
		w := b.parentCondition(s, actor, parents)
		text, err = b.Union.PageStatement(w, p, direction)
		return text, w.Args, err
	}
	from, w := b.parentTable(s, actor, parents)
	inner := s.NewWhere(new(Row))
	inner.Args = w.Args
	inner.AddTerm(b.JoinCondition)
	var after any
	switch {
	case by == "":
		by = "id"
		if p.After != "" {
			after, err = uuid.Parse(p.After)
		}
	case p.After != "":
		after, err = strconv.ParseInt(p.After, 10, 64)
	}
	if err != nil {
		return "", nil, fmt.Errorf("cursor: %w", err)
	}
	if after != nil {
		inner.AddTerm("!."+by+" "+direction.Comparison+" ?", after)
	}
	text = fmt.Sprintf("select r.*%s from %s as w cross join lateral (%s%s order by %s.%s %s limit $%d) as r%s",
		b.ExtraColumns, from, b.selectStatement(s, p.Selection), inner, w.Alias, by, direction.Keyword, len(inner.Args)+1, w)
	return text, append(inner.Args, p.FetchLimit()), nil
}

// parentTable returns the table of the parents w and its condition. A partner's children
// belong to the same partner as their parent, so the parents need not be read.
func (b *ChildCollection[Row, Record]) parentTable(s *Store, caller actor.Actor, parents []uuid.UUID) (from string, w *WhereClause) {
	if caller.Kind != actor.KindPartner || b.ReadsParent {
		return b.ParentTable, b.parentCondition(s, caller, parents)
	}
	w = &WhereClause{Alias: s.tableAlias(new(Row))}
	if len(parents) == 1 { // as in parentCondition
		return fmt.Sprintf("(select %s::uuid as id, %s::text as partner)", w.BindArg(parents[0]), w.BindArg(caller.Partner)), w
	}
	return fmt.Sprintf("(select unnest(%s::uuid[]) as id, %s::text as partner)", w.BindArg(parents), w.BindArg(caller.Partner)), w
}

func (b *ChildCollection[Row, Record]) parentCondition(s *Store, caller actor.Actor, parents []uuid.UUID) *WhereClause {
	w := &WhereClause{Alias: s.tableAlias(new(Row))}
	if len(parents) == 1 { // plan for one parent; a list is planned for ten
		w.AddTerm("w.id = ?", parents[0])
	} else {
		w.AddTerm("w.id = any(?)", parents)
	}
	if caller.Kind == actor.KindPartner {
		w.AddTerm("w.partner = ?", caller.Partner)
	}
	return w
}

// countOnDemand returns a function that counts the rows of all parents on its first call,
// up to MaxTotal+1 per parent.
func (b *ChildCollection[Row, Record]) countOnDemand(s *Store, actor actor.Actor, parents []uuid.UUID) func(context.Context) (map[uuid.UUID]int, error) {
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
			text := fmt.Sprintf("select w.id, %s as n from %s as w%s", b.countExpression(s, w.Alias), b.ParentTable, w)
			err = s.readReplicaRows(ctx, &rows, text, w.Args...)
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
func (b *ChildCollection[Row, Record]) countExpression(s *Store, alias string) string {
	if b.Union != nil {
		return b.Union.CountExpression
	}
	inner := s.NewWhere(new(Row))
	inner.AddTerm(b.JoinCondition)
	return fmt.Sprintf("(select count(*) from (select from %s as %s%s limit %d) as counted)", s.tableName(new(Row)), alias, inner, MaxTotal+1)
}
