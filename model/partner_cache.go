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
type partnerCache struct{ freshCache[bool] }

// freshCache keeps what was read of a partner for partnerFresh.
type freshCache[T any] struct {
	mu    sync.Mutex
	known map[string]freshAnswer[T]
}

type freshAnswer[T any] struct {
	value T
	until time.Time
}

const (
	partnerFresh = 2 * time.Second
	partnerCap   = 10_000 // more partners than this are asked for each time
	retrySoon    = 2 * time.Second
)

func (c *partnerCache) enabled(ctx context.Context, db *bun.DB, name string) error {
	enabled, err := c.get(ctx, name, func(ctx context.Context) (bool, error) {
		exists, err := db.NewSelect().Model((*partnerRow)(nil)).Where("slug = ?", name).Where("status = ?", PartnerEnabled).Exists(ctx)
		if err != nil {
			return false, explain(fmt.Errorf("look up partner: %w", err))
		}
		return exists, nil
	})
	if err != nil {
		return err
	}
	if !enabled {
		return Fail(CodePartnerDisabled, "The partner %q is not registered or is disabled; ask Parapet's operators.", name)
	}
	return nil
}

// get is what is known of a partner, loaded where that is too old.
func (c *freshCache[T]) get(ctx context.Context, name string, load func(context.Context) (T, error)) (T, error) {
	c.mu.Lock()
	answer, ok := c.known[name]
	c.mu.Unlock()
	now := monotonic()
	if ok && !now.After(answer.until) {
		return answer.value, nil
	}
	value, err := load(ctx)
	if err != nil {
		return value, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= partnerCap {
		c.known = make(map[string]freshAnswer[T])
	}
	c.known[name] = freshAnswer[T]{value, now.Add(partnerFresh)}
	return value, nil
}

// forget makes a change felt here at once; other nodes ask again by themselves.
func (c *freshCache[T]) forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, name)
}

// monotonic is the process's clock, for the age of caches only: business time
// is always the database's.
func monotonic() time.Time { return time.Now() }
