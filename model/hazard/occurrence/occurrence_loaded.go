package occurrence

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/hazard/trigger"
	"parapet/model/kernel/store"
)

// LoadedOccurrence is an occurrence with its facts.
type LoadedOccurrence struct {
	Row   *OccurrenceRow
	Facts trigger.Occurrence
}

// LoadOccurrences reads occurrences with their observations, without those merged into
// others.
func LoadOccurrences(ctx context.Context, db bun.IDB, ids []uuid.UUID) ([]LoadedOccurrence, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var rows []*OccurrenceRow
	err := db.NewSelect().Model(&rows).Where("id in (?)", bun.List(ids)).Where("merged_into is null").OrderExpr("occurred_at, id").Scan(ctx)
	if err != nil {
		return nil, store.TranslateError(fmt.Errorf("read occurrences: %w", err))
	}
	var observations []ObservationRow
	err = db.NewSelect().Model(&observations).Where("occurrence_id in (?)", bun.List(ids)).OrderExpr("occurred_at").Scan(ctx)
	if err != nil {
		return nil, store.TranslateError(fmt.Errorf("read observations: %w", err))
	}
	of := make(map[uuid.UUID][]ObservationRow)
	for _, o := range observations {
		of[*o.OccurrenceID] = append(of[*o.OccurrenceID], o)
	}
	list := make([]LoadedOccurrence, len(rows))
	for i, row := range rows {
		list[i] = LoadedOccurrence{row, row.ToFacts(of[row.ID])}
	}
	return list, LoadStationFacts(ctx, db, list)
}
