package httprail

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
)

// sendGuard is the body of an order. The transport reads it when a connection stands,
// immediately before it writes it, which makes it the last moment to look at the clock;
// an order whose body was never read cannot have reached the rail, because its signature
// covers the body. Headers alone, a partly written body and a connection that died after
// the first read are doubt.
type sendGuard struct {
	io.ReadCloser

	expired func() bool
	read    atomic.Bool // the body was handed to the transport
	late    atomic.Bool // it had expired and was held back
}

var errExpired = errors.New("the order expired before it was written")

// Read implements io.Reader.
func (g *sendGuard) Read(p []byte) (int, error) {
	if !g.read.Load() && g.expired() {
		g.late.Store(true)
		return 0, errExpired
	}
	g.read.Store(true)
	return g.ReadCloser.Read(p)
}

type guardKey struct{}

func withGuard(ctx context.Context, guard *sendGuard) context.Context {
	return context.WithValue(ctx, guardKey{}, guard)
}

func guardOf(ctx context.Context) *sendGuard {
	guard, _ := ctx.Value(guardKey{}).(*sendGuard)
	return guard
}
