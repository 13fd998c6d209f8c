package model

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// listIndex is which index serves a list narrowed by status or product.
type listIndex int

const (
	// byPartner: an index by partner and id alone; for tables where a partner has few.
	byPartner listIndex = iota
	// byStatus: the only index of a partner's records is by partner, status and id.
	byStatus
	// byStatusAndProduct: one by partner, status, product and id beside that by partner
	// and id.
	byStatusAndProduct
)

// listQuery is a list as it is asked for.
type listQuery struct {
	filter   Filter
	partner  string // empty: every partner's
	index    listIndex
	statuses []string
	alias    string
	from     string // table
	narrowed *where // by what the filter has besides partner, status and product
}

// probes reports whether the list is read by probes of its index, one for each
// combination of partner, status and product that the filter leaves open, and merged.
// Each probe ends after a page, so a filter that matches nothing costs as little as one
// that matches all; an index scan in order of id would read all that does not match.
func (q *listQuery) probes() bool {
	switch {
	case q.index == byPartner || q.filter.isSelective():
		return false
	case q.filter.Status != "" || q.filter.Product != "":
		return true
	default:
		return q.index == byStatus && q.partner != ""
	}
}

// direct adds the whole filter to conditions that are read as they are.
func (q *listQuery) direct(w *where) {
	if q.partner != "" {
		w.and("!.partner = ?", q.partner)
	} else if q.filter.PartnerReference != "" { // unique within a partner, and found by its index so
		w.and("!.partner = any(array(select slug from partners))")
	}
	if q.filter.Status != "" {
		w.and("!.status = ?", q.filter.Status)
	}
	if q.filter.Product != "" {
		w.and("!.product = ?", q.filter.Product)
	}
}

// probed is a subquery with the columns of the records that each probe finds; ending
// ends every probe, such as "order by !.id desc limit 26".
func (q *listQuery) probed(w *where, columns, ending string) string {
	partners, products := "(select slug as partner from partners)", "(select distinct key as product from products)"
	if q.partner != "" {
		partners = "(select " + w.bind(q.partner) + "::text as partner)"
	}
	statuses := q.statuses
	if q.filter.Status != "" {
		statuses = []string{q.filter.Status}
	}
	from := partners + " as of_partner cross join unnest(" + w.bind(statuses) + "::text[]) as of_status (status)"
	w.and("!.partner = of_partner.partner")
	w.and("!.status = of_status.status")
	if q.index == byStatusAndProduct {
		if q.filter.Product != "" {
			products = "(select " + w.bind(q.filter.Product) + "::text as product)"
		}
		from += " cross join " + products + " as of_product"
		w.and("!.product = of_product.product")
	}
	text := fmt.Sprintf("select %s from %s as !%s %s", columns, q.from, w, ending)
	return from + " cross join lateral (" + strings.ReplaceAll(text, "!", q.alias) + ") as found"
}

// page is the statement that reads a page of rows: selected is what it selects, from
// the table.
func (q *listQuery) page(selected string, w *where, along direction, limit int64) (text string, args []any) {
	most := w.bind(limit)
	order := fmt.Sprintf("order by %s.id %s limit %s", q.alias, along.order, most)
	if !q.probes() {
		q.direct(w)
		return selected + w.String() + " " + order, w.args
	}
	found := q.probed(w, "!.id", order)
	outer := &where{alias: w.alias, args: w.args}
	outer.and(fmt.Sprintf("!.id = any(array(select found.id from %s order by found.id %s limit %s))", found, along.order, most))
	if q.partner != "" {
		outer.and("!.partner = ?", q.partner)
	}
	return selected + outer.String() + " " + order, outer.args
}

// total is the statement that counts the list, up to one more than MaxTotal.
func (q *listQuery) total() (text string, args []any) {
	w := q.narrowed.clone()
	if !q.probes() {
		q.direct(w)
		return fmt.Sprintf("select count(*) from (select from %s as %s%s limit %d) as counted", q.from, q.alias, w, MaxTotal+1), w.args
	}
	found := q.probed(w, "", fmt.Sprintf("limit %d", MaxTotal+1))
	return fmt.Sprintf("select count(*) from (select from %s limit %d) as counted", found, MaxTotal+1), w.args
}

// list is one page of all records of the kind, narrowed. Errors:
// parameter_invalid, cursor_invalid.
func (b *shelf[Row, Record]) list(ctx context.Context, s *Service, actor Actor, f Filter, in PageRequest) (*Page[Record], error) {
	if err := s.authorize(ctx, actor, b.scope(actor)); err != nil {
		return nil, err
	}
	if err := f.known(b.statuses); err != nil {
		return nil, err
	}
	w := s.rows(new(Row))
	if actor.Kind == ActorPartner && f.Partner != "" && f.Partner != actor.Partner {
		w.and("false")
	}
	if err := f.narrow(w, b.policy); err != nil {
		return nil, err
	}
	p, err := s.page(actor, in, f.name(b.plural))
	if err != nil {
		return nil, err
	}
	q := listQuery{filter: f, partner: f.Partner, index: b.index, statuses: b.statuses, alias: w.alias, from: s.table(new(Row)), narrowed: w.clone()}
	if actor.Kind == ActorPartner {
		q.partner = actor.Partner
	}
	along := p.along.or(newestFirst).turned(p.last)
	if p.after != "" {
		after, err := uuid.Parse(p.after)
		if err != nil {
			return nil, fmt.Errorf("cursor of %s: %w", b.plural, err)
		}
		w.and("!.id "+along.beyond+" ?", after)
	}
	rows := make([]Row, 0, p.fetch())
	text, args := q.page(s.selectText(new(Row)), w, along, p.fetch())
	if err := s.preparedRows(ctx, s.pool, &rows, text, args...); err != nil {
		return nil, explain(fmt.Errorf("list %s: %w", b.plural, err))
	}
	p.count = func(ctx context.Context) (int, error) {
		text, args := q.total()
		return s.preparedCount(ctx, text, args...)
	}
	return paged(p, rows, keyOf[Row], b.public)
}
