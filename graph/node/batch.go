package node

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"parapet/model"
)

// kin are records that were read together: a page, or what one relation of a page
// holds. Every relation of theirs is read once, for all of them, by the first that
// is asked; what was read is kin in its turn. So a query costs one read a relation
// and level, however many records there are, and nobody has to wait for a timer to
// find out who else will ask.
type kin struct {
	read      *Reader
	ids       []string
	refs      map[string][]string // ids of other records that they name, by relation
	relations sync.Map            // of the name of a relation with its arguments, to *relation
}

// relation is what one relation holds for all kin.
type relation[T any] struct {
	once sync.Once
	of   map[string]T
	err  error
}

// related is what a relation holds under an id. name tells relations and their
// arguments apart. An error is everybody's: each of the kin asked.
func related[T any](ctx context.Context, k *kin, id, name string, read func(context.Context) (map[string]T, error)) (T, error) {
	kept, _ := k.relations.LoadOrStore(name, new(relation[T]))
	all := kept.(*relation[T])
	all.once.Do(func() { all.of, all.err = read(ctx) })
	return all.of[id], all.err
}

// together makes kin of records that were read together: by is a record's id, and
// make its node.
func together[R, N any](read *Reader, records []R, by func(R) string, make func(R, *kin) N) []N {
	k := &kin{read: read, refs: map[string][]string{}}
	var nodes []N
	for _, record := range records {
		k.ids = append(k.ids, by(record))
		nodes = append(nodes, make(record, k))
	}
	return nodes
}

// refer notes that one of the kin names another record.
func (k *kin) refer(relation string, id *string) {
	if id != nil {
		k.refs[relation] = append(k.refs[relation], *id)
	}
}

// referred is the record that a relation names; nil where none is named. All that
// the kin name are read at once.
func referred[R, N any](ctx context.Context, k *kin, name string, id *string, read func(context.Context, model.Actor, []string) (map[string]*R, error), together func([]*R) []*N) (*N, error) {
	if id == nil {
		return nil, nil
	}
	return related(ctx, k, *id, name, func(ctx context.Context) (map[string]*N, error) {
		ids := slices.Compact(slices.Sorted(slices.Values(k.refs[name])))
		found, err := read(ctx, k.read.Actor, ids)
		return byID(ids, found, together), err
	})
}

// byID makes the nodes of records that were read by their ids.
func byID[R, N any](ids []string, found map[string]*R, together func([]*R) []*N) map[string]*N {
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

// members is a page of what a record has. Its first page is read for all kin at
// once; a cursor is one record's own.
func members[R, N any](ctx context.Context, k *kin, id, name string, in model.PageRequest, read func(context.Context, model.Actor, []string, model.PageRequest) (map[string]*model.Page[R], error), together func([]*R) []*N) (*Connection[*N], error) {
	load := func(ctx context.Context, ids []string) (map[string]*Connection[*N], error) {
		pages, err := read(ctx, k.read.Actor, ids, in)
		if err != nil {
			return nil, err
		}
		var records []*R
		for _, id := range ids {
			records = append(records, pointers(pages[id].Data)...)
		}
		nodes, made := together(records), make(map[string]*Connection[*N], len(ids))
		for _, id := range ids {
			n := len(pages[id].Data)
			made[id], nodes = connection(pages[id], nodes[:n]), nodes[n:]
		}
		return made, nil
	}
	if in.Cursor != "" {
		made, err := load(ctx, []string{id})
		return made[id], err
	}
	return related(ctx, k, id, fmt.Sprint(name, in), func(ctx context.Context) (map[string]*Connection[*N], error) { return load(ctx, k.ids) })
}
