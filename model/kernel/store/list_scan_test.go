package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/recordid"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
)

var firstNoteAt = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// choose returns one of the values at random.
func choose[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

// randomNotes returns notes of two partners with ids in the order of their times.
func randomNotes(r *rand.Rand, policies, claims []uuid.UUID) []noteRow {
	rows := make([]noteRow, 120)
	for i := range rows {
		at := firstNoteAt.Add(time.Duration(r.IntN(300)) * time.Minute)
		row := noteRow{
			RowHeader: store.RowHeader{ID: recordid.At(at, uint16(i)), Partner: choose(r, "acme", "acme", "globex"), Version: 1, CreatedAt: at, UpdatedAt: at},
			Status:    choose(r, noteOpen, noteOpen, noteDone), Product: choose(r, "quake-circle", "rain-excess"),
			PolicyID: choose(r, nil, &policies[0], &policies[1]), ClaimID: choose(r, nil, &claims[0], &claims[1]),
		}
		if r.IntN(3) == 0 {
			row.PartnerReference = new(fmt.Sprint("ref-", i%7))
		}
		if r.IntN(10) == 0 {
			row.DeletedAt = &at
		}
		rows[i] = row
	}
	return rows
}

// randomFilter returns a filter in which each member is set sometimes.
func randomFilter(r *rand.Rand, policies, claims []uuid.UUID) (f store.Filter) {
	some := func() bool { return r.IntN(4) == 0 }
	if some() {
		f.Status = choose(r, "open", "done", "closed")
	}
	if some() {
		f.Product = choose(r, "quake-circle", "rain-excess", "unknown")
	}
	if some() {
		f.PolicyID = store.ResourcePolicy.FormatID(choose(r, policies...))
	}
	if some() {
		f.ClaimID = store.ResourceClaim.FormatID(choose(r, claims...))
	}
	if some() {
		f.Partner = choose(r, "acme", "globex", "unknown")
	}
	if some() {
		f.PartnerReference = fmt.Sprint("ref-", r.IntN(8))
	}
	if some() {
		f.CreatedFrom = new(firstNoteAt.Add(time.Duration(r.IntN(300)) * time.Minute))
	}
	if some() {
		f.CreatedTo = new(firstNoteAt.Add(time.Duration(r.IntN(300)) * time.Minute))
	}
	return f
}

// passes reports whether a row is in the list, by the meaning of each member of a filter.
func passes(row *noteRow, caller actor.Actor, f store.Filter) bool {
	same := func(filter, value string) bool { return filter == "" || filter == value }
	idOf := func(kind store.ResourceType, id *uuid.UUID) string {
		if id == nil {
			return ""
		}
		return kind.FormatID(*id)
	}
	reference := ""
	if row.PartnerReference != nil {
		reference = *row.PartnerReference
	}
	return row.DeletedAt == nil && (caller.Kind != actor.KindPartner || row.Partner == caller.Partner) && same(f.Partner, row.Partner) &&
		same(f.Status, string(row.Status)) && same(f.Product, row.Product) && same(f.PartnerReference, reference) &&
		same(f.PolicyID, idOf(store.ResourcePolicy, row.PolicyID)) && same(f.ClaimID, idOf(store.ResourceClaim, row.ClaimID)) &&
		(f.CreatedFrom == nil || !row.CreatedAt.Before(*f.CreatedFrom)) && (f.CreatedTo == nil || row.CreatedAt.Before(*f.CreatedTo))
}

// expectedIDs returns the ids of the whole list, in its order.
func expectedIDs(rows []noteRow, caller actor.Actor, f store.Filter, order store.Order) (ids []string) {
	for i := range rows {
		if passes(&rows[i], caller, f) {
			ids = append(ids, store.ResourceMessage.FormatID(rows[i].ID))
		}
	}
	slices.Sort(ids)
	if order != store.OldestFirst {
		slices.Reverse(ids)
	}
	return ids
}

func idsOf(page *store.Page[note]) (ids []string) {
	for _, record := range page.Data {
		ids = append(ids, record.ID)
	}
	return ids
}

// requireList reads every page of a list and compares it with the expected ids.
func requireList(t *testing.T, s *store.Store, notes *store.Collection[noteRow, note], caller actor.Actor, f store.Filter, in store.PageRequest, want []string) {
	t.Helper()
	var got []string
	what := fmt.Sprintf("%s %+v %+v", caller.Kind, f, in)
	for {
		page, err := notes.List(t.Context(), s, caller, f, in)
		require.NoError(t, err, what)
		require.Equal(t, in.Cursor != "", page.HasEarlier, what)
		require.Equal(t, page.HasMore, page.NextCursor != nil, what)
		require.LessOrEqual(t, len(page.Data), in.Limit, what)
		if !page.HasEarlier {
			total, more, err := page.Total(t.Context())
			require.NoError(t, err, what)
			require.Equal(t, len(want), total, what)
			require.False(t, more)
		}
		if got = append(got, idsOf(page)...); !page.HasMore {
			break
		}
		require.Len(t, page.Data, in.Limit, what)
		in.Cursor = *page.NextCursor
	}
	require.Equal(t, want, got, what)
	in.Cursor, in.Last = "", true
	last, err := notes.List(t.Context(), s, caller, f, in)
	require.NoError(t, err, what)
	require.Equal(t, want[max(0, len(want)-in.Limit):], idsOf(last), what)
	require.Equal(t, len(want) > in.Limit, last.HasEarlier, what)
	require.False(t, last.HasMore, what)
}

// Which index serves a list must not change what the list shows.
func TestListsShowWhatAScanOfAllRowsFinds(t *testing.T) {
	t.Parallel()
	s, _ := openNotes(t)
	r := rand.New(rand.NewPCG(14, 1))
	policies, claims := []uuid.UUID{store.NewID(), store.NewID()}, []uuid.UUID{store.NewID(), store.NewID()}
	rows := randomNotes(r, policies, claims)
	insertNotes(t, s, rows...)
	notes := newNotes()
	for range 50 {
		notes.Index, notes.Keys = choose(r, 0, store.IndexByStatus, store.IndexByStatusAndProduct), choose(r, "", "notes")
		caller := choose(r, modeltest.Partner("acme"), modeltest.Partner("globex"), modeltest.Operator(), actor.System())
		f := randomFilter(r, policies, claims)
		if notes.Index == store.IndexByStatus {
			f.Product = "" // records with this index have no product
		}
		in := store.PageRequest{Limit: choose(r, 4, 20, 100), Order: choose(r, "", store.NewestFirst, store.OldestFirst)}
		requireList(t, s, notes, caller, f, in, expectedIDs(rows, caller, f, in.Order))
	}
}
