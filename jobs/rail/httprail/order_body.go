package httprail

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
)

// orderBody is the body of an order. The transport reads it after connecting and
// immediately before writing, so its first read is the last moment to check the expiry.
// An order whose body was never read cannot have reached the rail, because its signature
// covers the body. If only headers or part of the body were written, or the connection
// died after the first read, the payment is in doubt.
type orderBody struct {
	io.ReadCloser

	expired  func() bool
	read     atomic.Bool // the body was handed to the transport
	heldBack atomic.Bool // it had expired and was not sent
}

var errExpired = errors.New("the order expired before it was written")

// Read implements io.Reader.
func (b *orderBody) Read(p []byte) (int, error) {
	if !b.read.Load() && b.expired() {
		b.heldBack.Store(true)
		return 0, errExpired
	}
	b.read.Store(true)
	return b.ReadCloser.Read(p)
}

type orderBodyKey struct{}

func withOrderBody(ctx context.Context, guard *orderBody) context.Context {
	return context.WithValue(ctx, orderBodyKey{}, guard)
}

func orderBodyFrom(ctx context.Context) *orderBody {
	guard, _ := ctx.Value(orderBodyKey{}).(*orderBody)
	return guard
}
