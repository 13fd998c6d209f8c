package graph

import (
	"context"

	"parapet/graph/node"
)

// resolver answers the root fields; everything below them is in node.
type resolver struct{}

func readerFrom(ctx context.Context) *node.Reader { return node.ReaderFrom(ctx) }
