package model

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"parapet/model/wire"
)

// The contract's page sizes.
const (
	DefaultPageSize = 25
	MaxPageSize     = 100
)

// MaxTotal is how far the records of a list are counted.
const MaxTotal = 10_000

// Order is how a list runs.
type Order string

// The orders. Records sort by their ids, which grow with time.
const (
	NewestFirst Order = "newest_first"
	OldestFirst Order = "oldest_first"
)

// PageRequest asks for one page of a list.
type PageRequest struct {
	Limit  int    // 1 to MaxPageSize; 0 means DefaultPageSize
	Cursor string // where the page before ended; empty for the first
	Order  Order  // empty means the list's own
	Last   bool   // the end of the list instead of its beginning, in its order; goes without Cursor
}

// Page is some records of a list. What REST shows of it is its List; what costs
// more is there when it is asked for.
type Page[T any] struct {
	wire.List[T]
	HasEarlier bool // before the first record, as far as the request tells

	spec pageSpec
	keys []string // of the records
}

// CursorAt is where record i stands: a page after it begins with the next.
func (p *Page[T]) CursorAt(i int) (string, error) { return p.spec.sealCursor(p.keys[i]) }

// FirstRecords returns the first n records as the page that a request for n would have returned.
func (p *Page[T]) FirstRecords(n int) (*Page[T], error) {
	if n >= len(p.Data) {
		return p, nil
	}
	head := *p
	head.Data, head.keys, head.HasMore = p.Data[:n], p.keys[:n], true
	cursor, err := head.CursorAt(n - 1)
	head.NextCursor = &cursor
	return &head, err
}

// Total is how many records the whole list has, counted up to MaxTotal, and
// whether there are more.
func (p *Page[T]) Total(ctx context.Context) (n int, more bool, err error) {
	n, err = p.spec.count(ctx)
	return min(n, MaxTotal), n > MaxTotal, translateError(err)
}

// pageSpec is a checked request: after is the key of the last row of the page
// before, and filter binds the cursor to the list and the caller.
type pageSpec struct {
	keys        Keys
	limit       int
	after       string
	cursorScope string
	order       sortOrder
	last        bool
	count       func(context.Context) (int, error) // the whole list, up to one more than MaxTotal
}

// sealCursor seals the place after a record.
func (p pageSpec) sealCursor(key string) (string, error) {
	sealed, err := p.keys.seal([]byte(strings.Clone(key)), []byte(p.cursorScope))
	if err != nil {
		return "", fmt.Errorf("seal cursor: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(sealed), nil
}

// parsePage opens a cursor. A cursor of another list, another filter or another
// partner does not open.
func (s *Service) parsePage(actor Actor, in PageRequest, filter string) (pageSpec, error) {
	p := pageSpec{keys: s.cursorKeys, limit: in.Limit, cursorScope: newCursorScope(actor, in, filter), order: sortOrders[in.Order], last: in.Last}
	if p.limit == 0 {
		p.limit = DefaultPageSize
	}
	if p.limit < 1 || p.limit > MaxPageSize {
		return p, badParameter("limit", fmt.Sprintf("Use a whole number from 1 to %d.", MaxPageSize))
	}
	if in.Cursor == "" {
		return p, nil
	}
	sealed, err := base64.RawURLEncoding.DecodeString(in.Cursor)
	if err == nil {
		var after []byte
		after, err = s.cursorKeys.open(sealed, []byte(p.cursorScope))
		p.after = string(after)
	}
	if err != nil {
		return p, InvalidCursor().WithCause(err)
	}
	return p, nil
}

// newCursorScope is what a cursor is bound to: who reads which list, narrowed and ordered how.
func newCursorScope(actor Actor, in PageRequest, filter string) string {
	if in.Order != "" {
		filter += "," + string(in.Order)
	}
	return actor.idempotencyOwner() + "/" + filter
}

// InvalidCursor is cursor_invalid.
func InvalidCursor() *Error {
	return FailFields(CodeCursorInvalid, "This cursor is not one of this list; take it from the page before, or leave it out", "%s cursors",
		newFieldError("/cursor", "value", "Use the cursor that came with a page of this list, read with the same filter."))
}

// fetchLimit is how many rows to read: one more than the page, to see whether there
// is another.
func (p pageSpec) fetchLimit() int64 { return int64(p.limit) + 1 }

// newPage makes a page of the rows that were read.
func newPage[Row, Record any](p pageSpec, rows []Row, key func(*Row) string, public func(*Row) Record) (*Page[Record], error) {
	list := &Page[Record]{List: wire.List[Record]{Object: "list", Data: make([]Record, 0, len(rows))}, spec: p, HasEarlier: p.after != ""}
	more := len(rows) > p.limit
	if more {
		rows = rows[:p.limit]
	}
	if p.last {
		list.HasEarlier, more = more, false
		slices.Reverse(rows)
	}
	for i := range rows {
		list.Data, list.keys = append(list.Data, public(&rows[i])), append(list.keys, key(&rows[i]))
	}
	if !more {
		return list, nil
	}
	cursor, err := list.CursorAt(p.limit - 1)
	list.HasMore, list.NextCursor = true, &cursor
	return list, err
}
