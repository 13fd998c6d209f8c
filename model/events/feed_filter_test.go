package events_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/events"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// newFeed returns a bundle with numbered events of several types and subjects, and acme's.
func newFeed(t *testing.T) (*modeltest.Bundle, []wire.Event) {
	t.Helper()
	b := modeltest.New(t)
	for range 3 {
		b.Quote("rain-excess", nil)
		b.QuoteAndBind("quake-circle", nil)
		b.ActingAs(b.Globex).QuoteAndBind("quake-circle", nil)
	}
	b.Relay()
	page := modeltest.Must(b.Service.Events.List(t.Context(), b.Acme, events.Filter{}, store.PageRequest{Limit: 100}))
	require.False(t, page.HasMore)
	for i, e := range page.Data {
		require.EqualValues(t, i+1, e.Sequence)
		require.Equal(t, "acme", *e.Partner)
	}
	return b, page.Data
}

// sequencesOf returns the sequences of events.
func sequencesOf(list []wire.Event) (all []int64) {
	for _, e := range list {
		all = append(all, e.Sequence)
	}
	return all
}

// An index probe per type and a scan in the order of the sequence must show the same feed.
func TestFeedShowsTheEventsThatPassItsFilter(t *testing.T) {
	t.Parallel()
	b, all := newFeed(t)
	r := rand.New(rand.NewPCG(14, 3))
	types := [][]event.Type{nil, {event.QuoteCreated}, {event.QuoteBound, event.PolicyActivated}, {event.ClaimOpened}, {event.QuoteCreated, event.QuoteCreated, event.QuoteBound}}
	for range 40 {
		f := events.Filter{Types: types[r.IntN(len(types))], After: r.Int64N(int64(len(all) + 2))}
		if r.IntN(3) == 0 {
			f.Subject = all[r.IntN(len(all))].Subject.ID
		}
		caller := b.Acme
		if r.IntN(2) == 0 {
			caller, f.Partner = b.Operator, "acme"
		}
		want := slices.DeleteFunc(slices.Clone(all), func(e wire.Event) bool {
			return e.Sequence <= f.After || f.Subject != "" && e.Subject.ID != f.Subject || len(f.Types) > 0 && !slices.Contains(f.Types, event.Type(e.Type))
		})
		var got []wire.Event
		in := store.PageRequest{Limit: 1 + r.IntN(6)}
		for {
			page := modeltest.Must(b.Service.Events.List(t.Context(), caller, f, in))
			if in.Cursor == "" {
				total, _, err := page.Total(t.Context())
				require.NoError(t, err)
				require.Equal(t, len(want), total, "%+v", f)
			}
			if got = append(got, page.Data...); !page.HasMore {
				break
			}
			in.Cursor = *page.NextCursor
		}
		require.Equal(t, sequencesOf(want), sequencesOf(got), "%+v", f)
	}
}

func TestRepeatedTypeHidesNoEvent(t *testing.T) {
	t.Parallel()
	b, _ := newFeed(t)
	for _, read := range []func(events.Filter) []wire.Event{
		func(f events.Filter) []wire.Event {
			return modeltest.Must(b.Service.Events.List(t.Context(), b.Acme, f, store.PageRequest{Limit: 4})).Data
		},
		func(f events.Filter) []wire.Event {
			return modeltest.Must(modeltest.Must(b.Service.Events.Follow(t.Context(), b.Acme, f)).Next(t.Context()))
		},
	} {
		once := read(events.Filter{Types: []event.Type{event.QuoteCreated}})
		given := []event.Type{event.QuoteCreated, event.QuoteCreated}
		require.Equal(t, sequencesOf(once), sequencesOf(read(events.Filter{Types: given})))
	}
}

func TestEventIsShownToItsPartnerAndOperators(t *testing.T) {
	t.Parallel()
	b, all := newFeed(t)
	first := all[0]
	for _, tc := range []struct {
		caller actor.Actor
		id     string
		code   apperr.Code
	}{
		{b.Acme, first.ID, ""},
		{b.Operator, first.ID, ""},
		{b.Globex, first.ID, apperr.CodeNotFound},
		{b.Acme, "evt_x", apperr.CodeNotFound},
		{b.Acme, "evt_01kajw6p5qfn1t7zbjy0yse3hv", apperr.CodeNotFound},
		{b.Source, first.ID, apperr.CodeInsufficientScope},
	} {
		got, err := b.Service.Events.Get(t.Context(), tc.caller, tc.id)
		if tc.code != "" {
			require.Equal(t, tc.code, apperr.CodeOf(err))
			continue
		}
		require.NoError(t, err)
		require.Equal(t, first, *got)
	}
	found := modeltest.Must(b.Service.Events.ByID(t.Context(), b.Globex, []string{first.ID, all[1].ID}))
	require.Empty(t, found)
	require.Len(t, modeltest.Must(b.Service.Events.ByID(t.Context(), b.Acme, []string{first.ID, all[1].ID})), 2)
}

func TestUnnumberedEventIsNotShown(t *testing.T) {
	t.Parallel()
	b, all := newFeed(t)
	b.Quote("rain-excess", nil)
	page := modeltest.Must(b.Service.Events.List(t.Context(), b.Acme, events.Filter{After: int64(len(all))}, store.PageRequest{}))
	require.Empty(t, page.Data)
	b.Relay()
	page = modeltest.Must(b.Service.Events.List(t.Context(), b.Acme, events.Filter{After: int64(len(all))}, store.PageRequest{}))
	require.Equal(t, []int64{int64(len(all) + 1)}, sequencesOf(page.Data))
}
