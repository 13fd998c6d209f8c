package dbconn

import (
	"context"
	"errors"
)

// ErrInTransaction is the error of a network client that is called inside a database
// transaction.
var ErrInTransaction = errors.New("no network call inside a database transaction: read before it begins, or record the intent and call after it committed")

type inTransactionKey struct{}

// MarkInTransaction marks a context as belonging to an open transaction.
func MarkInTransaction(ctx context.Context) context.Context {
	return context.WithValue(ctx, inTransactionKey{}, true)
}

// RequireNoTransaction returns ErrInTransaction if ctx belongs to an open transaction.
// Clients of rails, feeds, endpoints and file stores call it before each request: a slow
// answer would hold locks, and the relay and the second matching pass wait for every open
// transaction.
func RequireNoTransaction(ctx context.Context) error {
	if ctx.Value(inTransactionKey{}) != nil {
		return ErrInTransaction
	}
	return nil
}
