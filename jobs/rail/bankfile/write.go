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

// batchSize is how many orders one file holds at most.
const batchSize = 10_000

var (
	// errChanged says that an order is not what the books accepted.
	errChanged = errors.New("an order is not what was accepted; it is set aside and goes into no file")
	// ErrSealed says that a batch's file may have been put already, with other orders.
	ErrSealed = errors.New("the batch is sealed: its file may be with the bank, with other orders than now; ask the bank for it, and see parapet rail unseal")
)

// WriteDue cuts what was accepted into batches and writes the files that are
// missing, as out/<batch>.<extension>, each under a permit of its own. An order that is not what was accepted, or that
// cannot be written, is set aside and told in the error; the others are written.
// What was set aside is looked at again each time.
func (r *Rail) WriteDue(ctx context.Context, permits rail.Permits) error {
	failed := r.readmit(ctx)
	if err := r.Books.Cut(ctx, r.Name(), batchSize, r.Format.Largest()); err != nil {
		return errors.Join(failed, err)
	}
	batches, err := r.Books.Unwritten(ctx, r.Name())
	if err != nil {
		return errors.Join(failed, err)
	}
	for _, batch := range batches {
		failed = errors.Join(failed, r.write(ctx, batch, permits))
	}
	return failed
}

// readmit lets orders back that are what was accepted now: their account can be opened
// again, or the rail's answer was not recorded yet when they were set aside.
func (r *Rail) readmit(ctx context.Context) error {
	keys, err := r.Books.Aside(ctx, r.Name())
	if err != nil || len(keys) == 0 {
		return err
	}
	aside, err := r.Books.Find(ctx, r.Name(), keys)
	if err != nil {
		return err
	}
	entries := make([]Entry, len(keys))
	for i, key := range keys {
		entries[i] = aside[key]
	}
	found, err := r.confirmed(ctx, entries)
	if err != nil {
		return err
	}
	var good []string
	for _, order := range found.orders {
		good = append(good, order.Key)
	}
	return errors.Join(r.Books.Readmit(ctx, r.Name(), good, found.settled), changed(found.wrong))
}

// confirmation is what entries turn out to be before they are written.
type confirmation struct {
	orders  []rail.Instruction
	wrong   []string // keys of orders that are not what was accepted or cannot be written
	barred  []string // keys of orders that wait for an operator
	settled []string // keys of orders that go into no file
}

// confirmed holds entries against what was accepted.
func (r *Rail) confirmed(ctx context.Context, entries []Entry) (confirmation, error) {
	var c confirmation
	keys := make([]string, len(entries))
	for i, entry := range entries {
		keys[i] = entry.Key
	}
	found, err := r.Orders(ctx, keys)
	if err != nil {
		return c, err
	}
	for _, entry := range entries {
		order, ok := found[entry.Key]
		switch {
		case ok && order.Settled:
			c.settled = append(c.settled, entry.Key)
		case ok && order.Barred:
			c.barred = append(c.barred, entry.Key)
		case ok && entry.result().Confirms(order.Instruction) && r.Format.Refuse(order.Instruction) == "":
			c.orders = append(c.orders, order.Instruction)
		default:
			c.wrong = append(c.wrong, entry.Key)
		}
	}
	return c, nil
}

func changed(keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", errChanged, strings.Join(keys[:min(len(keys), 10)], ", "))
}

func (r *Rail) write(ctx context.Context, batch Batch, permits rail.Permits) error {
	entries, err := r.Books.In(ctx, r.Name(), batch.ID)
	if err != nil {
		return err
	}
	found, err := r.confirmed(ctx, entries)
	if err != nil {
		return err
	}
	batch.Orders = found.orders
	var text bytes.Buffer
	if len(batch.Orders) > 0 {
		if err := r.Format.Write(&text, batch); err != nil {
			more := r.unwritable(batch)
			if len(more) == 0 {
				return errors.Join(fmt.Errorf("write batch %s: %w", batch.ID, err), changed(found.wrong))
			}
			found.wrong = append(found.wrong, more...)
		}
	}
	if aside := slices.Concat(found.wrong, found.barred); len(aside)+len(found.settled) > 0 {
		if err := r.Books.SetAside(ctx, batch.ID, aside, found.settled); err != nil {
			return errors.Join(err, changed(found.wrong))
		}
		return errors.Join(changed(found.wrong), r.write(ctx, batch, permits)) // without them
	}
	return r.put(ctx, batch, &text, permits)
}

// unwritable are the keys of orders that cannot be written even alone.
func (r *Rail) unwritable(batch Batch) (keys []string) {
	for _, order := range batch.Orders {
		alone := batch
		alone.Orders = []rail.Instruction{order}
		if r.Format.Write(io.Discard, alone) != nil {
			keys = append(keys, order.Key)
		}
	}
	return keys
}

// put stores the file of a batch, sealed before it leaves. The permit comes first: a
// batch whose file was not permitted to leave is not sealed, so that its orders can still
// be set aside. A batch whose orders were all set aside has no file.
func (r *Rail) put(ctx context.Context, batch Batch, text *bytes.Buffer, permits rail.Permits) error {
	sum := sha256.Sum256(text.Bytes())
	digest := hex.EncodeToString(sum[:])
	if len(batch.Orders) == 0 {
		if err := r.seal(ctx, batch, digest); err != nil {
			return err
		}
		return r.Books.Written(ctx, batch.ID, digest)
	}
	leaving, permit, err := permits(ctx)
	if err != nil {
		return fmt.Errorf("write batch %s: %w", batch.ID, err)
	}
	defer permit.End()
	if err := r.seal(ctx, batch, digest); err != nil {
		return err
	}
	if err := r.Store.Put(leaving, "out/"+batch.ID+"."+r.Format.Extension(), &permitted{leaving, text, permit}); err != nil {
		return err
	}
	return r.Books.Written(ctx, batch.ID, digest)
}

func (r *Rail) seal(ctx context.Context, batch Batch, digest string) error {
	if err := r.Books.Seal(ctx, batch.ID, digest, len(batch.Orders)); err != nil {
		return fmt.Errorf("seal batch %s: %w", batch.ID, err)
	}
	return nil
}

// permitted reads a file that may leave. It asks once more before it ends: a store
// keeps no file whose reader failed.
type permitted struct {
	ctx    context.Context //nolint:containedctx // it lives as long as one Put
	text   io.Reader
	permit rail.Permit
}

// Read implements io.Reader.
func (p *permitted) Read(into []byte) (int, error) {
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
