package adjudication

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"parapet/model/hazard/occurrence"
)

// duplicateSearchMargin is added to the times that are compared: an earlier version of a
// report may have another date.
const duplicateSearchMargin = 24 * time.Hour

// loadPossibleDuplicates finds, among the occurrences that the policies have claims
// for, those that may be the same event as the adjudicated one. Retracted and
// superseded reports count too: a claim may have been paid on them.
func (adj *adjudication) loadPossibleDuplicates(ctx context.Context) error {
	if adj.occurrence == nil || adj.occurrence.Kind.IsDaily() {
		return nil // sharesDay compares days at stations
	}
	claimed := adj.comparableOccurrences()
	if len(claimed) == 0 {
		return nil
	}
	positions, err := occurrence.LoadPositions(ctx, adj.Tx, append(claimed, adj.occurrence.ID))
	if err != nil {
		return err
	}
	for _, id := range claimed {
		if occurrence.MayBeOneEvent(adj.occurrence.Kind.Rules().Duplicates, positions[id], positions[adj.occurrence.ID]) {
			adj.possibleDuplicates[id] = true
		}
	}
	return nil
}

// comparableOccurrences returns the other occurrences of the same kind that have claims
// and are close enough in time to compare. An occurrence of the other scope with the
// same source event id is a possible duplicate at any distance: one of the two is a
// rehearsal of the other.
func (adj *adjudication) comparableOccurrences() []uuid.UUID {
	adj.possibleDuplicates = make(map[uuid.UUID]bool)
	var ids []uuid.UUID
	for _, claims := range adj.relatedClaims {
		for _, c := range claims {
			if c.OccurrenceID == nil || adj.occurrenceIDs[*c.OccurrenceID] {
				continue
			}
			other := adj.claimOccurrences[*c.OccurrenceID]
			switch {
			case other.Kind != adj.occurrence.Kind:
			case other.Scope != adj.occurrence.Scope && other.SourceEventID == adj.occurrence.SourceEventID:
				adj.possibleDuplicates[other.CurrentID()] = true
			case other.MergedInto != nil || overlapsInTime(other, adj.occurrence, duplicateSearchMargin):
				ids = append(ids, other.CurrentID())
			}
		}
	}
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	return slices.Compact(ids)
}

// overlapsInTime reports whether two occurrences are at most margin apart in time.
func overlapsInTime(r *occurrence.OccurrenceRow, other *occurrence.OccurrenceRow, margin time.Duration) bool {
	return !r.OccurredAt.After(other.LastAt.Add(margin)) && !other.OccurredAt.After(r.LastAt.Add(margin))
}
