package groupcommit

import (
	"context"
	"sync/atomic"
)

// joinContexts returns a context that ends when the contexts of all calls have ended, or
// when stop is called. Its values are those of the first.
func joinContexts[T any](group []*call[T]) (joined context.Context, stop context.CancelFunc) {
	if len(group) == 1 {
		return group[0].ctx, func() {}
	}
	joined, cancel := context.WithCancel(context.WithoutCancel(group[0].ctx))
	var open atomic.Int64
	open.Store(int64(len(group)))
	stops := make([]func() bool, len(group))
	for i, c := range group {
		stops[i] = context.AfterFunc(c.ctx, func() {
			if open.Add(-1) == 0 {
				cancel()
			}
		})
	}
	return joined, func() {
		for _, stop := range stops {
			stop()
		}
		cancel()
	}
}
