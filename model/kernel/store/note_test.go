package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/dbpool"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
)

// noteRow is a row with every column that a filter of lists names.
type noteRow struct {
	bun.BaseModel `bun:"table:notes,alias:no"`
	store.RowHeader
	store.PartnerFields

	Status    noteStatus
	Product   string
	PolicyID  *uuid.UUID `bun:"type:uuid"`
	ClaimID   *uuid.UUID `bun:"type:uuid"`
	Position  int64
	DeletedAt *time.Time `bun:",soft_delete"`
}

type noteStatus string

const (
	noteOpen   noteStatus = "open"
	noteDone   noteStatus = "done"
	noteClosed noteStatus = "closed"
)

const notesTable = `create table notes (id uuid, partner text, version bigint, created_at timestamptz, updated_at timestamptz,
	partner_reference text, metadata json, status text, product text, policy_id uuid, claim_id uuid, position bigint, deleted_at timestamptz,
	primary key (id, partner));
create table folders (id uuid primary key, partner text)`

// note is the record of a noteRow.
type note struct {
	ID       string
	Status   noteStatus
	Position int64
}

func (r *noteRow) toRecord() note {
	return note{store.ResourceMessage.FormatID(r.ID), r.Status, r.Position}
}

// newNotes returns a collection of the notes; requests need the scope claims:read.
func newNotes() *store.Collection[noteRow, note] {
	return &store.Collection[noteRow, note]{
		Resource: store.ResourceMessage, Plural: "notes", RequiredScope: store.FixedScope(actor.ScopeClaimsRead),
		Statuses: []string{string(noteOpen), string(noteDone), string(noteClosed)}, ToRecord: (*noteRow).toRecord,
	}
}

// openNotes returns a store on a database with the table of noteRow. The partner closed is
// disabled. change may replace the hooks.
func openNotes(t *testing.T, change ...func(*store.Config)) (*store.Store, *dbpool.Database) {
	t.Helper()
	db, _ := modeltest.Database(t, 4)
	_, err := db.Pool.Exec(t.Context(), notesTable)
	require.NoError(t, err)
	config := store.Config{DB: db, Queue: modeltest.Queue{}, Keys: modeltest.Keys(), Hooks: store.Hooks{
		RequirePartner: func(_ context.Context, _ *store.Store, partner string) error {
			if partner == "closed" {
				return apperr.Fail(apperr.CodePartnerDisabled, "This partner is closed.")
			}
			return nil
		},
	}}
	for _, apply := range change {
		apply(&config)
	}
	s, err := store.New(config)
	require.NoError(t, err)
	return s, db
}

// insertNotes inserts rows in one transaction.
func insertNotes(t *testing.T, s *store.Store, rows ...noteRow) {
	t.Helper()
	require.NoError(t, s.InTx(t.Context(), actor.System(), func(_ context.Context, tx *store.Tx) error {
		for i := range rows {
			tx.QueueInsert(&rows[i])
		}
		return nil
	}))
}

// newNote returns a row of a partner with the next id.
func newNote(partner string) noteRow {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return noteRow{
		RowHeader: store.RowHeader{ID: store.NewID(), Partner: partner, Version: 1, CreatedAt: at, UpdatedAt: at},
		Status:    noteOpen, Product: "quake-circle",
	}
}
