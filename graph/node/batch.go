package node

import (
	"context"
	"slices"
	"sync"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
)

// batch holds records that were read together (a dataloader without a timer): each
// relation is loaded once for all of them. Loaded records form a new batch.
type batch struct {
	reader *Reader
	ids    []string
	refer  func(relation string) []string // returns the ids of the records that a relation refers to

	mutex     sync.Mutex
	relations []keyedRelation
}

// keyedRelation is a *relation under its key. A batch has few, so comparing their keys is
// faster than hashing one.
type keyedRelation struct {
	key  relationKey
	kept any
}

// relationKey identifies a relation and its arguments.
type relationKey struct {
	name string
	page store.PageRequest
}

// relation is one loaded relation of all records of a batch.
type relation[T any] struct {
	once sync.Once
	byID map[string]T
	err  error
}

// loadRelation returns the value of a relation without a page for an id.
func loadRelation[T any](ctx context.Context, b *batch, id, name string, read func(context.Context) (map[string]T, error)) (T, error) {
	return loadKeyed(ctx, b, id, relationKey{name: name}, read)
}

// loadKeyed returns the value of a relation for an id. An error applies to every record of
// the batch.
func loadKeyed[T any](ctx context.Context, b *batch, id string, key relationKey, read func(context.Context) (map[string]T, error)) (T, error) {
	all := findRelation[T](b, key)
	all.once.Do(func() { all.byID, all.err = read(ctx) })
	return all.byID[id], all.err
}

// findRelation returns the relation of a key, new in its first call.
func findRelation[T any](b *batch, key relationKey) *relation[T] {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for i := range b.relations {
		if b.relations[i].key == key {
			return b.relations[i].kept.(*relation[T])
		}
	}
	made := new(relation[T])
	b.relations = append(b.relations, keyedRelation{key, made})
	return made
}

// references return the id of the record that a record refers to, nil for none, by relation.
type references[R any] map[string]func(R) *string

// newBatch makes nodes of records that were read together. by returns a record's id; node
// returns its node.
func newBatch[R, N any](read *Reader, records []R, by func(R) string, refs references[R], node func(R, *batch) N) []N {
	b := &batch{reader: read, ids: make([]string, len(records)), refer: func(relation string) (ids []string) {
		for _, record := range records {
			if id := refs[relation](record); id != nil {
				ids = append(ids, *id)
			}
		}
		return ids
	}}
	nodes := make([]N, len(records))
	for i, record := range records {
		b.ids[i] = by(record)
		nodes[i] = node(record, b)
	}
	return nodes
}

// loadOne returns the record that a relation refers to, nil without a reference. It reads
// the referenced records of the whole batch at once.
func loadOne[R, N any](ctx context.Context, b *batch, name string, id *string, read func(context.Context, actor.Actor, []string) (map[string]*R, error), together func([]*R) []*N) (*N, error) {
	if id == nil {
		return nil, nil
	}
	return loadRelation(ctx, b, *id, name, func(ctx context.Context) (map[string]*N, error) {
		ids := slices.Compact(slices.Sorted(slices.Values(b.refer(name))))
		found, err := read(ctx, b.reader.Actor, ids)
		return nodesByID(ids, found, together), err
	})
}

// nodesByID makes nodes of records that were read by their ids.
func nodesByID[R, N any](ids []string, found map[string]*R, together func([]*R) []*N) map[string]*N {
	var there []string
	var records []*R
	for _, id := range ids {
		if record := found[id]; record != nil {
			there, records = append(there, id), append(records, record)
		}
	}
	nodes := make(map[string]*N, len(there))
	for i, node := range together(records) {
		nodes[there[i]] = node
	}
	return nodes
}

// loadPages returns a page of a record's child list. It reads the first page for the
// whole batch at once; a page after a cursor is read for one record.
func loadPages[R, N any](ctx context.Context, b *batch, id, name string, in store.PageRequest, read func(context.Context, actor.Actor, []string, store.PageRequest) (map[string]*store.Page[R], error), together func([]*R) []*N) (*Connection[*N], error) {
	in.Selection = selectionFrom(ctx)
	load := func(ctx context.Context, ids []string) (map[string]*Connection[*N], error) {
		pages, err := read(ctx, b.reader.Actor, ids, in)
		if err != nil {
			return nil, err
		}
		n := 0
		for _, page := range pages {
			n += len(page.Data)
		}
		records := make([]*R, 0, n)
		for _, id := range ids {
			for i := range pages[id].Data {
				records = append(records, &pages[id].Data[i])
			}
		}
		nodes, made := together(records), make(map[string]*Connection[*N], len(ids))
		for _, id := range ids {
			n := len(pages[id].Data)
			made[id], nodes = newConnection(pages[id], nodes[:n]), nodes[n:]
		}
		return made, nil
	}
	if in.Cursor != "" {
		made, err := load(ctx, []string{id})
		return made[id], err
	}
	return loadKeyed(ctx, b, id, relationKey{name, in}, func(ctx context.Context) (map[string]*Connection[*N], error) { return load(ctx, b.ids) })
}
