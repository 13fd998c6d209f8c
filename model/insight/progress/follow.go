package progress

import (
	"context"
	"reflect"
	"sync"
	"time"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
	"parapet/model/partners"
	"parapet/model/wire"
)

// A read of the progress adds up all claims of the occurrence, so the time between two
// reads grows with their number. Reading takes about a tenth of it.
const (
	interval         = 500 * time.Millisecond
	intervalPerClaim = 20 * time.Microsecond
)

// Cursor follows the progress of one occurrence. It may be used by one goroutine.
type Cursor struct {
	service *Service
	caller  actor.Actor
	key     feedKey
	first   *wire.OccurrenceProgress // not returned yet
	shown   *wire.OccurrenceProgress // returned last
}

// Follow returns a cursor on the progress of an occurrence. Errors: not_found.
func (s *Service) Follow(ctx context.Context, caller actor.Actor, id string) (*Cursor, error) {
	first, err := s.Get(ctx, caller, id)
	if err != nil {
		return nil, err
	}
	return &Cursor{service: s, caller: caller, key: newKey(caller, id), first: first}, nil
}

// Next returns the progress at once, and then after each change. After a settled progress
// it returns nil. Errors: ctx's own when it ends, partner_disabled
// within seconds after it applies, and errors of the read.
func (c *Cursor) Next(ctx context.Context) ([]wire.OccurrenceProgress, error) {
	if c.first != nil {
		c.shown, c.first = c.first, nil
		return []wire.OccurrenceProgress{*c.shown}, nil
	}
	if c.shown.Settled {
		return nil, nil
	}
	followed, unsubscribe := store.Local[feeds](c.service.Store).subscribe(c.service, c.caller, c.key) //nolint:contextcheck // the reader outlives this context
	defer unsubscribe()
	again := time.NewTicker(partners.PartnerCacheTTL)
	defer again.Stop()
	for {
		latest, changed, err := followed.state()
		if err != nil {
			return nil, err
		}
		if latest != nil && !reflect.DeepEqual(latest, c.shown) {
			c.shown = latest
			return []wire.OccurrenceProgress{*latest}, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-again.C:
			if err := c.service.Authorize(ctx, c.caller, actor.ScopeClaimsRead); err != nil {
				return nil, err
			}
		}
	}
}

// feedKey identifies a progress as one partner sees it; with an empty partner, that of all
// partners.
type feedKey struct{ occurrence, partner string }

// feeds holds one reader for each progress that is followed in this process: the
// cost of reading does not depend on the number of subscribers.
type feeds struct {
	mu    sync.Mutex
	byKey map[feedKey]*feed
}

// feed is the last progress that was read for all subscribers of a key.
type feed struct {
	waiters int // guarded by feeds.mu

	mu      sync.Mutex
	latest  *wire.OccurrenceProgress
	err     error
	changed chan struct{} // closed by the next publication
}

// subscribe returns the feed of a key and a function that ends the subscription. The
// caller's rights are checked by the cursor.
func (f *feeds) subscribe(s *Service, caller actor.Actor, key feedKey) (*feed, func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.byKey == nil {
		f.byKey = make(map[feedKey]*feed)
	}
	followed := f.byKey[key]
	if followed == nil {
		followed = &feed{changed: make(chan struct{})}
		f.byKey[key] = followed
		go f.read(s, caller, key, followed)
	}
	followed.waiters++
	return followed, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		followed.waiters--
	}
}

// read publishes the progress until it is settled, cannot be read, or has no subscriber.
func (f *feeds) read(s *Service, caller actor.Actor, key feedKey, followed *feed) {
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		latest, err := s.Get(ctx, caller, key.occurrence)
		cancel()
		if err != nil || latest.Settled {
			f.remove(key, false)
			followed.publish(latest, err)
			return
		}
		followed.publish(latest, nil)
		<-time.After(interval + time.Duration(latest.ClaimsOpened)*intervalPerClaim)
		if f.remove(key, true) {
			return
		}
	}
}

// remove deletes the feed of a key; if idle is set, only when it has no subscriber. It reports
// whether it did.
func (f *feeds) remove(key feedKey, idle bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if idle && f.byKey[key].waiters > 0 {
		return false
	}
	delete(f.byKey, key)
	return true
}

func (f *feed) publish(latest *wire.OccurrenceProgress, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.latest, f.err = latest, err
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *feed) state() (*wire.OccurrenceProgress, <-chan struct{}, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.latest, f.changed, f.err
}
