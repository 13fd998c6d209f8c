package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/kernel/actor"
	"parapet/model/wire"
)

// HeaderColumns are the columns that only the header of a record needs.
var HeaderColumns = OptionalColumns{Members: []string{"version", "created_at", "updated_at"}, Columns: []string{"version", "created_at", "updated_at"}}

// ToHeader returns the public header of a partner's record.
func (h *RowHeader) ToHeader(kind ResourceType) wire.Header {
	return wire.Header{
		ID: kind.FormatID(h.ID), Object: kind.Name, Partner: &h.Partner,
		CreatedAt: h.CreatedAt, UpdatedAt: h.UpdatedAt, Version: h.Version,
	}
}

// ToReferences returns the members as records show them.
func (r PartnerFields) ToReferences() wire.References {
	metadata := r.Metadata
	if metadata == nil {
		metadata = map[string]string{}
	}
	return wire.References{PartnerReference: r.PartnerReference, Metadata: metadata}
}

// LoadRecord loads one record by its public id, if the actor may see it.
func (s *Store) LoadRecord(ctx context.Context, actor actor.Actor, scope actor.Scope, kind ResourceType, id string, row any) error {
	return s.loadRecord(ctx, actor, scope, kind, id, row, nil)
}

// loadRecord is LoadRecord without some of the columns.
func (s *Store) loadRecord(ctx context.Context, actor actor.Actor, scope actor.Scope, kind ResourceType, id string, row any, without []string) error {
	if err := s.Authorize(ctx, actor, scope); err != nil {
		return err
	}
	key, err := kind.ParseID(id)
	if err != nil {
		return err
	}
	text := s.Statements.Get(row, "read "+TenantPredicate(actor)+strings.Join(without, " "), func() string {
		w := s.NewWhere(row)
		w.AddTerm("!.id = $1")
		w.AddTerm(strings.ReplaceAll(TenantPredicate(actor), "?TableAlias", "!"))
		return s.selectColumns(row, without) + w.String()
	})
	if err := s.QueryPreparedRow(ctx, s.Pool, row, text, key, TenantArg(actor)); err != nil {
		if IsNoRows(err) {
			return kind.NotFoundError()
		}
		return TranslateError(fmt.Errorf("read %s: %w", kind.Name, err))
	}
	return nil
}

// MaxEmbedded bounds the claims in a policy's record, the payouts in a claim's and the
// attempts in a delivery's; the newest are shown. Policies and claims also show the
// full count; the list endpoints return the rest.
const MaxEmbedded = 20

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
