package model

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/kernel/store"
	"parapet/model/trigger"
)

// loadedOccurrence is an occurrence with its facts.
type loadedOccurrence struct {
	row   *occurrenceRow
	facts trigger.Occurrence
}

// loadOccurrences reads occurrences with their observations, without those merged into
// others.
func loadOccurrences(ctx context.Context, db bun.IDB, ids []uuid.UUID) ([]loadedOccurrence, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var rows []*occurrenceRow
	err := db.NewSelect().Model(&rows).Where("id in (?)", bun.List(ids)).Where("merged_into is null").OrderExpr("occurred_at, id").Scan(ctx)
	if err != nil {
		return nil, store.TranslateError(fmt.Errorf("read occurrences: %w", err))
	}
	var observations []observationRow
	err = db.NewSelect().Model(&observations).Where("occurrence_id in (?)", bun.List(ids)).OrderExpr("occurred_at").Scan(ctx)
	if err != nil {
		return nil, store.TranslateError(fmt.Errorf("read observations: %w", err))
	}
	of := make(map[uuid.UUID][]observationRow)
	for _, o := range observations {
		of[*o.OccurrenceID] = append(of[*o.OccurrenceID], o)
	}
	list := make([]loadedOccurrence, len(rows))
	for i, row := range rows {
		list[i] = loadedOccurrence{row, row.toFacts(of[row.ID])}
	}
	return list, loadStationFacts(ctx, db, list)
}
