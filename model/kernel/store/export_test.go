package store

import (
	"maps"
	"slices"
)

// Constraints lists the constraints that have an error in constraint.go.
func Constraints() []string { return slices.Sorted(maps.Keys(constraintErrors)) }

// These are used by tests of other files.
var (
	NewRecordID      = newRecordID
	LowestIDAt       = lowestIDAt
	PartnerResources = partnerResources
	EventSubjects    = eventSubjects
)
