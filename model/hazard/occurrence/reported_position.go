package occurrence

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/hazard"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// ReportedPosition is the time and place of an event in one report or an earlier
// version of it.
type ReportedPosition struct {
	source string
	at     time.Time
	where  hazard.Point
}

// LoadPositions reads every position that was ever reported for the occurrences.
func LoadPositions(ctx context.Context, tx *store.Tx, occurrences []uuid.UUID) (map[uuid.UUID][]ReportedPosition, error) {
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
	positions := make(map[uuid.UUID][]ReportedPosition)
	for _, r := range reports {
		if r.Body.Location != nil {
			positions[r.OccurrenceID] = append(positions[r.OccurrenceID], ReportedPosition{r.Source, r.Body.OccurredAt, *r.Body.Location})
		}
	}
	return positions, nil
}

// MayBeOneEvent reports whether any two positions are close enough.
func MayBeOneEvent(rules hazard.DuplicateRules, some, others []ReportedPosition) bool {
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
