package progress

import (
	"context"
	"fmt"
	"sync"
	"time"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
	"parapet/model/partners"
	"parapet/model/wire"
)

// Progress that took cheapRead or longer to read is kept for keepFactor times as long, at
// most maxKept: everyone who polls a large occurrence then costs no more than a quarter of
// one reader. Cheaper progress is always read.
const (
	cheapRead  = 20 * time.Millisecond
	keepFactor = 4
	maxKept    = time.Second
)

// sharedReads holds the reads that run and those that are kept. The zero value is ready.
type sharedReads struct {
	mu    sync.Mutex
	byKey map[feedKey]*sharedRead
}

// sharedRead is one read of a progress for all concurrent readers.
type sharedRead struct {
	done     chan struct{}            // closed when the rest is set
	progress *wire.OccurrenceProgress // nil when there is no such occurrence; never changed
	err      error
	gaveUp   bool      // the reader that runs it has left
	until    time.Time // kept until then; zero while it runs
}

// get returns the progress of a key; readers must not change it.
func (r *sharedReads) get(ctx context.Context, key feedKey, load func() (*wire.OccurrenceProgress, error)) (*wire.OccurrenceProgress, error) {
	for {
		shared, runs := r.find(key)
		if runs {
			r.run(ctx, key, shared, load)
			return shared.progress, shared.err
		}
		select {
		case <-shared.done:
			if !shared.gaveUp {
				return shared.progress, shared.err
			}
		case <-ctx.Done():
			return nil, store.TranslateError(fmt.Errorf("wait for a read of progress: %w", context.Cause(ctx)))
		}
	}
}

// find returns the read of a key; runs is set when the caller must run it. It removes
// reads that are not kept any more.
func (r *sharedReads) find(key feedKey) (shared *sharedRead, runs bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := partners.ProcessClock()
	for old, read := range r.byKey {
		if !read.until.IsZero() && now.After(read.until) {
			delete(r.byKey, old)
		}
	}
	if shared = r.byKey[key]; shared != nil {
		return shared, false
	}
	if r.byKey == nil {
		r.byKey = make(map[feedKey]*sharedRead)
	}
	shared = &sharedRead{done: make(chan struct{}), gaveUp: true}
	r.byKey[key] = shared
	return shared, true
}

// run runs a read and keeps it if it was expensive.
func (r *sharedReads) run(ctx context.Context, key feedKey, shared *sharedRead, load func() (*wire.OccurrenceProgress, error)) {
	began := partners.ProcessClock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		ended := partners.ProcessClock()
		took := ended.Sub(began)
		shared.until = ended.Add(min(maxKept, keepFactor*took))
		if shared.err != nil || shared.gaveUp || took < cheapRead {
			delete(r.byKey, key)
		}
		close(shared.done)
	}()
	shared.progress, shared.err = load()
	shared.gaveUp = shared.err != nil && ctx.Err() != nil
}

// newKey returns the key of an occurrence as the caller sees it.
func newKey(caller actor.Actor, id string) feedKey {
	key := feedKey{occurrence: id}
	if tenant := store.TenantArg(caller); tenant != nil {
		key.partner = *tenant
	}
	return key
}
