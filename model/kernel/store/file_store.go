package store

import (
	"context"
	"io"
)

// FileStore stores attachments under opaque keys. An object is complete or absent: Put
// stores all bytes or none.
type FileStore interface {
	// Put stores the content of r under key.
	Put(ctx context.Context, key string, r io.Reader) error
	// Open opens an object at its beginning. The caller closes it.
	Open(ctx context.Context, key string) (io.ReadCloser, error)
	// Delete removes an object and the remains of an interrupted Put; a missing object is
	// no error.
	Delete(ctx context.Context, key string) error
}
