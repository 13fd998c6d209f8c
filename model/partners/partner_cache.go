package partners

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/uptrace/bun"

	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
)

// partnerCache caches whether a partner is enabled, to save a query per request. A
// disabled partner is refused on every node within PartnerCacheTTL.
type partnerCache struct{ TtlCache[bool] }

// TtlCache caches one value per partner for PartnerCacheTTL.
type TtlCache[T any] struct {
	mu      sync.Mutex
	entries map[string]cacheEntry[T]
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
	enabled, err := c.Get(ctx, name, func(ctx context.Context) (bool, error) {
		exists, err := db.NewSelect().Model((*PartnerRow)(nil)).Where("slug = ?", name).Where("status = ?", PartnerEnabled).Exists(ctx)
		if err != nil {
			return false, store.TranslateError(fmt.Errorf("look up partner: %w", err))
		}
		return exists, nil
	})
	if err != nil {
		return err
	}
	if !enabled {
		return apperr.Fail(apperr.CodePartnerDisabled, "The partner %q is not registered or is disabled; ask Parapet's operators.", name)
	}
	return nil
}

// Get returns the cached value of a partner, and loads it when it is missing or
// expired.
func (c *TtlCache[T]) Get(ctx context.Context, name string, load func(context.Context) (T, error)) (T, error) {
	c.mu.Lock()
	answer, ok := c.entries[name]
	c.mu.Unlock()
	now := ProcessClock()
	if ok && !now.After(answer.expiresAt) {
		return answer.value, nil
	}
	value, err := load(ctx)
	if err != nil {
		return value, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries == nil || len(c.entries) >= maxCachedPartners {
		c.entries = make(map[string]cacheEntry[T])
	}
	c.entries[name] = cacheEntry[T]{value, now.Add(PartnerCacheTTL)}
	return value, nil
}

// invalidate removes a partner's value on this node; other nodes reload it after
// PartnerCacheTTL.
func (c *TtlCache[T]) invalidate(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, name)
}

// ProcessClock returns the time of the process's clock. Only the age of caches uses it;
// business time is always the database's.
func ProcessClock() time.Time { return time.Now() }
