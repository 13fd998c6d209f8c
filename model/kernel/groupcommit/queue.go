// Package groupcommit collects concurrent calls into groups, so that one transaction and
// one commit serve several of them. A Queue is safe for concurrent use; it takes only its
// own lock, and holds it for no longer than it takes to copy a group. Start reading at
// Queue.Do.
package groupcommit

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// DefaultSize bounds a group whose calls run one after the other.
const DefaultSize = 16

// Results of a call that its group cannot give.
var (
	ErrRunAlone = errors.New("this call needs a transaction of its own")
	ErrNotRun   = errors.New("the shared transaction ended without a result")
)

// Queue runs calls in groups. A call that finds no group running starts at once, so a quiet
// service pays nothing. Otherwise it waits until a group ends, or until as many calls wait
// as a running group has on average while fewer than Parallel groups run. The group that
// begins then takes the calls that waited longest, at most MaxSize.
type Queue[T any] struct {
	Parallel, MaxSize int
	// Run runs the items of one group, which are in the order in which they arrived. It
	// keeps the result of an item in the item. Its context ends when those of all callers
	// have ended. It calls endTurn before it waits for something, so that the next group
	// can begin; its return ends the turn too.
	Run func(ctx context.Context, group []T, endTurn func())

	mu             sync.Mutex
	groups, active int // running groups, and the calls in them
	waiting        []*call[T]
}

// call is a waiting call.
type call[T any] struct {
	ctx  context.Context //nolint:containedctx // the caller waits for the call
	item T
	turn chan []*call[T] // receives the group that the call's goroutine must run; closed when another has run it
}

// Do runs an item in a group and returns nil after it. It returns the error of the context
// if that ends before the item's group begins; then the item does not run.
func (q *Queue[T]) Do(ctx context.Context, item T) error {
	c := &call[T]{ctx: ctx, item: item, turn: make(chan []*call[T], 1)}
	q.add(c)
	select {
	case group := <-c.turn:
		q.run(group) //nolint:contextcheck // a group lasts longer than one caller
	case <-ctx.Done():
		if q.leave(c) {
			return ctx.Err()
		}
		q.run(<-c.turn) //nolint:contextcheck // its group has begun, and lasts longer than this caller
	}
	return nil
}

// add lets a call wait, and begins a group if that is due.
func (q *Queue[T]) add(c *call[T]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, c)
	if q.groups < q.Parallel && len(q.waiting)*q.groups >= q.active {
		q.begin()
	}
}

// begin lets the first waiting call run a group.
func (q *Queue[T]) begin() {
	n := min(len(q.waiting), q.MaxSize)
	group := slices.Clone(q.waiting[:n])
	q.waiting = slices.Delete(q.waiting, 0, n)
	q.groups++
	q.active += n
	group[0].turn <- group
}

// end ends the turn of a group, and begins the next one if calls wait.
func (q *Queue[T]) end(group []*call[T]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.groups--
	q.active -= len(group)
	if len(q.waiting) > 0 {
		q.begin()
	}
}

// leave removes a waiting call; false if its group has begun.
func (q *Queue[T]) leave(c *call[T]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, c)
	if i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
	return i >= 0
}

// run runs a group. It does nothing for nil: the call was run by another goroutine of its
// group.
func (q *Queue[T]) run(group []*call[T]) {
	if group == nil {
		return
	}
	endTurn := sync.OnceFunc(func() { q.end(group) })
	defer func() { // also when Run panics
		endTurn()
		for _, c := range group[1:] {
			close(c.turn)
		}
	}()
	items := make([]T, len(group))
	for i, c := range group {
		items[i] = c.item
	}
	ctx, stop := joinContexts(group)
	defer stop()
	q.Run(ctx, items, endTurn)
}

// Waiting returns the number of calls that wait for a turn.
func (q *Queue[T]) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}
