package store

import (
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Constraints lists the constraints that have an error in constraint.go.
func Constraints() []string { return slices.Sorted(maps.Keys(constraintErrors)) }

// These are used by tests of other files.
var (
	PartnerResources = partnerResources
	EventSubjects    = eventSubjects
)

// GroupRows is groupRows for tests of other files.
func GroupRows[Row any](all []Row, parentID func(*Row) uuid.UUID) map[uuid.UUID][]Row {
	return groupRows(all, 2, parentID)
}

// RunOneGroupAtOnce lets calls of InGroupTx wait while another runs.
func (s *Store) RunOneGroupAtOnce() { s.groups.Parallel = 1 }

// WaitingCalls returns the number of calls of InGroupTx that wait.
func (s *Store) WaitingCalls() int { return s.groups.Waiting() }

// SetMaxClockAge sets how old an assumed clock may be.
func (s *Store) SetMaxClockAge(age time.Duration) { s.memory.MaxClockAge = age }
