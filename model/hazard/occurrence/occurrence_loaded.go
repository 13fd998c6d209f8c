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

// lockSource locks a source of a scope against other batches until the transaction ends.
// Locks of several are taken in the order of the sources' names.
func lockSource(ctx context.Context, tx *store.Tx, scope, source string) error {
	if _, err := tx.NewRaw("select pg_advisory_xact_lock(hashtextextended(?, 1))", scope+"/"+source).Exec(ctx); err != nil { // the key of LockSourceShared
		return fmt.Errorf("lock source: %w", err)
	}
	return nil
}

// LockSourceShared holds off the ingestion of observations of an occurrence's source
// until the transaction ends. Unlike a row lock the lock is fair: an ingestion that waits
// for it goes ahead of later callers, so that a revision is recorded while slices of a
// large event are being decided.
func LockSourceShared(ctx context.Context, tx *store.Tx, id uuid.UUID) error {
	_, err := tx.NewRaw("select pg_advisory_xact_lock_shared(hashtextextended(scope || '/' || source, 1)) from occurrences where id = ?", id).Exec(ctx)
	if err != nil {
		return fmt.Errorf("lock the source: %w", err)
	}
	return nil
}
