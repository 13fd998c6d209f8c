package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
)

func TestTotalCountsTenThousandRowsAtMost(t *testing.T) {
	t.Parallel()
	s, db := openNotes(t)
	acme, folder := modeltest.Partner("acme"), uuid.Max
	_, err := db.Pool.Exec(t.Context(), "insert into folders values ($1, 'acme')", folder)
	require.NoError(t, err)
	fill := func(n int) {
		_, err := db.Pool.Exec(t.Context(), `insert into notes (id, partner, version, created_at, updated_at, status, product, position, claim_id)
			select gen_random_uuid(), 'acme', 1, now(), now(), 'open', 'quake-circle', i, $2::uuid from generate_series(1, $1) as i`, n, folder)
		require.NoError(t, err)
	}
	byStatus, children := newNotes(), newFolderNotes()
	byStatus.Index = store.IndexByStatus
	fill(10_000)
	for _, above := range []bool{false, true} {
		for name, read := range map[string]func() (*store.Page[note], error){
			"scan": func() (*store.Page[note], error) {
				return newNotes().List(t.Context(), s, acme, store.Filter{}, store.PageRequest{})
			},
			"probes": func() (*store.Page[note], error) {
				return byStatus.List(t.Context(), s, acme, store.Filter{}, store.PageRequest{})
			},
			"children": func() (*store.Page[note], error) {
				return children.GetPage(t.Context(), s, acme, store.ResourceClaim.FormatID(folder), store.PageRequest{})
			},
			"query": func() (*store.Page[note], error) { return fetchNotes(t.Context(), s, acme, store.PageRequest{}) },
		} {
			page, err := read()
			require.NoError(t, err, name)
			require.Len(t, page.Data, store.DefaultPageSize)
			total, more, err := page.Total(t.Context())
			require.NoError(t, err, name)
			require.Equal(t, 10_000, total, name)
			require.Equal(t, above, more, name)
		}
		fill(1)
	}
}

// fetchNotes reads a page of notes with the query builder, oldest first.
func fetchNotes(ctx context.Context, s *store.Store, caller actor.Actor, in store.PageRequest) (*store.Page[note], error) {
	var rows []noteRow
	q := store.RestrictToTenant(caller, s.DB.NewSelect().Model(&rows))
	p, err := s.FetchPage(ctx, caller, q, in, "fetched notes", store.SortOldestFirst)
	if err != nil {
		return nil, err
	}
	return store.NewPage(p, rows, store.RowKey[noteRow], (*noteRow).toRecord)
}

func TestFetchPageReadsAllPagesInBothOrders(t *testing.T) {
	t.Parallel()
	s, _ := openNotes(t)
	rows := make([]noteRow, 7)
	for i := range rows {
		rows[i] = newNote("acme")
	}
	insertNotes(t, s, append(rows, newNote("globex"))...)
	acme := modeltest.Partner("acme")
	for _, order := range []store.Order{"", store.OldestFirst, store.NewestFirst} {
		want := expectedIDs(rows, acme, store.Filter{}, store.OldestFirst)
		if order == store.NewestFirst {
			want = expectedIDs(rows, acme, store.Filter{}, store.NewestFirst)
		}
		var got []string
		in := store.PageRequest{Limit: 3, Order: order}
		for {
			page, err := fetchNotes(t.Context(), s, acme, in)
			require.NoError(t, err)
			total, _, err := page.Total(t.Context())
			require.NoError(t, err)
			require.Equal(t, 7, total)
			if got = append(got, idsOf(page)...); !page.HasMore {
				break
			}
			in.Cursor = *page.NextCursor
		}
		require.Equal(t, want, got, order)
		last, err := fetchNotes(t.Context(), s, acme, store.PageRequest{Limit: 2, Order: order, Last: true})
		require.NoError(t, err)
		require.Equal(t, want[5:], idsOf(last), order)
	}
	_, err := fetchNotes(t.Context(), s, acme, store.PageRequest{Limit: 101})
	require.Equal(t, apperr.CodeParameterInvalid, apperr.CodeOf(err))
}

func TestListRefusesWrongParameters(t *testing.T) {
	t.Parallel()
	s, _ := openNotes(t)
	acme := modeltest.Partner("acme")
	list := func(caller actor.Actor, f store.Filter, in store.PageRequest) error {
		_, err := newNotes().List(t.Context(), s, caller, f, in)
		return err
	}
	for detail, try := range map[string]func() error{
		"Use one of open, done, closed.":             func() error { return list(acme, store.Filter{Status: "lost"}, store.PageRequest{}) },
		"Use a policy's id, pol_ and 26 characters.": func() error { return list(acme, store.Filter{PolicyID: "clm_1"}, store.PageRequest{}) },
		"Use a claim's id, clm_ and 26 characters.":  func() error { return list(acme, store.Filter{ClaimID: "pol_1"}, store.PageRequest{}) },
		"Use a whole number from 1 to 100.":          func() error { return list(acme, store.Filter{}, store.PageRequest{Limit: 101}) },
		"Use a whole number from 1 to 100":           func() error { return list(acme, store.Filter{}, store.PageRequest{Limit: -1}) },
	} {
		refusal := modeltest.DomainError(t, try())
		require.Equal(t, apperr.CodeParameterInvalid, refusal.Code)
		require.Contains(t, refusal.Detail+refusal.Fields[0].Detail, detail)
	}
	for _, limit := range []int{0, 1, 100} {
		require.NoError(t, list(acme, store.Filter{}, store.PageRequest{Limit: limit}))
	}
	without := acme
	without.Scopes = []actor.Scope{actor.ScopeQuotesRead}
	require.Equal(t, apperr.CodeInsufficientScope, apperr.CodeOf(list(without, store.Filter{}, store.PageRequest{})))
	require.Equal(t, apperr.CodePartnerDisabled, apperr.CodeOf(list(modeltest.Partner("closed"), store.Filter{}, store.PageRequest{})))
}

// A cursor is bound to everything that selects and orders the list.
func TestCursorOfAnotherFilterIsRefused(t *testing.T) {
	t.Parallel()
	s, _ := openNotes(t)
	insertNotes(t, s, newNote("acme"), newNote("acme"))
	acme, notes := modeltest.Partner("acme"), newNotes()
	page, err := notes.List(t.Context(), s, acme, store.Filter{}, store.PageRequest{Limit: 1})
	require.NoError(t, err)
	next := store.PageRequest{Limit: 1, Cursor: *page.NextCursor}
	_, err = notes.List(t.Context(), s, acme, store.Filter{}, next)
	require.NoError(t, err)
	now, id := time.Now(), uuid.Max
	for _, f := range []store.Filter{
		{Status: "open"},
		{Product: "quake-circle"},
		{PolicyID: store.ResourcePolicy.FormatID(id)},
		{ClaimID: store.ResourceClaim.FormatID(id)},
		{Partner: "acme"},
		{PartnerReference: "a"},
		{CreatedFrom: &now},
		{CreatedTo: &now},
	} {
		_, err := notes.List(t.Context(), s, acme, f, next)
		require.Equal(t, apperr.CodeCursorInvalid, apperr.CodeOf(err), "%+v", f)
	}
	next.Order = store.OldestFirst
	_, err = notes.List(t.Context(), s, acme, store.Filter{}, next)
	require.Equal(t, apperr.CodeCursorInvalid, apperr.CodeOf(err), "another order")
	notes.Plural = "letters"
	_, err = notes.List(t.Context(), s, acme, store.Filter{}, store.PageRequest{Limit: 1, Cursor: *page.NextCursor})
	require.Equal(t, apperr.CodeCursorInvalid, apperr.CodeOf(err), "another list")
}

func TestFiltersHaveDifferentCursorNames(t *testing.T) {
	t.Parallel()
	now, later := time.Unix(1, 0), time.Unix(2, 0)
	seen := map[string]store.Filter{}
	for _, f := range []store.Filter{
		{},
		{Status: "a"},
		{Product: "a"},
		{PolicyID: "a"},
		{ClaimID: "a"},
		{Partner: "a"},
		{PartnerReference: "a"},
		{CreatedFrom: &now},
		{CreatedTo: &now},
		{CreatedFrom: &later},
		{CreatedFrom: &now, CreatedTo: &later},
		{Status: `a" "`},
		{Status: "a", Product: "b"},
		{Status: "ab"},
		{Partner: "a", ClaimID: "b"},
		{Partner: "ab"},
	} {
		name := f.CursorName("notes")
		require.NotContains(t, seen, name, "%+v", f)
		seen[name] = f
	}
}

func TestStatusesOfALifeCycleAreListedOnce(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"open", "done", "closed"}, store.StatusesOf([]store.Transition[noteStatus]{
		{From: noteOpen, To: noteDone}, {From: noteDone, To: noteClosed}, {From: noteDone, To: noteOpen},
	}))
	require.NoError(t, store.Filter{}.RequireStatus(nil))
}

func TestFirstRecordsArePageOfThatLimit(t *testing.T) {
	t.Parallel()
	s, _ := openNotes(t)
	insertNotes(t, s, newNote("acme"), newNote("acme"), newNote("acme"), newNote("acme"))
	acme, notes := modeltest.Partner("acme"), newNotes()
	list := func(in store.PageRequest) *store.Page[note] {
		page, err := notes.List(t.Context(), s, acme, store.Filter{}, in)
		require.NoError(t, err)
		return page
	}
	page := list(store.PageRequest{Limit: 3})
	for n := 1; n <= 3; n++ {
		head, err := page.FirstRecords(n)
		require.NoError(t, err)
		want := list(store.PageRequest{Limit: n})
		require.Equal(t, want.Data, head.Data)
		require.True(t, head.HasMore)
		require.Equal(t, idsOf(list(store.PageRequest{Limit: 2, Cursor: *want.NextCursor})), idsOf(list(store.PageRequest{Limit: 2, Cursor: *head.NextCursor})))
		after, err := page.CursorAt(n - 1)
		require.NoError(t, err)
		require.Equal(t, idsOf(list(store.PageRequest{Cursor: *head.NextCursor})), idsOf(list(store.PageRequest{Cursor: after})))
	}
	whole, err := list(store.PageRequest{Limit: 4}).FirstRecords(4)
	require.NoError(t, err)
	require.False(t, whole.HasMore)
	require.Nil(t, whole.NextCursor)
}
