package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
)

// GetManyByID returns the records with the ids that pass narrow, by id, in one statement.
// It serves rows that have no collection: partners see more than their own, or the rows
// are read with joins.
func GetManyByID[Row, Record any](ctx context.Context, s *Store, n ResourceType, ids []string, narrow func(*bun.SelectQuery) *bun.SelectQuery, public func(*Row) (string, *Record)) (map[string]*Record, error) {
	keys := n.ParseIDs(ids)
	found := make(map[string]*Record, len(keys))
	if len(keys) == 0 {
		return found, nil
	}
	var rows []Row
	if err := narrow(s.DB.NewSelect().Model(&rows).Where("?TableAlias.id in (?)", bun.List(keys))).Scan(ctx); err != nil {
		return nil, TranslateError(fmt.Errorf("read each %s: %w", n.Name, err))
	}
	for i := range rows {
		id, record := public(&rows[i])
		found[id] = record
	}
	return found, nil
}

// LoadRowsByID loads rows by their ids in one statement, of all partners.
func LoadRowsByID[Row any, P interface {
	*Row
	head() *RowHeader
}](ctx context.Context, db bun.IDB, ids []uuid.UUID) (map[uuid.UUID]P, error) {
	var rows []P
	if err := db.NewSelect().Model(&rows).Where("?TableAlias.id in (?)", bun.List(ids)).Scan(ctx); err != nil {
		return nil, err
	}
	found := make(map[uuid.UUID]P, len(rows))
	for _, row := range rows {
		found[row.head().ID] = row
	}
	return found, nil
}

// OneOrNotFound returns the record with the id from the result. Errors: not_found.
func OneOrNotFound[Record any](n ResourceType, id string) func(map[string]*Record, error) (*Record, error) {
	return func(found map[string]*Record, err error) (*Record, error) {
		if err == nil && found[id] == nil {
			err = n.NotFoundError()
		}
		return found[id], err
	}
}
