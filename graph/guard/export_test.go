package guard

import (
	"maps"
	"slices"
)

// Work returns the work of reading a text, also of a rejected one.
func (g *Guard) Work(text string) Work {
	_, work, _ := g.readDocument(text)
	return work
}

// BoundedLists are the lists that have a bound, by type and field.
func BoundedLists() []string { return slices.Sorted(maps.Keys(listBounds)) }
