package store

import (
	"context"
	"errors"
	"slices"

	"parapet/model/dbconn"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/groupcommit"
	"parapet/model/kernel/optimistic"
	"parapet/model/kernel/wal"
)

// InGroupTx is InTxWithPrelude for a frequent, short write. Concurrent calls share one
// transaction, with one clock and one commit; each has its own Tx, actor and idempotency
// key. A call that fails before the commit is left out of it. When the commit fails, and
// when a call of several flushes or waits, it runs again, alone: a conflict of one caller
// fails no other. Calls whose prelude has only reads that can be assumed take one round
// trip: see package optimistic. BenchmarkREST/Write measures what this saves.
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
	if tx.grouped {
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
	binds := slices.ContainsFunc(calls, func(c *groupedCall) bool { return c.prepared.holdsBindLock })
	if !binds && s.tryOptimistic(ctx, calls) == nil {
		return
	}
	if call := calls[0]; len(calls) == 1 {
		call.prepared.endTurn = endTurn
		call.err = s.retryTx(ctx, &call.prepared, call.prelude, call.do)
		return
	}
	if s.tryGroup(ctx, calls, binds) != nil {
		for _, call := range calls {
			call.err = groupcommit.ErrRunAlone
		}
	}
}

// tryOptimistic runs the calls with what earlier transactions read, and commits those that
// succeed, in one round trip; the others run again, alone. An error means that nothing is
// committed. The calls have no connection: one that asks the database panics, and runs
// again too.
func (s *Store) tryOptimistic(ctx context.Context, calls []*groupedCall) error {
	return onConnection(ctx, &Tx{Store: s}, func(ctx context.Context, tx *Tx) error {
		reads, known := s.memory.Assume()
		if !known || tx.assume(reads, calls) != nil {
			return groupcommit.ErrRunAlone
		}
		var written []*groupedCall
		for _, call := range calls {
			if call.err = call.run(tx); call.err == nil {
				written = append(written, call)
			} else {
				call.err = groupcommit.ErrRunAlone // the error may be that of a wrong assumption
			}
		}
		if len(written) == 0 {
			return nil
		}
		err := commitCalls(ctx, tx, written)
		if err != nil {
			s.memory.Forget()
		}
		return err
	})
}

// assume queues the beginning of a transaction that assumes what the calls read. It returns
// an error when a call needs an answer.
func (tx *Tx) assume(reads *optimistic.Reads, calls []*groupedCall) (err error) {
	defer runAgain(&err)
	tx.Batch.Queue("begin")
	tx.readClock(reads)
	for _, call := range calls {
		if call.join(tx); len(call.tx.Batch.QueuedQueries) > 0 {
			return groupcommit.ErrRunAlone
		}
	}
	if !reads.QueueGuards(&tx.Batch) {
		return groupcommit.ErrRunAlone
	}
	return nil
}

// tryGroup is tryOptimistic by what it reads in a round trip of its own. A call that fails
// has its error.
func (s *Store) tryGroup(ctx context.Context, calls []*groupedCall, binds bool) error {
	return onConnection(ctx, &Tx{Store: s, holdsBindLock: binds}, func(ctx context.Context, tx *Tx) error {
		join := func(*Tx) {
			for _, call := range calls {
				call.join(tx)
				tx.adopt(call.tx)
			}
		}
		if err := tx.begin(ctx, join); err != nil {
			return err
		}
		var written []*groupedCall
		for _, call := range calls {
			switch call.err = call.run(tx); {
			case tx.PgxConn.IsClosed() || tx.PgxConn.PgConn().TxStatus() != 'T':
				return groupcommit.ErrRunAlone // a statement of the call failed, and later ones would
			case call.err == nil:
				written = append(written, call)
			}
		}
		return commitCalls(ctx, tx, written)
	})
}

// commitCalls commits what the calls wrote. An error means that nothing is committed.
func commitCalls(ctx context.Context, tx *Tx, written []*groupedCall) error {
	for _, call := range written {
		tx.adopt(call.tx)
		call.err = groupcommit.ErrNotRun // until the commit
	}
	var position wal.Recorder
	err := tx.commit(wal.WithRecorder(ctx, &position))
	if err != nil && (!tx.commitSent || dbconn.IsUncommitted(tx.PgxConn, err)) {
		return groupcommit.ErrRunAlone
	}
	for _, call := range written {
		call.err = err
		wal.CopyPosition(call.ctx, &position) //nolint:contextcheck // the caller's own
	}
	return nil
}

// join lets the call take part in a shared transaction. It queues what the call reads at
// the beginning.
func (c *groupedCall) join(shared *Tx) {
	tx := c.prepared
	tx.grouped, tx.reads, tx.Ctx = true, shared.reads, dbconn.MarkInTransaction(c.ctx)
	if !tx.reads.Assumed {
		tx.Conn, tx.PgxConn = shared.Conn, shared.PgxConn
	}
	c.tx = &tx
	c.check = tx.acquireIdempotencyKey()
	c.prelude(&tx)
}

// run runs the call's part.
func (c *groupedCall) run(shared *Tx) (err error) {
	defer runAgain(&err)
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

// runAgain is deferred by a part of a call: a panic in it happens again in the goroutine of
// its caller.
func runAgain(err *error) {
	if recover() != nil {
		*err = groupcommit.ErrRunAlone
	}
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
