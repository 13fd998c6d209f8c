package store

import (
	"context"
	"errors"
	"slices"

	"parapet/model/dbconn"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/groupcommit"
	"parapet/model/kernel/wal"
)

// InGroupTx is InTxWithPrelude for a frequent, short write. Concurrent calls share one
// transaction, with one clock and one commit; each has its own Tx, actor and idempotency
// key. A call that fails before the commit is left out of it. When the commit fails, and
// when a call of several flushes or waits, it runs again, alone: a conflict of one caller
// fails no other. BenchmarkREST/Write measures what this saves.
func (s *Store) InGroupTx(ctx context.Context, actor actor.Actor, prelude func(*Tx), do func(context.Context, *Tx) error) error {
	return s.runGrouped(ctx, Tx{Store: s, Actor: actor}, prelude, do)
}

func (s *Store) runGrouped(ctx context.Context, prepared Tx, prelude func(*Tx), do func(context.Context, *Tx) error) error {
	if prepared.Actor.Precondition != nil || len(apperr.FieldErrorsFrom(ctx)) > 0 {
		return s.retryTx(ctx, &prepared, prelude, do)
	}
	call := &groupedCall{ctx: ctx, prepared: prepared, prelude: prelude, do: do, err: groupcommit.ErrNotRun}
	if err := s.groups.Do(ctx, call); err != nil {
		return TranslateError(err)
	}
	if errors.Is(call.err, groupcommit.ErrRunAlone) {
		return s.retryTx(ctx, &prepared, prelude, do)
	}
	return TranslateError(call.err)
}

// LeaveGroup precedes what may wait. Inside a group of several calls it returns an error;
// returned by do, it lets the call run again, alone.
func (tx *Tx) LeaveGroup() error {
	if tx.group != nil {
		return groupcommit.ErrRunAlone
	}
	if tx.endTurn != nil {
		tx.endTurn()
	}
	return nil
}

// groupedCall is one call of InGroupTx.
type groupedCall struct {
	ctx      context.Context //nolint:containedctx // the caller waits for the call
	prepared Tx
	prelude  func(*Tx)
	do       func(context.Context, *Tx) error
	tx       *Tx          // its part of the shared transaction
	check    func() error // of its idempotency key
	err      error        // its result
}

// runGroup sets the result of each call.
func (s *Store) runGroup(ctx context.Context, calls []*groupedCall, endTurn func()) {
	if call := calls[0]; len(calls) == 1 {
		call.prepared.endTurn = endTurn
		call.err = s.retryTx(ctx, &call.prepared, call.prelude, call.do)
		return
	}
	if err := s.tryGroup(ctx, calls); err != nil { // before the commit
		for _, call := range calls {
			call.err = groupcommit.ErrRunAlone
		}
	}
}

func (s *Store) tryGroup(ctx context.Context, calls []*groupedCall) error {
	shared := &Tx{Store: s, holdsBindLock: slices.ContainsFunc(calls, func(c *groupedCall) bool { return c.prepared.holdsBindLock })}
	reads := groupcommit.Reads{}
	join := func(*Tx) {
		for _, call := range calls {
			call.join(shared, reads)
		}
	}
	return onConnection(ctx, shared, join, func(ctx context.Context, tx *Tx) error { return commitCalls(ctx, tx, calls) })
}

// commitCalls runs the parts of the calls and commits those that succeeded. An error means
// that nothing is committed and that no call has a result.
func commitCalls(ctx context.Context, tx *Tx, calls []*groupedCall) error {
	var written []*groupedCall
	for _, call := range calls {
		switch call.err = call.run(tx); {
		case tx.PgxConn.IsClosed() || tx.PgxConn.PgConn().TxStatus() != 'T':
			return groupcommit.ErrRunAlone // a statement of the call failed, and later ones would
		case call.err == nil:
			call.err = groupcommit.ErrNotRun // until the commit
			tx.adopt(call.tx)
			written = append(written, call)
		}
	}
	var position wal.Recorder
	err := tx.commit(wal.WithRecorder(ctx, &position))
	if err != nil && dbconn.IsUncommitted(tx.PgxConn, err) {
		err = groupcommit.ErrRunAlone
	}
	for _, call := range written {
		call.err = err
		wal.CopyPosition(call.ctx, &position) //nolint:contextcheck // the caller's own
	}
	return nil
}

// join queues what the call reads at the beginning of the shared transaction.
func (c *groupedCall) join(shared *Tx, reads groupcommit.Reads) {
	tx := c.prepared
	tx.group, tx.Conn, tx.Ctx, tx.PgxConn = reads, shared.Conn, dbconn.MarkInTransaction(c.ctx), shared.PgxConn
	c.tx = &tx
	c.check = tx.acquireIdempotencyKey()
	c.prelude(&tx)
	shared.adopt(&tx)
}

// run runs the call's part. A panic runs again in the goroutine of its caller.
func (c *groupedCall) run(shared *Tx) (err error) {
	defer func() {
		if recover() != nil {
			err = groupcommit.ErrRunAlone
		}
	}()
	c.tx.Clock, c.tx.Now = shared.Clock, LaterTime(c.tx.Now, shared.Clock)
	caller := c.tx.Actor
	if err := c.check(); err != nil {
		return err
	}
	if err := c.do(c.tx.Ctx, c.tx); err != nil {
		return err
	}
	c.tx.writeAudit(caller)
	return c.ctx.Err()
}

// adopt moves what another Tx has queued and collected to tx.
func (tx *Tx) adopt(other *Tx) {
	for _, copied := range other.copies {
		copied.After += len(tx.Batch.QueuedQueries)
		tx.copies = append(tx.copies, copied)
	}
	tx.Batch.QueuedQueries = append(tx.Batch.QueuedQueries, other.Batch.QueuedQueries...)
	other.Batch.QueuedQueries, other.copies = nil, nil
	tx.events, tx.Jobs = append(tx.events, other.events...), append(tx.Jobs, other.Jobs...)
	for order, rows := range other.collected {
		switch {
		case rows == nil:
		case tx.collected[order] == nil:
			tx.collected[order] = rows
		default:
			tx.collected[order].Append(rows)
		}
	}
}
