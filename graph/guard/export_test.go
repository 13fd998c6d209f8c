package guard

import (
	"maps"
	"slices"
)

// Work is what reading a text takes, whether it is refused or not.
func (g *Guard) Work(text string) Work {
	_, work, _ := g.readDocument(text)
	return work
}

// BoundedLists are the lists that have a bound, by type and field.
func BoundedLists() []string { return slices.Sorted(maps.Keys(listBounds)) }
