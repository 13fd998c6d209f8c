package auth

import (
	"crypto/sha256"
	"sync/atomic"
	"time"
	"unsafe"

	lru "github.com/hashicorp/golang-lru/v2"

	"parapet/model/kernel/actor"
)

const (
	cacheSize     = 10_000 // tokens; about 5 MB
	cacheLifetime = time.Minute
)

// actorCache caches verified tokens by their hash: verifying takes 100 µs, a lookup 1 µs,
// and a partner sends the same token all day. Rejected tokens are not cached, so forged
// tokens cannot evict valid ones.
type actorCache struct {
	generation atomic.Int64 // number of times the cache was cleared
	entries    *lru.Cache[[sha256.Size]byte, cachedActor]
}

type cachedActor struct {
	actor      actor.Actor
	expiresAt  time.Time
	generation int64 // of the keys that verified the token
}

func newActorCache() *actorCache {
	entries, err := lru.New[[sha256.Size]byte, cachedActor](cacheSize)
	if err != nil {
		panic(err) // only a size below 1 is rejected
	}
	return &actorCache{entries: entries}
}

// tokenHash returns a token's hash, because a cached hash cannot be used as a token. It
// hashes the string in place: a copy would be the only garbage for a cached token.
func tokenHash(raw string) [sha256.Size]byte {
	return sha256.Sum256(unsafe.Slice(unsafe.StringData(raw), len(raw))) //nolint:gosec // read only and not retained
}

// get returns the actor of a recently verified token. Pass the generation to put, so that
// a token verified with keys that have changed since is not found.
func (c *actorCache) get(key [sha256.Size]byte, now time.Time) (actor actor.Actor, found bool, generation int64) {
	generation = c.generation.Load()
	entry, found := c.entries.Get(key)
	return entry.actor, found && entry.generation == generation && now.Before(entry.expiresAt), generation
}

func (c *actorCache) put(key [sha256.Size]byte, actor actor.Actor, now, expiry time.Time, generation int64) {
	if until := now.Add(cacheLifetime); until.Before(expiry) {
		expiry = until
	}
	c.entries.Add(key, cachedActor{actor: actor, expiresAt: expiry, generation: generation})
}

func (c *actorCache) clearAll() {
	c.generation.Add(1)
	c.entries.Purge()
}
