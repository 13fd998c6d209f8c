package adjudication

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"parapet/model/claims/candidates"
	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
)

// ExplainCandidates returns the plan of the query that finds an occurrence's policies.
func (s *Service) ExplainCandidates(ctx context.Context, event string) (string, error) {
	var id uuid.UUID
	if err := s.DB.NewSelect().Model((*occurrence.OccurrenceRow)(nil)).Column("id").Where("source_event_id = ?", event).Scan(ctx, &id); err != nil {
		return "", err
	}
	happened, err := occurrence.LoadOccurrences(ctx, s.DB, []uuid.UUID{id})
	if err != nil {
		return "", err
	}
	var lines []string
	err = s.DB.NewRaw("explain ?", candidates.NewQuery(s.DB, happened)).Scan(ctx, &lines)
	return strings.Join(lines, "\n"), err
}

// ExplainRelevantClaims returns the plan of the query that finds the claims on which the
// decisions for some policies depend.
func (s *Service) ExplainRelevantClaims(ctx context.Context, event string, policies []uuid.UUID) (string, error) {
	row := new(occurrence.OccurrenceRow)
	var lines []string
	err := s.InTx(ctx, actor.System(), func(ctx context.Context, tx *store.Tx) error {
		if err := tx.NewSelect().Model(row).Where("source_event_id = ?", event).Scan(ctx); err != nil {
			return err
		}
		adj := adjudication{Tx: tx, occurrence: row, occurrenceIDs: map[uuid.UUID]bool{row.ID: true}}
		return tx.NewRaw("explain ?", adj.selectRelevantClaims(policies)).Scan(ctx, &lines)
	})
	return strings.Join(lines, "\n"), err
}

// SetSliceSize changes the number of policies of a slice, so that small books have many
// slices. It may not be called while the service is used.
func (s *Service) SetSliceSize(policies int) { s.sliceSize = policies }
