package reports

import (
	"bytes"
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/audit"
	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// relationRow is an operator's decision about two occurrences.
type relationRow struct {
	bun.BaseModel `bun:"table:occurrence_relations,alias:rel"`

	FirstID   uuid.UUID `bun:",pk,type:uuid"`
	SecondID  uuid.UUID `bun:",pk,type:uuid"`
	SameEvent bool
	Reason    string
	Author    string
	DecidedAt time.Time
}

// RelationRequest decides whether two occurrences are one event.
type RelationRequest struct {
	OccurrenceID string
	OtherID      string
	Reason       string // operators only
}

const maxReasonLength = 1_000 // characters

// Merge records that two occurrences are reports of one event, also if their times and
// places are too far apart. Split takes it back. Operators only. Errors: not_found,
// validation_failed.
func (s *Service) Merge(ctx context.Context, caller actor.Actor, in RelationRequest) (*wire.OccurrenceRelation, error) {
	return s.relate(ctx, caller, in, true)
}

// Split records that two occurrences are two events, also if their times and places are
// close. It does not separate readings that a source reported under one id. Operators only.
// Errors: not_found, validation_failed.
func (s *Service) Split(ctx context.Context, caller actor.Actor, in RelationRequest) (*wire.OccurrenceRelation, error) {
	return s.relate(ctx, caller, in, false)
}

func (s *Service) relate(ctx context.Context, caller actor.Actor, in RelationRequest, same bool) (record *wire.OccurrenceRelation, err error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, err
	}
	err = s.InTx(ctx, caller, func(ctx context.Context, tx *store.Tx) error {
		var rows [2]*occurrence.OccurrenceRow
		for i, text := range []string{in.OccurrenceID, in.OtherID} {
			id, err := store.ResourceOccurrence.ParseID(text)
			if err != nil {
				return err
			}
			if rows[i], err = occurrence.LoadVisibleOccurrence(ctx, tx, id, ""); err != nil {
				return err
			}
		}
		if err := in.validate(rows); err != nil {
			return err
		}
		row := &relationRow{FirstID: rows[0].ID, SecondID: rows[1].ID, SameEvent: same, Reason: in.Reason, Author: string(tx.Actor.PersonID()), DecidedAt: tx.Now}
		if bytes.Compare(row.FirstID[:], row.SecondID[:]) > 0 {
			row.FirstID, row.SecondID = row.SecondID, row.FirstID
		}
		_, err := tx.NewInsert().Model(row).On("conflict (first_id, second_id) do update").Set("same_event = excluded.same_event").
			Set("reason = excluded.reason").Set("author = excluded.author").Set("decided_at = excluded.decided_at").Exec(ctx)
		if err != nil {
			return fmt.Errorf("relate occurrences: %w", err)
		}
		tx.EnqueueJob(occurrence.EvaluateOccurrences{Occurrences: []string{in.OccurrenceID, in.OtherID}})
		record = &wire.OccurrenceRelation{Occurrence: rows[0].ToRecord(), Other: rows[1].ToRecord(), SameEvent: same}
		return tx.StoreResponse(store.StatusOK, in.OccurrenceID, record)
	})
	return record, err
}

func (in *RelationRequest) validate(rows [2]*occurrence.OccurrenceRow) error {
	v := apperr.Validator{}
	v.Require(in.Reason != "" && utf8.RuneCountInString(in.Reason) <= maxReasonLength && audit.IsStorableText(in.Reason), "/reason", "length", fmt.Sprintf("Say why, in 1 to %d characters.", maxReasonLength))
	v.Require(rows[0].ID != rows[1].ID, "/other_id", "value", "Name two different occurrences.")
	v.Require(rows[0].Kind == rows[1].Kind && rows[0].Scope == rows[1].Scope, "/other_id", "value", "Name occurrences of one kind, and not one of a rehearsal with a real one.")
	for i, pointer := range []string{"/occurrence_id", "/other_id"} {
		v.Require(rows[i].MergedInto == nil, pointer, "value", "The source merged this occurrence into another one: name that one, its merged_into.")
		v.Require(!rows[i].Kind.IsDaily(), pointer, "value", "Occurrences at a station follow from its days: correct the days.")
	}
	return v.Err()
}

// relationsQuery finds what operators decided about occurrences, after merges.
const relationsQuery = `select distinct on (1, 2) coalesce(a.merged_into, a.id) as first_id, coalesce(b.merged_into, b.id) as second_id, r.same_event
from occurrence_relations r join occurrences a on a.id = r.first_id join occurrences b on b.id = r.second_id
where coalesce(a.merged_into, a.id) in (?0) or coalesce(b.merged_into, b.id) in (?0) order by 1, 2, r.decided_at desc`

// LoadRelations returns, by occurrence, the occurrences that operators decided about: true
// for the same event, false for another one.
func LoadRelations(ctx context.Context, db bun.IDB, ids []uuid.UUID) (map[uuid.UUID]map[uuid.UUID]bool, error) {
	var rows []relationRow
	if err := db.NewRaw(relationsQuery, bun.List(ids)).Scan(ctx, &rows); err != nil {
		return nil, store.TranslateError(fmt.Errorf("read related occurrences: %w", err))
	}
	related := make(map[uuid.UUID]map[uuid.UUID]bool)
	for _, row := range rows {
		for _, pair := range [][2]uuid.UUID{{row.FirstID, row.SecondID}, {row.SecondID, row.FirstID}} {
			if related[pair[0]] == nil {
				related[pair[0]] = make(map[uuid.UUID]bool)
			}
			related[pair[0]][pair[1]] = row.SameEvent
		}
	}
	return related, nil
}
