package bankfile

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"parapet/jobs/rail"
)

// maxOrdersPerFile limits the orders of one file.
const maxOrdersPerFile = 10_000

var (
	// errOrderChanged reports an order that differs from the accepted one.
	errOrderChanged = errors.New("an order is not what was accepted; it is set aside and goes into no file")
	// ErrFileSealed reports that a file may have been stored already, with other orders.
	ErrFileSealed = errors.New("the batch is sealed: its file may be with the bank, with other orders than now; ask the bank for it, and see parapet rail unseal")
)

// WriteDueFiles assigns accepted orders to files and writes the missing files as
// out/<batch>.<extension>, each under its own permit. An order that has changed or cannot
// be written is set aside and named in the error; the others are written. Each call
// checks the orders set aside again.
func (r *Rail) WriteDueFiles(ctx context.Context, permits rail.PermitSource) error {
	failed := r.readmitOrders(ctx)
	if err := r.OrderStore.AssignToFiles(ctx, r.Name(), maxOrdersPerFile, r.Format.MaxTotal()); err != nil {
		return errors.Join(failed, err)
	}
	batches, err := r.OrderStore.ListUnwritten(ctx, r.Name())
	if err != nil {
		return errors.Join(failed, err)
	}
	for _, batch := range batches {
		failed = errors.Join(failed, r.writeFile(ctx, batch, permits))
	}
	return failed
}

// readmitOrders readmits orders that now match what was accepted: their account can be
// read again, or the rail's answer had not been recorded yet when they were set aside.
func (r *Rail) readmitOrders(ctx context.Context) error {
	keys, err := r.OrderStore.ListSetAside(ctx, r.Name())
	if err != nil || len(keys) == 0 {
		return err
	}
	aside, err := r.OrderStore.Find(ctx, r.Name(), keys)
	if err != nil {
		return err
	}
	entries := make([]PaymentOrder, len(keys))
	for i, key := range keys {
		entries[i] = aside[key]
	}
	found, err := r.checkOrders(ctx, entries)
	if err != nil {
		return err
	}
	var good []string
	for _, order := range found.orders {
		good = append(good, order.Key)
	}
	return errors.Join(r.OrderStore.Readmit(ctx, r.Name(), good, found.settled), changedError(found.changed))
}

// orderCheck is the result of checking orders before they are written.
type orderCheck struct {
	orders  []rail.Instruction
	changed []string // keys of orders that differ from the accepted ones or cannot be written
	suspect []string // keys of orders that wait for an operator
	settled []string // keys of orders that go into no file
}

// checkOrders compares orders with what was accepted.
func (r *Rail) checkOrders(ctx context.Context, entries []PaymentOrder) (orderCheck, error) {
	var c orderCheck
	keys := make([]string, len(entries))
	for i, entry := range entries {
		keys[i] = entry.Key
	}
	found, err := r.LoadOrders(ctx, keys)
	if err != nil {
		return c, err
	}
	for _, entry := range entries {
		order, ok := found[entry.Key]
		switch {
		case ok && order.Settled:
			c.settled = append(c.settled, entry.Key)
		case ok && order.HasSuspectLine:
			c.suspect = append(c.suspect, entry.Key)
		case ok && entry.toResult().Confirms(order.Instruction) && r.Format.RefusalCode(order.Instruction) == "":
			c.orders = append(c.orders, order.Instruction)
		default:
			c.changed = append(c.changed, entry.Key)
		}
	}
	return c, nil
}

func changedError(keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", errOrderChanged, strings.Join(keys[:min(len(keys), 10)], ", "))
}

func (r *Rail) writeFile(ctx context.Context, batch PaymentFile, permits rail.PermitSource) error {
	entries, err := r.OrderStore.FileOrders(ctx, r.Name(), batch.ID)
	if err != nil {
		return err
	}
	found, err := r.checkOrders(ctx, entries)
	if err != nil {
		return err
	}
	batch.Orders = found.orders
	var text bytes.Buffer
	if len(batch.Orders) > 0 {
		if err := r.Format.Write(&text, batch); err != nil {
			more := r.findUnwritable(batch)
			if len(more) == 0 {
				return errors.Join(fmt.Errorf("write batch %s: %w", batch.ID, err), changedError(found.changed))
			}
			found.changed = append(found.changed, more...)
		}
	}
	if aside := slices.Concat(found.changed, found.suspect); len(aside)+len(found.settled) > 0 {
		if err := r.OrderStore.SetAside(ctx, batch.ID, aside, found.settled); err != nil {
			return errors.Join(err, changedError(found.changed))
		}
		return errors.Join(changedError(found.changed), r.writeFile(ctx, batch, permits)) // without them
	}
	return r.storeFile(ctx, batch, &text, permits)
}

// findUnwritable returns the keys of orders that cannot be written even alone.
func (r *Rail) findUnwritable(batch PaymentFile) (keys []string) {
	for _, order := range batch.Orders {
		alone := batch
		alone.Orders = []rail.Instruction{order}
		if r.Format.Write(io.Discard, alone) != nil {
			keys = append(keys, order.Key)
		}
	}
	return keys
}

// storeFile seals and stores a file. It obtains the permit first: a file that was not
// permitted is not sealed, so its orders can still be set aside. If all orders were set
// aside, no file is stored.
func (r *Rail) storeFile(ctx context.Context, batch PaymentFile, text *bytes.Buffer, permits rail.PermitSource) error {
	sum := sha256.Sum256(text.Bytes())
	digest := hex.EncodeToString(sum[:])
	if len(batch.Orders) == 0 {
		if err := r.seal(ctx, batch, digest); err != nil {
			return err
		}
		return r.OrderStore.MarkWritten(ctx, batch.ID, digest)
	}
	leaving, permit, err := permits(ctx)
	if err != nil {
		return fmt.Errorf("write batch %s: %w", batch.ID, err)
	}
	defer permit.End()
	if err := r.seal(ctx, batch, digest); err != nil {
		return err
	}
	if err := r.FileStore.Put(leaving, "out/"+batch.ID+"."+r.Format.Extension(), &permittedReader{leaving, text, permit}); err != nil {
		return err
	}
	return r.OrderStore.MarkWritten(ctx, batch.ID, digest)
}

func (r *Rail) seal(ctx context.Context, batch PaymentFile, digest string) error {
	if err := r.OrderStore.SealFile(ctx, batch.ID, digest, len(batch.Orders)); err != nil {
		return fmt.Errorf("seal batch %s: %w", batch.ID, err)
	}
	return nil
}

// permittedReader reads a permitted file. It confirms the permit before the last byte: a
// store discards a file whose reader failed.
type permittedReader struct {
	ctx    context.Context //nolint:containedctx // it lives as long as one Put
	text   io.Reader
	permit rail.Permit
}

// Read implements io.Reader.
func (p *permittedReader) Read(into []byte) (int, error) {
	if p.ctx.Err() != nil {
		return 0, context.Cause(p.ctx)
	}
	n, err := p.text.Read(into)
	if errors.Is(err, io.EOF) {
		if lost := p.permit.Confirm(p.ctx); lost != nil {
			return n, lost
		}
	}
	return n, err
}
