package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/dbpool"
	"parapet/model/kernel/readcharge"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
)

// newFolderNotes returns the notes of folders, oldest first.
func newFolderNotes() *store.ChildCollection[noteRow, note] {
	return &store.ChildCollection[noteRow, note]{
		Collection: newNotes(), CursorName: "folder_notes", Parent: store.ResourceClaim, ParentTable: "folders",
		JoinCondition: "!.claim_id = w.id and !.partner = w.partner", Order: store.SortOldestFirst,
		CursorKey: store.RowKey[noteRow], ParentID: func(r *noteRow) uuid.UUID { return *r.ClaimID },
	}
}

// newPositionedNotes returns the notes of folders by descending position.
func newPositionedNotes() *store.ChildCollection[noteRow, note] {
	notes := newFolderNotes()
	notes.OrderColumn, notes.Order = "position", store.SortNewestFirst
	notes.CursorKey = func(r *noteRow) string { return fmt.Sprint(r.Position) }
	return notes
}

// fillFolders creates three folders, of which the last is another partner's, and the notes
// in them. It returns the folders' public ids and the notes' ids by folder and position.
func fillFolders(t *testing.T, s *store.Store, db *dbpool.Database) (folders []string, notes [][]string) {
	t.Helper()
	r := rand.New(rand.NewPCG(14, 2))
	for i, partner := range []string{"acme", "acme", "globex"} {
		folder := store.NewID()
		_, err := db.Pool.Exec(t.Context(), "insert into folders values ($1, $2)", folder, partner)
		require.NoError(t, err)
		rows := make([]noteRow, 9-4*i)
		ids := make([]string, len(rows))
		for k := range rows {
			rows[k] = newNote(partner)
			rows[k].ClaimID, rows[k].Position = &folder, int64(k+1)
			ids[k] = store.ResourceMessage.FormatID(rows[k].ID)
		}
		r.Shuffle(len(rows), func(a, b int) { rows[a], rows[b] = rows[b], rows[a] })
		foreign, deleted := newNote("unknown"), newNote(partner)
		foreign.ClaimID, deleted.ClaimID, deleted.DeletedAt = &folder, &folder, &deleted.CreatedAt
		insertNotes(t, s, append(rows, foreign, deleted)...)
		folders, notes = append(folders, store.ResourceClaim.FormatID(folder)), append(notes, ids)
	}
	return folders, notes
}

func TestChildrenArePagedPerParent(t *testing.T) {
	t.Parallel()
	s, db := openNotes(t)
	folders, notes := fillFolders(t, s, db)
	for name, children := range map[string]*store.ChildCollection[noteRow, note]{"by id": newFolderNotes(), "by position": newPositionedNotes()} {
		for _, order := range []store.Order{"", store.OldestFirst, store.NewestFirst} {
			descending := order == store.NewestFirst || order == "" && children.OrderColumn != ""
			for i, folder := range folders {
				want := slices.Clone(notes[i])
				if descending {
					slices.Reverse(want)
				}
				var got []string
				in := store.PageRequest{Limit: 2, Order: order}
				for {
					page, err := children.GetPage(t.Context(), s, modeltest.Operator(), folder, in)
					require.NoError(t, err)
					total, _, err := page.Total(t.Context())
					require.NoError(t, err)
					require.Equal(t, len(want), total)
					if got = append(got, idsOf(page)...); !page.HasMore {
						break
					}
					in.Cursor = *page.NextCursor
				}
				require.Equal(t, want, got, "%s %s", name, order)
				last, err := children.GetPage(t.Context(), s, modeltest.Operator(), folder, store.PageRequest{Limit: 2, Order: order, Last: true})
				require.NoError(t, err)
				require.Equal(t, want[max(0, len(want)-2):], idsOf(last), "%s %s", name, order)
			}
		}
	}
}

func TestPagesOfSeveralParentsEqualThoseOfEach(t *testing.T) {
	t.Parallel()
	s, db := openNotes(t)
	folders, _ := fillFolders(t, s, db)
	unknown, malformed := store.ResourceClaim.FormatID(store.NewID()), "clm_x"
	asked := append(slices.Clone(folders), unknown, malformed, folders[0], folders[1])
	for _, caller := range []actor.Actor{modeltest.Operator(), modeltest.Partner("acme"), modeltest.Partner("globex")} {
		pages, err := newFolderNotes().GetPages(t.Context(), s, caller, asked, store.PageRequest{Limit: 6})
		require.NoError(t, err)
		require.Len(t, pages, 5)
		for i, folder := range folders {
			total, _, err := pages[folder].Total(t.Context())
			require.NoError(t, err)
			one, err := newFolderNotes().GetPage(t.Context(), s, caller, folder, store.PageRequest{Limit: 6})
			if owned := (i == 2) == (caller.Partner == "globex"); caller.Kind == actor.KindPartner && !owned {
				require.Equal(t, apperr.CodeNotFound, apperr.CodeOf(err))
				require.Empty(t, pages[folder].Data)
				require.Zero(t, total)
				continue
			}
			require.NoError(t, err)
			require.Equal(t, one.Data, pages[folder].Data)
			require.Equal(t, one.HasMore, pages[folder].HasMore)
			require.Equal(t, 9-4*i, total)
		}
		require.Empty(t, pages[unknown].Data)
		require.Empty(t, pages[malformed].Data)
	}
	none, err := newFolderNotes().GetPages(t.Context(), s, modeltest.Operator(), nil, store.PageRequest{})
	require.NoError(t, err)
	require.Empty(t, none)
}

func TestPageOfAnEmptyParentIsEmpty(t *testing.T) {
	t.Parallel()
	s, db := openNotes(t)
	folder := store.NewID()
	_, err := db.Pool.Exec(t.Context(), "insert into folders values ($1, 'acme')", folder)
	require.NoError(t, err)
	for caller, want := range map[string]apperr.Code{"acme": "", "globex": apperr.CodeNotFound, "closed": apperr.CodePartnerDisabled} {
		page, err := newFolderNotes().GetPage(t.Context(), s, modeltest.Partner(caller), store.ResourceClaim.FormatID(folder), store.PageRequest{})
		if want == "" {
			require.NoError(t, err)
			require.Empty(t, page.Data)
			continue
		}
		require.Equal(t, want, apperr.CodeOf(err))
	}
	for id, detail := range map[string]string{
		"clm_x": "There is no claim with this id.", "": "There is no claim with this id.",
		store.ResourcePolicy.FormatID(folder): "There is no claim with this id. Ids of this kind begin with clm_, not pol_.",
	} {
		_, err := newFolderNotes().GetPage(t.Context(), s, modeltest.Partner("acme"), id, store.PageRequest{})
		require.Equal(t, detail, modeltest.DomainError(t, err).Detail)
		without := modeltest.Partner("acme")
		without.Scopes = nil
		_, err = newFolderNotes().GetPage(t.Context(), s, without, id, store.PageRequest{})
		require.Equal(t, apperr.CodeInsufficientScope, apperr.CodeOf(err), "the scope is checked before the id")
	}
}

func TestCursorOfAnotherParentIsRefused(t *testing.T) {
	t.Parallel()
	s, db := openNotes(t)
	folders, _ := fillFolders(t, s, db)
	read := func(parent, cursor string) (*store.Page[note], error) {
		return newFolderNotes().GetPage(t.Context(), s, modeltest.Operator(), parent, store.PageRequest{Limit: 1, Cursor: cursor})
	}
	page, err := read(folders[0], "")
	require.NoError(t, err)
	_, err = read(folders[1], *page.NextCursor)
	require.Equal(t, apperr.CodeCursorInvalid, apperr.CodeOf(err))
	_, err = newFolderNotes().GetPages(t.Context(), s, modeltest.Operator(), folders[:2], store.PageRequest{Cursor: *page.NextCursor})
	require.Equal(t, apperr.CodeCursorInvalid, apperr.CodeOf(err))

	together, err := newFolderNotes().GetPages(t.Context(), s, modeltest.Operator(), folders[:2], store.PageRequest{Limit: 1})
	require.NoError(t, err)
	for _, folder := range folders[:2] {
		_, err = read(folder, *together[folder].NextCursor)
		require.NoError(t, err)
	}
}

func TestChildrenOfAllParentsAreCountedByOneStatement(t *testing.T) {
	t.Parallel()
	s, db := openNotes(t)
	folders, _ := fillFolders(t, s, db)
	statements := 0
	ctx := readcharge.With(t.Context(), func(int) error { statements++; return nil })
	pages, err := newFolderNotes().GetPages(readcharge.With(t.Context(), nil), s, modeltest.Operator(), folders, store.PageRequest{})
	require.NoError(t, err)
	for _, page := range pages {
		_, _, err := page.Total(ctx)
		require.NoError(t, err)
	}
	require.Equal(t, 3, statements, "one row per parent is read, once")
	_, _, err = pages[folders[0]].Total(context.WithoutCancel(ctx))
	require.NoError(t, err)
	require.Equal(t, 3, statements)
}

// A parallel plan returns the rows of several parents mixed, those of each parent in order.
func TestRowsOfAParentNeedNotFollowEachOther(t *testing.T) {
	t.Parallel()
	first, second := uuid.UUID{1}, uuid.UUID{2}
	type child struct {
		parent uuid.UUID
		place  int
	}
	all := []child{{first, 1}, {first, 2}, {second, 1}, {first, 3}, {second, 2}}
	require.Equal(t, map[uuid.UUID][]child{
		first:  {{first, 1}, {first, 2}, {first, 3}},
		second: {{second, 1}, {second, 2}},
	}, store.GroupRows(all, func(c *child) uuid.UUID { return c.parent }))
	require.Equal(t, []child{{first, 1}, {first, 2}, {second, 1}, {first, 3}, {second, 2}}, all, "no row of another parent is overwritten")
}
