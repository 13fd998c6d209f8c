package partners

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/uptrace/bun"

	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// partnerCache caches whether a partner is enabled, and its terms, to save a query per
// request. A disabled partner is refused on every node within PartnerCacheTTL.
type partnerCache struct{ TtlCache[knownPartner] }

type knownPartner struct {
	enabled bool
	terms   wire.PartnerTerms
}

// TtlCache caches one value per partner for PartnerCacheTTL. Concurrent callers of a
// missing value share one load. It may be used concurrently.
type TtlCache[T any] struct {
	mu      sync.Mutex
	entries map[string]cacheEntry[T]
	loads   map[string]*cacheLoad[T]
}

type cacheEntry[T any] struct {
	value     T
	expiresAt time.Time
}

const (
	// PartnerCacheTTL is how long a partner counts as enabled after it was read.
	PartnerCacheTTL   = 2 * time.Second
	maxCachedPartners = 10_000 // a full cache is emptied
)

// RequirePartner returns partner_disabled unless the partner is registered and enabled.
func RequirePartner(ctx context.Context, s *store.Store, partner string) error {
	return store.Local[partnerCache](s).requireEnabled(ctx, s.DB, partner)
}

func (c *partnerCache) requireEnabled(ctx context.Context, db *bun.DB, name string) error {
	known, err := c.lookUp(ctx, db, name)
	if err != nil {
		return err
	}
	if !known.enabled {
		return apperr.Fail(apperr.CodePartnerDisabled, "The partner %q is not registered or is disabled; ask Parapet's operators.", name)
	}
	return nil
}

// lookUp returns what is known of a partner; nothing of one that is not registered.
func (c *partnerCache) lookUp(ctx context.Context, db *bun.DB, name string) (knownPartner, error) {
	return c.Get(ctx, name, func(ctx context.Context) (knownPartner, error) {
		var row PartnerRow
		err := db.NewSelect().Model(&row).Column("status", "terms").Where("slug = ?", name).Scan(ctx)
		if err != nil && !store.IsNoRows(err) {
			return knownPartner{}, store.TranslateError(fmt.Errorf("look up partner: %w", err))
		}
		return knownPartner{row.Status == PartnerEnabled, row.Terms}, nil
	})
}

// cacheLoad is a running load that several callers wait for.
type cacheLoad[T any] struct {
	done   chan struct{} // closed when value and err are set
	value  T
	err    error
	gaveUp bool // the caller that loads has left
}

// Get returns the cached value of a partner, and loads it when it is missing or
// expired. It waits for a load that already runs. Errors: those of the load, and ctx's.
func (c *TtlCache[T]) Get(ctx context.Context, name string, load func(context.Context) (T, error)) (T, error) {
	for {
		value, running, loads := c.find(name)
		switch {
		case running == nil:
			return value, nil
		case loads:
			c.load(ctx, name, running, load)
			return running.value, running.err
		}
		select {
		case <-running.done:
			if !running.gaveUp {
				return running.value, running.err
			}
		case <-ctx.Done():
			return value, store.TranslateError(fmt.Errorf("wait for a partner's value: %w", context.Cause(ctx)))
		}
	}
}

// find returns the cached value, or else the running load; loads is set when the caller
// must run it.
func (c *TtlCache[T]) find(name string) (value T, running *cacheLoad[T], loads bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if entry, ok := c.entries[name]; ok && !ProcessClock().After(entry.expiresAt) {
		return entry.value, nil, false
	}
	if running = c.loads[name]; running != nil {
		return value, running, false
	}
	if c.loads == nil {
		c.loads = make(map[string]*cacheLoad[T])
	}
	running = &cacheLoad[T]{done: make(chan struct{}), gaveUp: true}
	c.loads[name] = running
	return value, running, true
}

// load runs a load and stores its value unless the partner was invalidated meanwhile.
func (c *TtlCache[T]) load(ctx context.Context, name string, running *cacheLoad[T], load func(context.Context) (T, error)) {
	began := ProcessClock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		close(running.done)
		if c.loads[name] != running {
			return
		}
		delete(c.loads, name)
		if running.err != nil || running.gaveUp {
			return
		}
		if c.entries == nil || len(c.entries) >= maxCachedPartners {
			c.entries = make(map[string]cacheEntry[T])
		}
		c.entries[name] = cacheEntry[T]{running.value, began.Add(PartnerCacheTTL)}
	}()
	running.value, running.err = load(ctx)
	running.gaveUp = running.err != nil && ctx.Err() != nil
}

// invalidate removes a partner's value on this node; other nodes reload it after
// PartnerCacheTTL.
func (c *TtlCache[T]) invalidate(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, name)
	delete(c.loads, name)
}

// ProcessClock returns the time of the process's clock. Only the age of caches uses it;
// business time is always the database's.
func ProcessClock() time.Time { return time.Now() }
