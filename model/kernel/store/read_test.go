package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun"

	"parapet/model/dbconn"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/rowscan"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

func TestRecordIsReadByItsOwnerAndOperators(t *testing.T) {
	t.Parallel()
	s, _ := openNotes(t)
	row, deleted, foreign := newNote("acme"), newNote("acme"), newNote("globex")
	deleted.DeletedAt = new(time.Unix(1, 0))
	insertNotes(t, s, row, deleted, foreign)
	notes, id := newNotes(), store.ResourceMessage.FormatID
	everything := []string{id(row.ID), id(deleted.ID), id(foreign.ID), id(store.NewID()), "msg_x", id(row.ID)}
	for _, caller := range []actor.Actor{modeltest.Partner("acme"), modeltest.Partner("globex"), modeltest.Operator()} {
		found, err := notes.GetMany(t.Context(), s, caller, everything)
		require.NoError(t, err)
		seen := map[string]bool{}
		for _, r := range []noteRow{row, foreign} {
			seen[id(r.ID)] = caller.Kind == actor.KindOperator || caller.Partner == r.Partner
		}
		for _, asked := range everything {
			one, err := notes.Get(t.Context(), s, caller, asked)
			require.Equal(t, seen[asked], err == nil, asked)
			require.Equal(t, seen[asked], found[asked] != nil, asked)
			if seen[asked] {
				require.Equal(t, one, found[asked])
				require.Equal(t, asked, one.ID)
				continue
			}
			require.Equal(t, "There is no message with this id.", modeltest.DomainError(t, err).Detail)
			_, err = store.OneOrNotFound[note](store.ResourceMessage, asked)(found, nil)
			require.Equal(t, apperr.CodeNotFound, apperr.CodeOf(err))
		}
	}
	_, err := notes.GetMany(t.Context(), s, modeltest.Partner("closed"), nil)
	require.Equal(t, apperr.CodePartnerDisabled, apperr.CodeOf(err))
	without := modeltest.Partner("acme")
	without.Scopes = nil
	_, err = notes.Get(t.Context(), s, without, "msg_x")
	require.Equal(t, apperr.CodeInsufficientScope, apperr.CodeOf(err))
	none, err := notes.GetMany(t.Context(), s, modeltest.Operator(), nil)
	require.NoError(t, err)
	require.Empty(t, none)
}

func TestRowsOfAllPartnersAreLoadedByID(t *testing.T) {
	t.Parallel()
	s, db := openNotes(t)
	rows := []noteRow{newNote("acme"), newNote("globex"), newNote("acme")}
	insertNotes(t, s, rows...)
	found, err := store.LoadRowsByID[noteRow](t.Context(), db.Bun, []uuid.UUID{rows[0].ID, rows[1].ID, store.NewID()})
	require.NoError(t, err)
	require.Len(t, found, 2)
	require.Equal(t, "globex", found[rows[1].ID].Partner)

	id := store.ResourceMessage.FormatID
	read := func(ids ...string) map[string]*note {
		records, err := store.GetManyByID(t.Context(), s, store.ResourceMessage, ids,
			func(q *bun.SelectQuery) *bun.SelectQuery { return q.Where("?TableAlias.partner = 'acme'") },
			func(r *noteRow) (string, *note) { record := r.toRecord(); return record.ID, &record })
		require.NoError(t, err)
		return records
	}
	require.Len(t, read(id(rows[0].ID), id(rows[1].ID), "msg_x"), 1)
	require.Empty(t, read())
}

func TestSnapshotShowsOneInstantAndWritesNothing(t *testing.T) {
	t.Parallel()
	s, _ := openNotes(t)
	require.NoError(t, s.ReadSnapshot(t.Context(), func(ctx context.Context, snapshot bun.Tx, now time.Time) error {
		require.ErrorIs(t, dbconn.RequireNoTransaction(ctx), dbconn.ErrInTransaction)
		insertNotes(t, s, newNote("acme")) //nolint:contextcheck // another transaction
		n, err := snapshot.NewSelect().Model((*noteRow)(nil)).Count(ctx)
		require.NoError(t, err)
		require.Zero(t, n, "a change after its beginning")
		clock, err := s.ReadClock(ctx)
		require.NoError(t, err)
		require.False(t, clock.Before(now))
		return nil
	}))
	require.ErrorContains(t, s.ReadSnapshot(t.Context(), func(ctx context.Context, snapshot bun.Tx, _ time.Time) error {
		_, err := snapshot.ExecContext(ctx, "delete from notes")
		return err
	}), "read-only transaction")
	errStopped := errors.New("stopped")
	require.ErrorIs(t, s.ReadSnapshot(t.Context(), func(context.Context, bun.Tx, time.Time) error { return errStopped }), errStopped)
}

func TestScopeIsCheckedBeforeThePartner(t *testing.T) {
	t.Parallel()
	s, _ := openNotes(t)
	closed, operator := modeltest.Partner("closed"), modeltest.Operator()
	require.Equal(t, apperr.CodePartnerDisabled, apperr.CodeOf(s.Authorize(t.Context(), closed, actor.ScopeClaimsRead)))
	require.Equal(t, apperr.CodeInsufficientScope, apperr.CodeOf(s.Authorize(t.Context(), closed, actor.ScopeOperator)))
	operator.Partner = "closed"
	require.NoError(t, s.Authorize(t.Context(), operator, actor.ScopeOperator), "only partners can be disabled")
}

// The query builder writes arguments into the statement, where six characters mean NUL.
func TestQueryBuilderKeepsBackslashesOfMetadata(t *testing.T) {
	t.Parallel()
	s, db := openNotes(t)
	row := newNote("acme")
	row.Metadata = map[string]string{`\u0000`: `a\b "c" \\u0000 \n`, "plain": "é\u2028"}
	require.NoError(t, inTx(t, s, func(ctx context.Context, tx *store.Tx) error { return store.InsertRows(ctx, tx, &[]noteRow{row}) }))
	var read noteRow
	require.NoError(t, db.Bun.NewSelect().Model(&read).Scan(t.Context()))
	require.Equal(t, row.Metadata, read.Metadata)
	read = noteRow{}
	require.NoError(t, s.QueryPreparedRow(t.Context(), db.Pool, &read, s.SelectStatement(new(noteRow))))
	require.Equal(t, row.Metadata, read.Metadata)
}

func TestRowsAreDecodedFromTheirGoNames(t *testing.T) {
	t.Parallel()
	s, db := openNotes(t)
	row := newNote("acme")
	row.Position = 7
	insertNotes(t, s, row)
	var text string
	require.NoError(t, db.Bun.NewRaw("select json_agg(r)::text from (select "+rowscan.GoColumnAliases(db.Bun, new(noteRow))+" from notes as no) as r").Scan(t.Context(), &text))
	var rows []struct {
		Partner, Product string
		Position         int64
		Status           noteStatus
	}
	require.NoError(t, wire.Decode([]byte(text), &rows))
	require.Len(t, rows, 1)
	require.Equal(t, []any{"acme", "quake-circle", int64(7), noteOpen}, []any{rows[0].Partner, rows[0].Product, rows[0].Position, rows[0].Status})
}
