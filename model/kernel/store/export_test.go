package store

import (
	"maps"
	"slices"
)

// Constraints lists the constraints that have an error in constraint.go.
func Constraints() []string { return slices.Sorted(maps.Keys(constraintErrors)) }
