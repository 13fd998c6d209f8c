package model

import (
	"encoding/base64"
	"fmt"
	"strings"

	"parapet/model/wire"
)

// The contract's page sizes.
const (
	DefaultPageSize = 25
	MaxPageSize     = 100
)

// PageRequest asks for one page of a list.
type PageRequest struct {
	Limit  int    // 1 to MaxPageSize; 0 means DefaultPageSize
	Cursor string // where the page before ended; empty for the first
}

// page is a checked request: after is the key of the last row of the page
// before, and filter binds the cursor to the list and the caller.
type page struct {
	keys   Keys
	limit  int
	after  string
	filter string
}

// page opens a cursor. A cursor of another list, another filter or another
// partner does not open.
func (s *Service) page(actor Actor, in PageRequest, filter string) (page, error) {
	p := page{keys: s.keys, limit: in.Limit, filter: actor.owner() + "/" + filter}
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
		after, err = s.keys.open(sealed, []byte(p.filter))
		p.after = string(after)
	}
	if err != nil {
		return p, BadCursor().Because(err)
	}
	return p, nil
}

// BadCursor is cursor_invalid.
func BadCursor() *Error {
	return Refuse(CodeCursorInvalid, "This cursor is not one of this list; take next_cursor from the page before, or leave it out", "%s cursors",
		wrong("/cursor", "value", "Use next_cursor of a page of this list, read with the same filter."))
}

// fetch is how many rows to read: one more than the page, to see whether there
// is another.
func (p page) fetch() int64 { return int64(p.limit) + 1 }

// paged makes a page of the rows that were read.
func paged[Row, Record any](p page, rows []Row, key func(*Row) string, public func(*Row) Record) (*wire.List[Record], error) {
	list := &wire.List[Record]{Object: "list", Data: make([]Record, 0, len(rows))}
	if len(rows) > p.limit {
		rows, list.HasMore = rows[:p.limit], true
		sealed, err := p.keys.seal([]byte(strings.Clone(key(&rows[p.limit-1]))), []byte(p.filter))
		if err != nil {
			return nil, fmt.Errorf("seal cursor: %w", err)
		}
		cursor := base64.RawURLEncoding.EncodeToString(sealed)
		list.NextCursor = &cursor
	}
	for i := range rows {
		list.Data = append(list.Data, public(&rows[i]))
	}
	return list, nil
}
