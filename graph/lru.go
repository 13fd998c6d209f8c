package graph

import (
	"container/list"
	"sync"
)

// lruCache is a weighted LRU cache, safe for concurrent use.
type lruCache[V any] struct {
	maxWeight int

	mu      sync.Mutex
	weight  int
	order   *list.List // most recently used first
	entries map[string]*list.Element
}

type lruEntry[V any] struct {
	key    string
	value  V
	weight int
}

func newLRUCache[V any](most int) *lruCache[V] {
	return &lruCache[V]{maxWeight: most, order: list.New(), entries: map[string]*list.Element{}}
}

func (c *lruCache[V]) get(key string) (value V, found bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	place, found := c.entries[key]
	if !found {
		return value, false
	}
	c.order.MoveToFront(place)
	return place.Value.(*lruEntry[V]).value, true
}

// add evicts the least recently used entries until the new one fits. Entries heavier than
// 1/16 of the maximum are not cached.
func (c *lruCache[V]) add(key string, value V, weight int) {
	if weight > c.maxWeight/16 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if place, found := c.entries[key]; found {
		c.order.MoveToFront(place)
		return
	}
	c.entries[key] = c.order.PushFront(&lruEntry[V]{key, value, weight})
	for c.weight += weight; c.weight > c.maxWeight; {
		last := c.order.Back()
		old := c.order.Remove(last).(*lruEntry[V])
		delete(c.entries, old.key)
		c.weight -= old.weight
	}
}
