package graph

import (
	"context"

	"parapet/graph/node"
)

// resolver resolves the root fields; package node resolves everything below them.
type resolver struct{}

func readerFrom(ctx context.Context) *node.Reader { return node.ReaderFrom(ctx) }
