package model

import (
	"context"
	"errors"
)

// ErrInTransaction is the answer of a network client that is called inside a database
// transaction.
var ErrInTransaction = errors.New("no network call inside a database transaction: read before it begins, or record the intent and call after it committed")

type transactionKey struct{}

// inTransaction marks a context as the one of an open transaction.
func inTransaction(ctx context.Context) context.Context {
	return context.WithValue(ctx, transactionKey{}, true)
}

// OutsideTransaction returns ErrInTransaction where ctx belongs to an open transaction.
// Clients of rails, feeds, endpoints and file stores ask it before each call: a slow
// answer would hold locks, and the relay and the second matching pass wait for every
// transaction that is open.
func OutsideTransaction(ctx context.Context) error {
	if ctx.Value(transactionKey{}) != nil {
		return ErrInTransaction
	}
	return nil
}
