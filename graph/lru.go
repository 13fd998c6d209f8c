package graph

import (
	"container/list"
	"sync"
)

// kept remembers what was used last, within a weight. It may be used by many at
// once.
type kept[V any] struct {
	most int

	mu     sync.Mutex
	weight int
	order  *list.List // the last used first
	places map[string]*list.Element
}

type keeping[V any] struct {
	key    string
	value  V
	weight int
}

func keep[V any](most int) *kept[V] {
	return &kept[V]{most: most, order: list.New(), places: map[string]*list.Element{}}
}

func (k *kept[V]) get(key string) (value V, found bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	place, found := k.places[key]
	if !found {
		return value, false
	}
	k.order.MoveToFront(place)
	return place.Value.(*keeping[V]).value, true
}

// add lets go of what was used longest ago until there is room. What weighs more
// than a sixteenth of everything is not worth it.
func (k *kept[V]) add(key string, value V, weight int) {
	if weight > k.most/16 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if place, found := k.places[key]; found {
		k.order.MoveToFront(place)
		return
	}
	k.places[key] = k.order.PushFront(&keeping[V]{key, value, weight})
	for k.weight += weight; k.weight > k.most; {
		last := k.order.Back()
		old := k.order.Remove(last).(*keeping[V])
		delete(k.places, old.key)
		k.weight -= old.weight
	}
}
