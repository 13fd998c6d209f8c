package model

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/uptrace/bun"
)

// partnerCache answers «is this partner enabled» without a query a request. A
// disabled partner is refused everywhere within partnerFresh.
type partnerCache struct {
	mu    sync.Mutex
	known map[string]partnerAnswer
}

type partnerAnswer struct {
	enabled bool
	until   time.Time
}

const (
	partnerFresh = 2 * time.Second
	partnerCap   = 10_000 // more partners than this are asked for each time
	retrySoon    = 2 * time.Second
)

func (c *partnerCache) enabled(ctx context.Context, db *bun.DB, name string) error {
	c.mu.Lock()
	answer, ok := c.known[name]
	c.mu.Unlock()
	if now := monotonic(); !ok || now.After(answer.until) {
		exists, err := db.NewSelect().Model((*partnerRow)(nil)).Where("slug = ?", name).Where("status = ?", PartnerEnabled).Exists(ctx)
		if err != nil {
			return explain(fmt.Errorf("look up partner: %w", err))
		}
		answer = partnerAnswer{exists, now.Add(partnerFresh)}
		c.keep(name, answer)
	}
	if !answer.enabled {
		return Fail(CodePartnerDisabled, "The partner %q is not registered or is disabled; ask Parapet's operators.", name)
	}
	return nil
}

func (c *partnerCache) keep(name string, answer partnerAnswer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= partnerCap {
		c.known = make(map[string]partnerAnswer)
	}
	c.known[name] = answer
}

// forget makes a change felt here at once; other nodes ask again by themselves.
func (c *partnerCache) forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, name)
}

// monotonic is the process's clock, for the age of caches only: business time
// is always the database's.
func monotonic() time.Time { return time.Now() }
