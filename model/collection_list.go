package model

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// listIndex is the index that serves a list filtered by status or product.
type listIndex int

const (
	// indexByPartner is an index by partner and id only, for tables with few rows per
	// partner.
	indexByPartner listIndex = iota
	// indexByStatus is the only index of a partner's records, by partner, status and id.
	indexByStatus
	// indexByStatusAndProduct is an index by partner, status, product and id, in addition
	// to the one by partner and id.
	indexByStatusAndProduct
)

// listQuery is a requested list.
type listQuery struct {
	filter   Filter
	partner  string // empty: all partners
	index    listIndex
	statuses []string
	alias    string
	from     string       // table
	filtered *whereClause // conditions for the other fields of the filter: all except partner, status and product
}

// usesProbes reports whether the list is read by one index probe per combination of
// partner, status and product, merged afterwards.
func (q *listQuery) usesProbes() bool {
	switch {
	case q.index == indexByPartner || q.filter.isSelective():
		return false
	case q.filter.Status != "" || q.filter.Product != "":
		return true
	default:
		return q.index == indexByStatus && q.partner != ""
	}
}

// addFilterTerms adds the whole filter to the conditions of a list that is read without
// probes.
func (q *listQuery) addFilterTerms(w *whereClause) {
	if q.partner != "" {
		w.addTerm("!.partner = ?", q.partner)
	} else if q.filter.PartnerReference != "" { // unique per partner, so the index by partner finds it
		w.addTerm("!.partner = any(array(select slug from partners))")
	}
	if q.filter.Status != "" {
		w.addTerm("!.status = ?", q.filter.Status)
	}
	if q.filter.Product != "" {
		w.addTerm("!.product = ?", q.filter.Product)
	}
}

// probeSubquery returns a subquery with the columns of the records that each probe finds.
// ending is the end of each probe, such as "order by !.id desc limit 26".
func (q *listQuery) probeSubquery(w *whereClause, columns, ending string) string {
	partners, products := "(select slug as partner from partners)", "(select distinct key as product from products)"
	if q.partner != "" {
		partners = "(select " + w.bindArg(q.partner) + "::text as partner)"
	}
	statuses := q.statuses
	if q.filter.Status != "" {
		statuses = []string{q.filter.Status}
	}
	from := partners + " as of_partner cross join unnest(" + w.bindArg(statuses) + "::text[]) as of_status (status)"
	w.addTerm("!.partner = of_partner.partner")
	w.addTerm("!.status = of_status.status")
	if q.index == indexByStatusAndProduct {
		if q.filter.Product != "" {
			products = "(select " + w.bindArg(q.filter.Product) + "::text as product)"
		}
		from += " cross join " + products + " as of_product"
		w.addTerm("!.product = of_product.product")
	}
	text := fmt.Sprintf("select %s from %s as !%s %s", columns, q.from, w, ending)
	return from + " cross join lateral (" + strings.ReplaceAll(text, "!", q.alias) + ") as found"
}

// pageStatement returns the statement that reads a page of rows; selected is the
// beginning of that statement, up to the table.
func (q *listQuery) pageStatement(selected string, w *whereClause, direction sortOrder, limit int64) (text string, args []any) {
	most := w.bindArg(limit)
	order := fmt.Sprintf("order by %s.id %s limit %s", q.alias, direction.keyword, most)
	if !q.usesProbes() {
		q.addFilterTerms(w)
		return selected + w.String() + " " + order, w.args
	}
	found := q.probeSubquery(w, "!.id", order)
	outer := &whereClause{alias: w.alias, args: w.args}
	outer.addTerm(fmt.Sprintf("!.id = any(array(select found.id from %s order by found.id %s limit %s))", found, direction.keyword, most))
	if q.partner != "" {
		outer.addTerm("!.partner = ?", q.partner)
	}
	return selected + outer.String() + " " + order, outer.args
}

// countStatement returns the statement that counts the list, up to MaxTotal+1.
func (q *listQuery) countStatement() (text string, args []any) {
	w := q.filtered.clone()
	if !q.usesProbes() {
		q.addFilterTerms(w)
		return fmt.Sprintf("select count(*) from (select from %s as %s%s limit %d) as counted", q.from, q.alias, w, MaxTotal+1), w.args
	}
	found := q.probeSubquery(w, "", fmt.Sprintf("limit %d", MaxTotal+1))
	return fmt.Sprintf("select count(*) from (select from %s limit %d) as counted", found, MaxTotal+1), w.args
}

// list returns one page of the filtered records. Errors: parameter_invalid,
// cursor_invalid.
func (b *collection[Row, Record]) list(ctx context.Context, s *Service, actor Actor, f Filter, in PageRequest) (*Page[Record], error) {
	if err := s.authorize(ctx, actor, b.requiredScope(actor)); err != nil {
		return nil, err
	}
	if err := f.requireStatus(b.statuses); err != nil {
		return nil, err
	}
	w := s.newWhere(new(Row))
	if actor.Kind == ActorPartner && f.Partner != "" && f.Partner != actor.Partner {
		w.addTerm("false")
	}
	if err := f.applyFilter(w, b.policyCondition); err != nil {
		return nil, err
	}
	p, err := s.parsePage(actor, in, f.cursorName(b.plural))
	if err != nil {
		return nil, err
	}
	q := listQuery{filter: f, partner: f.Partner, index: b.index, statuses: b.statuses, alias: w.alias, from: s.tableName(new(Row)), filtered: w.clone()}
	if actor.Kind == ActorPartner {
		q.partner = actor.Partner
	}
	direction := p.order.orDefault(newestFirst).reversed(p.last)
	if p.after != "" {
		after, err := uuid.Parse(p.after)
		if err != nil {
			return nil, fmt.Errorf("cursor of %s: %w", b.plural, err)
		}
		w.addTerm("!.id "+direction.comparison+" ?", after)
	}
	rows := make([]Row, 0, p.fetchLimit())
	text, args := q.pageStatement(s.selectStatement(new(Row)), w, direction, p.fetchLimit())
	if err := s.queryPreparedRows(ctx, s.pool, &rows, text, args...); err != nil {
		return nil, translateError(fmt.Errorf("list %s: %w", b.plural, err))
	}
	p.count = func(ctx context.Context) (int, error) {
		text, args := q.countStatement()
		return s.queryPreparedCount(ctx, text, args...)
	}
	return newPage(p, rows, rowKey[Row], b.toRecord)
}
