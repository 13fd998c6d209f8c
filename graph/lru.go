package graph

import (
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// lruCache is a weighted LRU cache, safe for concurrent use.
type lruCache[V any] struct {
	maxWeight int

	mu      sync.Mutex
	weight  int
	entries *simplelru.LRU[string, lruEntry[V]]
}

type lruEntry[V any] struct {
	value  V
	weight int
}

func newLRUCache[V any](maxWeight int) *lruCache[V] {
	c := &lruCache[V]{maxWeight: maxWeight}
	entries, err := simplelru.NewLRU(maxWeight, func(_ string, old lruEntry[V]) { c.weight -= old.weight })
	if err != nil {
		panic(err) // only a size below 1 is rejected
	}
	c.entries = entries
	return c
}

func (c *lruCache[V]) get(key string) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry, found := c.entries.Get(key)
	return entry.value, found
}

// add evicts the least recently used entries until the new one fits. Entries heavier than
// 1/16 of the maximum are not cached.
func (c *lruCache[V]) add(key string, value V, weight int) {
	if weight > c.maxWeight/16 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries.Remove(key)
	c.entries.Add(key, lruEntry[V]{value, weight})
	for c.weight += weight; c.weight > c.maxWeight; {
		c.entries.RemoveOldest()
	}
}
