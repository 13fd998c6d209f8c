package adjudication

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/hazard"
	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// duplicateSearchMargin is added to the times that are compared: an earlier version of a
// report may have another date.
const duplicateSearchMargin = 24 * time.Hour

// reportedPosition is the time and place of an event in one report or an earlier
// version of it.
type reportedPosition struct {
	source string
	at     time.Time
	where  hazard.Point
}

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
	positions, err := loadPositions(ctx, adj.Tx, append(claimed, adj.occurrence.ID))
	if err != nil {
		return err
	}
	for _, id := range claimed {
		if mayBeOneEvent(adj.occurrence.Kind.Rules().Duplicates, positions[id], positions[adj.occurrence.ID]) {
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

// loadPositions reads every position that was ever reported for the occurrences.
func loadPositions(ctx context.Context, tx *store.Tx, occurrences []uuid.UUID) (map[uuid.UUID][]reportedPosition, error) {
	var reports []struct {
		OccurrenceID uuid.UUID
		Source       string
		Body         wire.ObservationInput `bun:"type:json"`
	}
	err := tx.NewRaw(`select o.occurrence_id, o.source, o.body from observations o where o.occurrence_id in (?0)
		union all select o.occurrence_id, o.source, r.body from observations o join observation_revisions r on r.observation_id = o.id
		where o.occurrence_id in (?0)`, bun.List(occurrences)).Scan(ctx, &reports)
	if err != nil {
		return nil, fmt.Errorf("read reported positions: %w", err)
	}
	positions := make(map[uuid.UUID][]reportedPosition)
	for _, r := range reports {
		if r.Body.Location != nil {
			positions[r.OccurrenceID] = append(positions[r.OccurrenceID], reportedPosition{r.Source, r.Body.OccurredAt, *r.Body.Location})
		}
	}
	return positions, nil
}

// mayBeOneEvent reports whether any two positions are close enough.
func mayBeOneEvent(rules hazard.DuplicateRules, some, others []reportedPosition) bool {
	for _, a := range some {
		for _, b := range others {
			comparable := rules.SameSource || a.source != b.source
			if comparable && a.at.Sub(b.at).Abs() <= rules.Time && hazard.Distance(a.where, b.where) <= rules.KM {
				return true
			}
		}
	}
	return false
}
