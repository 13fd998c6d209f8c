package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"parapet/model/kernel/actor"
)

// listIndex is the index that serves a list filtered by status or product.
type listIndex int

const (
	// indexByPartner is an index by partner and id, of tables with few rows per partner.
	indexByPartner listIndex = iota
	// IndexByStatus is the only index of a partner's records, by partner, status and id.
	IndexByStatus
	// IndexByStatusAndProduct is an index by partner, status, product and id, in addition
	// to the one by partner and id, which may be that of Collection.Keys.
	IndexByStatusAndProduct
)

// listQuery is a requested list.
type listQuery struct {
	filter   Filter
	partner  string // empty: all partners
	index    listIndex
	keys     string // table of keys that has the index by partner and id; empty: the records have it
	statuses []string
	alias    string
	from     string       // table
	filtered *WhereClause // conditions for the other fields of the filter: all except partner, status and product
}

// usesProbes reports whether the list is read by one index probe per combination of
// partner, status and product, merged afterwards.
func (q *listQuery) usesProbes() bool {
	switch {
	case q.index == indexByPartner || q.filter.isSelective() || q.usesKeys():
		return false
	case len(q.filter.allStatuses()) > 0 || q.filter.Product != "":
		return true
	default:
		return q.partner != "" && (q.index != IndexByStatusAndProduct || q.keys != "")
	}
}

// usesKeys reports whether the table of keys has the ids: the list is of all records of a partner.
func (q *listQuery) usesKeys() bool {
	return q.keys != "" && q.partner != "" && len(q.filtered.terms)+len(q.filter.allStatuses()) == 0 && q.filter.Product == ""
}

// addFilterTerms adds the whole filter to the conditions of a list that is read without
// probes.
func (q *listQuery) addFilterTerms(w *WhereClause) {
	if q.partner != "" {
		w.AddTerm("!.partner = ?", q.partner)
	} else if q.filter.PartnerReference != "" { // unique per partner, so the index by partner finds it
		w.AddTerm("!.partner = any(array(select slug from partners))")
	}
	if statuses := q.filter.allStatuses(); len(statuses) > 0 {
		w.AddTerm("!.status = any(?)", statuses)
	}
	if q.filter.Product != "" {
		w.AddTerm("!.product = ?", q.filter.Product)
	}
}

// probeSubquery returns a subquery with the columns of the records that each probe finds.
// ranged is the column whose condition is a range, or empty; ending is the end of each
// probe, such as "order by !.id desc limit 26".
func (q *listQuery) probeSubquery(w *WhereClause, columns, ranged, ending string) string {
	match := func(column string) {
		condition := "!.%[1]s = of_%[1]s.%[1]s"
		if column == ranged {
			condition = "!.%[1]s between of_%[1]s.%[1]s and of_%[1]s.%[1]s"
		}
		w.AddTerm(fmt.Sprintf(condition, column))
	}
	partners, products := "(select slug as partner from partners)", "(select distinct key as product from products)"
	if q.partner != "" {
		partners = "(select " + w.BindArg(q.partner) + "::text as partner)"
	}
	statuses := q.filter.allStatuses()
	if len(statuses) == 0 {
		statuses = q.statuses
	}
	from := partners + " as of_partner cross join unnest(" + w.BindArg(statuses) + "::text[]) as of_status (status)"
	match("partner")
	match("status")
	if q.index != IndexByStatus {
		if q.filter.Product != "" {
			products = "(select " + w.BindArg(q.filter.Product) + "::text as product)"
		}
		from += " cross join " + products + " as of_product"
		match("product")
	}
	text := fmt.Sprintf("select %s from %s as !%s %s", columns, q.from, w, ending)
	return from + " cross join lateral (" + strings.ReplaceAll(text, "!", q.alias) + ") as found"
}

// pageStatement returns the statement that reads a page of rows; selected is the
// beginning of that statement, up to the table.
//
// The probes have a range on the last column before the id of their index, and an order that
// begins with it, because no other index has that order. With equalities Postgres reads the
// ids of all partners by the primary key, once per probe: 600 ms for 150,000 payout methods
// of 205 partners (BenchmarkBookLists in model), and 1 ms so. A range on an earlier column
// reads all its rows.
func (q *listQuery) pageStatement(selected string, w *WhereClause, direction SortOrder, limit int64) (text string, args []any) {
	most := w.BindArg(limit)
	order := fmt.Sprintf("order by %s.id %s limit %s", q.alias, direction.Keyword, most)
	var found string
	switch {
	case q.usesKeys():
		w.AddTerm("!.partner = ?", q.partner)
		// A limit that is an argument would be planned in each call, which costs as much as reading.
		found = fmt.Sprintf("select %[1]s.id from %[2]s as %[1]s%[3]s order by %[1]s.id %[4]s limit %[5]d", q.alias, q.keys, w, direction.Keyword, MaxPageSize+1)
	case q.usesProbes():
		ranged := [...]string{IndexByStatus: "status", IndexByStatusAndProduct: "product"}[q.index]
		found = q.probeSubquery(w, "!.id", ranged, fmt.Sprintf("order by !.%s %s, !.id %s limit %s", ranged, direction.Reversed(true).Keyword, direction.Keyword, most))
		found = fmt.Sprintf("select found.id from %s order by found.id %s limit %s", found, direction.Keyword, most)
	default:
		q.addFilterTerms(w)
		return selected + w.String() + " " + order, w.Args
	}
	outer := &WhereClause{Alias: w.Alias, Args: w.Args}
	outer.AddTerm("!.id = any(array(" + found + "))")
	if q.partner != "" {
		outer.AddTerm("!.partner = ?", q.partner)
	}
	return selected + outer.String() + " " + order, outer.Args
}

// countStatement returns the statement that counts the list, up to MaxTotal+1.
func (q *listQuery) countStatement() (text string, args []any) {
	w := q.filtered.clone()
	if !q.usesProbes() {
		q.addFilterTerms(w)
		return fmt.Sprintf("select count(*) from (select from %s as %s%s limit %d) as counted", q.from, q.alias, w, MaxTotal+1), w.Args
	}
	found := q.probeSubquery(w, "", "", fmt.Sprintf("limit %d", MaxTotal+1))
	return fmt.Sprintf("select count(*) from (select from %s limit %d) as counted", found, MaxTotal+1), w.Args
}

// AddFew adds a condition that few rows of a table meet: they are found first, by an index
// that has the condition, in which ! is the row.
func (w *WhereClause) AddFew(table, condition string, args ...any) {
	w.AddTerm(fmt.Sprintf("!.id = any(array(select few.id from %s as few where %s order by few.id desc limit %d))", table, strings.ReplaceAll(condition, "!", "few"), MaxTotal+1), args...)
}

// List returns one page of the filtered records. Errors: parameter_invalid,
// cursor_invalid.
func (b *Collection[Row, Record]) List(ctx context.Context, s *Store, caller actor.Actor, f Filter, in PageRequest) (*Page[Record], error) {
	if err := s.Authorize(ctx, caller, b.RequiredScope(caller)); err != nil {
		return nil, err
	}
	if err := f.RequireStatus(b.Statuses); err != nil {
		return nil, err
	}
	w := s.NewWhere(new(Row))
	if caller.Kind == actor.KindPartner && f.Partner != "" && f.Partner != caller.Partner {
		w.AddTerm("false")
	}
	if err := f.applyFilter(w, b.PolicyCondition, b.Keys); err != nil {
		return nil, err
	}
	if b.Narrow != nil {
		var err error
		if f.few, err = b.Narrow(ctx, s, f, w); err != nil {
			return nil, err
		}
	}
	p, err := s.ParsePage(caller, in, f.CursorName(b.Plural), SortNewestFirst)
	if err != nil {
		return nil, err
	}
	q := listQuery{filter: f, partner: f.Partner, index: b.Index, keys: b.Keys, statuses: b.Statuses, alias: w.Alias, from: s.tableName(new(Row)), filtered: w.clone()}
	if caller.Kind == actor.KindPartner {
		q.partner = caller.Partner
	}
	direction := p.Order.Reversed(p.Last)
	if p.After != "" {
		after, err := uuid.Parse(p.After)
		if err != nil {
			return nil, fmt.Errorf("cursor of %s: %w", b.Plural, err)
		}
		w.AddTerm("!.id "+direction.Comparison+" ?", after)
	}
	rows := make([]Row, 0, p.FetchLimit())
	text, args := q.pageStatement(b.selectStatement(s, in.Selection), w, direction, p.FetchLimit())
	if err := s.readReplicaRows(ctx, &rows, text, args...); err != nil {
		return nil, TranslateError(fmt.Errorf("list %s: %w", b.Plural, err))
	}
	p.Count = func(ctx context.Context) (int, error) {
		text, args := q.countStatement()
		return s.readReplicaCount(ctx, text, args...)
	}
	return NewPage(p, rows, RowKey[Row], b.ToRecord)
}
