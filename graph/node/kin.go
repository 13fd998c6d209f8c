package node

import (
	"context"
	"sync"
)

// kin are records that were read together: a page, or what one relation of a page
// holds. Every relation of theirs is read once, for all of them, by the first that
// is asked; what was read is kin in its turn. So a query costs one read a relation
// and level, however many records there are, and nobody has to wait for a timer to
// find out who else will ask.
type kin struct {
	read      *Reader
	ids       []string
	relations sync.Map // of the name of a relation with its arguments, to *relation
}

// relation is what one relation holds for all kin, by the id of whom it belongs to.
type relation[T any] struct {
	once sync.Once
	of   map[string]T
	err  error
}

// related is what a relation holds for the record with the id. name tells relations
// and their arguments apart. An error is everybody's: each of the kin asked.
func related[T any](ctx context.Context, k *kin, id, name string, read func(ctx context.Context, ids []string) (map[string]T, error)) (T, error) {
	kept, _ := k.relations.LoadOrStore(name, new(relation[T]))
	all := kept.(*relation[T])
	all.once.Do(func() { all.of, all.err = read(ctx, k.ids) })
	return all.of[id], all.err
}

// together makes kin of records that were read together: by is a record's id, and
// make its node.
func together[R, N any](read *Reader, records []R, by func(R) string, make func(R, *kin) N) []N {
	k := &kin{read: read}
	var nodes []N
	for _, record := range records {
		k.ids = append(k.ids, by(record))
		nodes = append(nodes, make(record, k))
	}
	return nodes
}
