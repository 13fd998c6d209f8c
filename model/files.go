package model

import (
	"context"
	"io"
)

// Files keeps attachments under opaque keys. An object is complete or absent:
// Put either stores all bytes or none.
type Files interface {
	// Put stores what r yields under key.
	Put(ctx context.Context, key string, r io.Reader) error
	// Open reads an object from its beginning. The caller closes it.
	Open(ctx context.Context, key string) (io.ReadCloser, error)
	// Delete removes an object; a missing one is no error.
	Delete(ctx context.Context, key string) error
}
