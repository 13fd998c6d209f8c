package model

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/google/uuid"
)

// expected is how many rows there is room for before they are counted.
const expected = 256

// branch is what records of one kind have of another: a claim's messages, a
// policy's claims. It is read for many of them in one statement, so that who shows
// a page of claims with their messages asks twice, not once a claim.
type branch[Row, Record any] struct {
	*shelf[Row, Record]

	name  string // with the parent's id, it binds cursors
	trunk noun   // what it belongs to
	from  string // the table of that; its row is w
	on    string // which of ours (!) belong to w
	also  string // further columns, of w
	by    string // the column it is in order of; id when empty
	along direction
	key   func(*Row) string // the value of by
	owner func(*Row) uuid.UUID

	// parts is set when the rows come from several tables; on, also and by are not used
	// then.
	parts *branchParts
}

// branchParts are the statements of a branch whose rows come from several tables.
type branchParts struct {
	// rows selects the page of the parent w, where where narrows the parents.
	rows func(where *where, p page, along direction) (text string, err error)
	// count is an expression of how many rows the parent w has.
	count string
}

// page is one page of what one record has. Errors: not_found, cursor_invalid.
func (b *branch[Row, Record]) page(ctx context.Context, s *Service, actor Actor, parent string, in PageRequest) (*Page[Record], error) {
	if _, err := b.trunk.parse(parent); err != nil {
		return nil, firstOf(s.authorize(ctx, actor, b.scope(actor)), err)
	}
	pages, err := b.of(ctx, s, actor, []string{parent}, in)
	if err != nil {
		return nil, err
	}
	page := pages[parent]
	if len(page.Data) > 0 {
		return page, nil
	}
	return page, s.exists(ctx, actor, b.trunk, b.from, parent)
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// exists tells nothing found from nothing there.
func (s *Service) exists(ctx context.Context, actor Actor, kind noun, table, id string) error {
	key, err := kind.parse(id)
	if err != nil {
		return err
	}
	n, err := s.preparedCount(ctx, "select count(*) from "+table+" where id = $1 and (partner = $2 or $2::text is null)", key, actor.tenant())
	if err == nil && n == 0 {
		return kind.notFound()
	}
	return explain(err)
}

// of is the same page of each of several records, by their ids, in one statement.
// Those that do not exist for the actor have empty pages. A cursor is good for one
// record only.
func (b *branch[Row, Record]) of(ctx context.Context, s *Service, actor Actor, parents []string, in PageRequest) (map[string]*Page[Record], error) {
	if err := s.authorize(ctx, actor, b.scope(actor)); err != nil {
		return nil, err
	}
	checked := make(map[string]page, len(parents))
	var p page
	for _, parent := range parents {
		var err error
		if p, err = s.page(actor, in, b.name+"/"+parent); err != nil {
			return nil, err
		}
		checked[parent] = p
	}
	keys := b.trunk.parseAll(parents)
	rows, err := b.rows(ctx, s, actor, keys, p)
	if err != nil {
		return nil, explain(fmt.Errorf("read %s of %ss: %w", b.plural, b.trunk.name, err))
	}
	counts := b.counts(s, actor, keys)
	pages := make(map[string]*Page[Record], len(parents))
	for _, parent := range parents {
		id, _ := b.trunk.parse(parent) // what is no id has no rows
		p := checked[parent]
		p.count = func(ctx context.Context) (int, error) {
			of, err := counts(ctx)
			return of[id], err
		}
		if pages[parent], err = paged(p, rows[id], b.key, b.public); err != nil {
			return nil, err
		}
	}
	return pages, nil
}

// rows are the page's rows, and one more, of each parent.
func (b *branch[Row, Record]) rows(ctx context.Context, s *Service, actor Actor, parents []uuid.UUID, p page) (map[uuid.UUID][]Row, error) {
	w := b.where(s, actor, parents)
	text, args, err := b.pageText(s, w, p)
	if err != nil {
		return nil, err
	}
	all := make([]Row, 0, min(expected, len(parents)*int(p.fetch())))
	if err := s.preparedRows(ctx, s.pool, &all, text, args...); err != nil {
		return nil, err
	}
	rows := make(map[uuid.UUID][]Row, len(parents))
	begin := 0
	for i := range all { // they come parent by parent
		if owner := b.owner(&all[i]); i+1 == len(all) || b.owner(&all[i+1]) != owner {
			rows[owner], begin = all[begin:i+1:i+1], i+1
		}
	}
	return rows, nil
}

// pageText is the statement that reads the page of each parent that w narrows to.
func (b *branch[Row, Record]) pageText(s *Service, w *where, p page) (text string, args []any, err error) {
	by, along := b.by, p.along.or(b.along).turned(p.last)
	if b.parts != nil {
		text, err = b.parts.rows(w, p, along)
		return text, w.args, err
	}
	inner := s.rows(new(Row))
	inner.args = w.args
	inner.and(b.on)
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
		inner.and("!."+by+" "+along.beyond+" ?", after)
	}
	order := by + " " + along.order
	text = fmt.Sprintf("select r.*%s from %s as w cross join lateral (%s%s order by %s.%s limit $%d) as r%s order by w.id, r.%s",
		b.also, b.from, s.selectText(new(Row)), inner, w.alias, order, len(inner.args)+1, w, order)
	return text, append(inner.args, p.fetch()), nil
}

func (b *branch[Row, Record]) where(s *Service, actor Actor, parents []uuid.UUID) *where {
	w := &where{alias: s.alias(new(Row))}
	if len(parents) == 1 { // planned for one row, where a list is planned for ten
		w.and("w.id = ?", parents[0])
	} else {
		w.and("w.id = any(?)", parents)
	}
	if actor.Kind == ActorPartner {
		w.and("w.partner = ?", actor.Partner)
	}
	return w
}

// counts counts what each parent has, up to one more than MaxTotal, when the first
// of them is asked.
func (b *branch[Row, Record]) counts(s *Service, actor Actor, parents []uuid.UUID) func(context.Context) (map[uuid.UUID]int, error) {
	var once sync.Once
	var counted map[uuid.UUID]int
	var err error
	return func(ctx context.Context) (map[uuid.UUID]int, error) {
		once.Do(func() {
			w := b.where(s, actor, parents)
			var rows []struct {
				ID uuid.UUID
				N  int
			}
			text := fmt.Sprintf("select w.id, %s as n from %s as w%s", b.countOf(s, w.alias), b.from, w)
			err = s.preparedRows(ctx, s.pool, &rows, text, w.args...)
			counted = make(map[uuid.UUID]int, len(rows))
			for _, row := range rows {
				counted[row.ID] = row.N
			}
		})
		return counted, err
	}
}

// countOf is an expression of how many rows the parent w has, up to one more than
// MaxTotal where they must be counted.
func (b *branch[Row, Record]) countOf(s *Service, alias string) string {
	if b.parts != nil {
		return b.parts.count
	}
	inner := s.rows(new(Row))
	inner.and(b.on)
	return fmt.Sprintf("(select count(*) from (select from %s as %s%s limit %d) as counted)", s.table(new(Row)), alias, inner, MaxTotal+1)
}
