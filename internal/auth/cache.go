package auth

import (
	"crypto/sha256"
	"maps"
	"sync"
	"time"
	"unsafe"

	"parapet/model"
)

const (
	cacheSize = 10_000 // tokens; about 5 MB
	cacheLife = time.Minute
)

// cache remembers verified tokens by their hash: verifying one takes 100 µs, looking
// it up 1 µs, and a partner sends the same one all day. Refusals are not kept, so
// forged tokens cannot push good ones out.
type cache struct {
	mu         sync.Mutex
	generation int // counts the times it was emptied
	entries    map[[sha256.Size]byte]cached
}

type cached struct {
	actor model.Actor
	until time.Time
}

// keyOf is a token's hash: what is kept cannot be presented. The hash reads the
// string where it is, for a copy would be the only garbage of a known token.
func keyOf(raw string) [sha256.Size]byte {
	return sha256.Sum256(unsafe.Slice(unsafe.StringData(raw), len(raw))) //nolint:gosec // read only, and not kept
}

// get is the actor of a token verified a short while ago. The generation goes to
// put: what was verified with keys that have changed since is not kept.
func (c *cache) get(key [sha256.Size]byte, now time.Time) (actor model.Actor, found bool, generation int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry, found := c.entries[key]
	return entry.actor, found && now.Before(entry.until), c.generation
}

func (c *cache) put(key [sha256.Size]byte, actor model.Actor, now, expiry time.Time, generation int) {
	until := now.Add(cacheLife)
	if expiry.Before(until) {
		until = expiry
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if generation != c.generation {
		return
	}
	if len(c.entries) >= cacheSize {
		c.evict(now)
	}
	c.entries[key] = cached{actor: actor, until: until}
}

// evict makes room: what has ended, else any entry.
func (c *cache) evict(now time.Time) {
	maps.DeleteFunc(c.entries, func(_ [sha256.Size]byte, entry cached) bool { return !now.Before(entry.until) })
	for key := range c.entries {
		if len(c.entries) < cacheSize {
			return
		}
		delete(c.entries, key)
	}
}

func (c *cache) empty() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.generation++
	c.entries = map[[sha256.Size]byte]cached{}
}
