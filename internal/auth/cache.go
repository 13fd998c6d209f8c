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
	cacheSize     = 10_000 // tokens; about 5 MB
	cacheLifetime = time.Minute
)

// actorCache remembers verified tokens by their hash: verifying one takes 100 µs, looking
// it up 1 µs, and a partner sends the same one all day. Refusals are not kept, so
// forged tokens cannot push good ones out.
type actorCache struct {
	mu         sync.Mutex
	generation int // counts the times it was emptied
	entries    map[[sha256.Size]byte]cachedActor
}

type cachedActor struct {
	actor     model.Actor
	expiresAt time.Time
}

// tokenHash is a token's hash: what is kept cannot be presented. The hash reads the
// string where it is, for a copy would be the only garbage of a known token.
func tokenHash(raw string) [sha256.Size]byte {
	return sha256.Sum256(unsafe.Slice(unsafe.StringData(raw), len(raw))) //nolint:gosec // read only, and not kept
}

// get is the actor of a token verified a short while ago. The generation goes to
// put: what was verified with keys that have changed since is not kept.
func (c *actorCache) get(key [sha256.Size]byte, now time.Time) (actor model.Actor, found bool, generation int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry, found := c.entries[key]
	return entry.actor, found && now.Before(entry.expiresAt), c.generation
}

func (c *actorCache) put(key [sha256.Size]byte, actor model.Actor, now, expiry time.Time, generation int) {
	until := now.Add(cacheLifetime)
	if expiry.Before(until) {
		until = expiry
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if generation != c.generation {
		return
	}
	if len(c.entries) >= cacheSize {
		c.evictExpired(now)
	}
	c.entries[key] = cachedActor{actor: actor, expiresAt: until}
}

// evictExpired makes room: what has ended, else any entry.
func (c *actorCache) evictExpired(now time.Time) {
	maps.DeleteFunc(c.entries, func(_ [sha256.Size]byte, entry cachedActor) bool { return !now.Before(entry.expiresAt) })
	for key := range c.entries {
		if len(c.entries) < cacheSize {
			return
		}
		delete(c.entries, key)
	}
}

func (c *actorCache) clearAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.generation++
	c.entries = map[[sha256.Size]byte]cachedActor{}
}
