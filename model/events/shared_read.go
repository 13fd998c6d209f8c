package events

import (
	"context"
	"sync"
	"time"

	"parapet/model/kernel/store"
	"parapet/model/partners"
)

const (
	sharedReadAge  = time.Second // a result is kept for this long
	maxSharedReads = 64          // results of one process that are kept; further ones are not shared
)

// sharedReads runs the reads of those who wait for events: equal reads once, and different
// ones by a quarter of the database's connections, so that the requests of others always
// find one. The zero value is ready.
type sharedReads struct {
	mu    sync.Mutex
	slots chan struct{}
	byKey map[string]*sharedRead
}

// sharedRead is a read that several callers wait for.
type sharedRead struct {
	began  time.Time
	done   chan struct{} // closed when rows, err and gaveUp are set
	rows   []SequencedEvent
	err    error
	gaveUp bool // the caller that reads has left
}

// LimitRead runs read when fewer than a quarter of the database's connections serve
// readers that wait for events. Errors: ctx's own, and those of read.
func LimitRead(ctx context.Context, s *store.Store, read func() error) error {
	slots := store.Local[Notifier](s).reads.readSlots(s)
	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-slots }()
	return read()
}

func (r *sharedReads) readSlots(s *store.Store) chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.slots == nil {
		r.slots = make(chan struct{}, max(1, s.Pool.Stat().MaxConns()/4))
	}
	return r.slots
}

// get returns the rows of a key, which names everything that the result depends on.
// Callers must not change them.
func (r *sharedReads) get(ctx context.Context, s *store.Store, key string, read func() ([]SequencedEvent, error)) ([]SequencedEvent, error) {
	for {
		shared, reads := r.find(key)
		if reads {
			r.run(ctx, s, key, shared, read)
			return shared.rows, shared.err
		}
		select {
		case <-shared.done:
			if !shared.gaveUp {
				return shared.rows, shared.err
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// find returns the read of a key; reads is set when the caller must run it.
func (r *sharedReads) find(key string) (shared *sharedRead, reads bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if shared = r.byKey[key]; shared != nil {
		return shared, false
	}
	shared = &sharedRead{began: partners.ProcessClock(), done: make(chan struct{}), gaveUp: true}
	if r.byKey == nil {
		r.byKey = make(map[string]*sharedRead)
	}
	if len(r.byKey) < maxSharedReads {
		r.byKey[key] = shared
	}
	return shared, true
}

// run runs a read; one that failed is not kept.
func (r *sharedReads) run(ctx context.Context, s *store.Store, key string, shared *sharedRead, read func() ([]SequencedEvent, error)) {
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		close(shared.done)
		if (shared.err != nil || shared.gaveUp) && r.byKey[key] == shared {
			delete(r.byKey, key)
		}
	}()
	shared.err = LimitRead(ctx, s, func() (err error) {
		shared.rows, err = read()
		return err
	})
	shared.gaveUp = shared.err != nil && ctx.Err() != nil
}

// removeOld removes results that no subscriber needs any more, and all of them when no
// subscriber waits.
func (r *sharedReads) removeOld(waited bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := partners.ProcessClock()
	for key, shared := range r.byKey {
		if !waited || now.Sub(shared.began) > sharedReadAge {
			delete(r.byKey, key)
		}
	}
}
