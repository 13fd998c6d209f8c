package adjudication

import (
	"context"
	"strings"

	"github.com/google/uuid"
	"github.com/uptrace/bun/dialect/pgdialect"

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
	err = s.DB.NewRaw("explain ?", candidates.NewQuery(s.DB, happened, nil)).Scan(ctx, &lines)
	return strings.Join(lines, "\n"), err
}

// ExplainRelevantClaims returns the plan of the query that locks the claims on which the
// decisions for some policies depend.
func (s *Service) ExplainRelevantClaims(ctx context.Context, event string, policies []uuid.UUID) (string, error) {
	row := new(occurrence.OccurrenceRow)
	var lines []string
	err := s.InTx(ctx, actor.System(), func(ctx context.Context, tx *store.Tx) error {
		if err := tx.NewSelect().Model(row).Where("source_event_id = ?", event).Scan(ctx); err != nil {
			return err
		}
		adj := adjudication{Tx: tx, occurrence: row, occurrenceIDs: map[uuid.UUID]bool{row.ID: true}}
		relevant, args := adj.relevantClaims(policies)
		if _, err := tx.NewRaw("prepare relevant (uuid, uuid[], uuid[], timestamptz, timestamptz) as ?", relevant).Exec(ctx); err != nil {
			return err
		}
		if err := tx.NewRaw("explain execute relevant (?, ?, ?, ?, ?)", args[0], pgdialect.Array(args[1]), pgdialect.Array(args[2]), args[3], args[4]).Scan(ctx, &lines); err != nil {
			return err
		}
		_, err := tx.NewRaw("deallocate relevant").Exec(ctx)
		return err
	})
	return strings.Join(lines, "\n"), err
}

// SetSliceSize changes the number of policies of a slice, so that small books have many
// slices. It may not be called while the service is used.
func (s *Service) SetSliceSize(policies int) { s.sliceSize = policies }
