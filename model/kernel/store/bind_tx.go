package store

import (
	"context"

	"parapet/model/kernel/actor"
)

// BindTx is a transaction that may insert policies. All policies are inserted this way:
// both passes of matching could miss a policy whose start was read from the clock before
// its transaction held BindLock.
type BindTx struct{ *Tx }

// InBindTx is InTx for a transaction that inserts policies.
func (s *Store) InBindTx(ctx context.Context, actor actor.Actor, do func(context.Context, BindTx) error) error {
	return s.retryTx(ctx, &Tx{Store: s, Actor: actor, holdsBindLock: true}, func(*Tx) {}, func(ctx context.Context, tx *Tx) error {
		return do(ctx, BindTx{tx})
	})
}

// BindLock is a shared lock of every transaction that inserts policies, from before it
// reads the clock until it ends. The number is "bind" in hexadecimal. No transaction
// takes it exclusively, because a waiting exclusive lock would delay every later bind.
const (
	BindLock          int64 = 0x62696e64
	lockBindSharedSQL       = "select pg_advisory_xact_lock_shared($1)"
)
