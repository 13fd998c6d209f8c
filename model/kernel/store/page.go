package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/seal"
	"parapet/model/wire"
)

// Page sizes of the contract.
const (
	DefaultPageSize = 25
	MaxPageSize     = 100
)

// MaxTotal bounds the count of a list's records.
const MaxTotal = 10_000

// Order is the sort order of a list.
type Order string

// Sort orders. Records sort by id, and ids grow with time.
const (
	NewestFirst Order = "newest_first"
	OldestFirst Order = "oldest_first"
)

// PageRequest asks for one page of a list.
type PageRequest struct {
	Limit  int    // 1 to MaxPageSize; 0 means DefaultPageSize
	Cursor string // cursor of the previous page; empty for the first page
	Order  Order  // empty means the default order of the list
	Last   bool   // the last page instead of the first, in the same order; not allowed with Cursor

	Selection *Selection // the members that are read; nil means all
}

// Page is a part of a list. REST shows only its List; the other members, which cost
// more, are computed on demand.
type Page[T any] struct {
	wire.List[T]
	HasEarlier bool // whether records precede the first one, judged by the request alone

	spec PageSpec
	key  func(i int) string // sort key of record i
}

// CursorAt returns the cursor after record i: the next page begins with record i+1.
func (p *Page[T]) CursorAt(i int) (string, error) {
	if p.NextCursor != nil && i == len(p.Data)-1 {
		return *p.NextCursor, nil
	}
	return p.spec.seal(p.key(i))
}

// FirstRecords returns the first n records as the page that a request for n would have returned.
func (p *Page[T]) FirstRecords(n int) (*Page[T], error) {
	if n >= len(p.Data) {
		return p, nil
	}
	head := *p
	head.Data, head.HasMore, head.NextCursor = p.Data[:n], true, nil
	cursor, err := head.CursorAt(n - 1)
	head.NextCursor = &cursor
	return &head, err
}

// Total counts the records of the whole list, up to MaxTotal, and reports whether there
// are more.
func (p *Page[T]) Total(ctx context.Context) (n int, more bool, err error) {
	n, err = p.spec.Count(ctx)
	return min(n, MaxTotal), n > MaxTotal, TranslateError(err)
}

// PageSpec is a validated PageRequest: After is the key of the last row of the previous
// page. A cursor is bound to the caller, the list with its filter, and the order.
type PageSpec struct {
	keys       seal.Keys
	caller     string // idempotencyOwner of the caller
	List       string // identifies the list and its filter
	Limit      int
	After      string
	Order      SortOrder // the requested order, or the list's own
	boundOrder Order     // the requested order if it is not the list's own
	resumed    bool      // the request has a cursor
	Last       bool
	Selection  *Selection
	Count      func(context.Context) (int, error) // counts the whole list, up to MaxTotal+1
}

// scope returns the text that a cursor is bound to.
func (p PageSpec) scope() []byte {
	scope := p.caller + "/" + p.List
	if p.boundOrder != "" {
		scope += "," + string(p.boundOrder)
	}
	return []byte(scope)
}

// seal returns the sealed cursor of the position after a record.
func (p PageSpec) seal(key string) (string, error) { return p.keys.SealCursor([]byte(key), p.scope()) }

// ParsePage validates a request for a list in its own order and opens its cursor. It
// rejects a cursor of another list, another filter, another order or another partner.
func (s *Store) ParsePage(actor actor.Actor, in PageRequest, list string, own SortOrder) (PageSpec, error) {
	p := PageSpec{keys: s.cursorKeys, caller: idempotencyOwner(actor), List: list, Limit: cmp.Or(in.Limit, DefaultPageSize), Order: cmp.Or(sortOrders[in.Order], own), resumed: in.Cursor != "", Last: in.Last, Selection: in.Selection}
	if p.Order != own {
		p.boundOrder = in.Order
	}
	if p.Limit < 1 || p.Limit > MaxPageSize {
		return p, apperr.InvalidParameter("limit", fmt.Sprintf("Use a whole number from 1 to %d.", MaxPageSize))
	}
	if in.Cursor == "" {
		return p, nil
	}
	after, err := s.cursorKeys.OpenCursor(in.Cursor, p.scope())
	if err != nil && in.Order != "" { // earlier releases bound a cursor to the list's own order too
		earlier := p
		earlier.boundOrder = in.Order
		after, err = s.cursorKeys.OpenCursor(in.Cursor, earlier.scope())
	}
	if err != nil {
		return p, InvalidCursor().WithCause(err)
	}
	p.After = string(after)
	return p, nil
}

// InvalidCursor returns the error cursor_invalid.
func InvalidCursor() *apperr.Error {
	return apperr.FailFields(apperr.CodeCursorInvalid, "This cursor is not one of this list; take it from the page before, or leave it out", "%s cursors",
		apperr.NewFieldError("/cursor", "value", "Use the cursor that came with a page of this list, read with the same filter."))
}

// FetchLimit returns the number of rows to read: one more than the page, to detect a
// next page.
func (p PageSpec) FetchLimit() int64 { return int64(p.Limit) + 1 }

// NewPage builds a page from the rows that were read.
func NewPage[Row, Record any](p PageSpec, rows []Row, key func(*Row) string, public func(*Row) Record) (*Page[Record], error) {
	list := &Page[Record]{spec: p, HasEarlier: p.resumed}
	more := len(rows) > p.Limit
	if more {
		rows = rows[:p.Limit]
	}
	if p.Last {
		list.HasEarlier, more = more, false
		slices.Reverse(rows)
	}
	list.List = wire.List[Record]{Object: "list", Data: make([]Record, 0, len(rows))}
	for i := range rows {
		list.Data = append(list.Data, public(&rows[i]))
	}
	list.key = func(i int) string { return key(&rows[i]) }
	if !more {
		return list, nil
	}
	cursor, err := list.CursorAt(p.Limit - 1)
	list.HasMore, list.NextCursor = true, &cursor
	return list, err
}
