package node

import "parapet/model"

// PageInfo is where a page stands in its list.
type PageInfo struct {
	HasNextPage     bool
	HasPreviousPage bool
	StartCursor     *string
	EndCursor       *string
}

// connection is a page of a list: its nodes, alone and in their edges.
type connection[N, E any] struct {
	Nodes    []N
	Edges    []E
	PageInfo PageInfo
}

// connect makes a connection of a page.
func connect[R, N, E any](page *model.Page[R], err error, together func([]*R) []N, edge func(cursor string, node N) E) (*connection[N, E], error) {
	if err != nil {
		return nil, err
	}
	records := make([]*R, len(page.Data))
	for i := range page.Data {
		records[i] = &page.Data[i]
	}
	c := &connection[N, E]{Nodes: together(records), PageInfo: PageInfo{HasNextPage: page.HasMore, HasPreviousPage: page.HasEarlier}}
	for i, node := range c.Nodes {
		cursor, err := page.Cursor(i)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			c.PageInfo.StartCursor = &cursor
		}
		c.PageInfo.EndCursor = &cursor
		c.Edges = append(c.Edges, edge(cursor, node))
	}
	return c, nil
}

// behind asks for the page after a cursor. A page of none would be one of the
// default size, so it is refused like every other size that is not one.
func behind(first int, after *string) model.PageRequest {
	if first == 0 {
		first = -1
	}
	return model.PageRequest{Limit: first, Cursor: orEmpty(after)}
}
