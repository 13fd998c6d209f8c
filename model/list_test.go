package model_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
)

func TestAListIsStableWhileQuotesComeIn(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	from := b.Now()
	var want []string
	for range 5 {
		want = append([]string{b.Quote("quake-circle", nil).ID}, want...)
	}
	b.ActingAs(b.Globex).Quote("quake-circle", nil)
	filter := store.Filter{Status: "priced", CreatedFrom: &from}
	page := store.PageRequest{Limit: 2}
	var got []string
	for {
		list, err := b.Service.Quotes.List(t.Context(), b.Acme, filter, page)
		require.NoError(t, err)
		for _, quote := range list.Data {
			got = append(got, quote.ID)
		}
		if !list.HasMore {
			require.Nil(t, list.NextCursor)
			break
		}
		page.Cursor = *list.NextCursor
		b.Quote("quake-circle", nil) // newer than the page before
		again := from                // another pointer to the same instant
		filter.CreatedFrom = &again
	}
	require.Equal(t, want, got)

	_, err := b.Service.Quotes.List(t.Context(), b.Acme, store.Filter{Status: "bound"}, page)
	require.Equal(t, apperr.CodeCursorInvalid, modeltest.DomainError(t, err).Code, "a cursor of another filter")
	_, err = b.Service.Quotes.List(t.Context(), b.Acme, store.Filter{Status: "sold"}, store.PageRequest{})
	require.Equal(t, apperr.CodeParameterInvalid, modeltest.DomainError(t, err).Code)
	future := b.Now().Add(time.Hour)
	none, err := b.Service.Quotes.List(t.Context(), b.Acme, store.Filter{CreatedFrom: &future}, store.PageRequest{})
	require.NoError(t, err)
	require.Empty(t, none.Data)
	all, err := b.Service.Quotes.List(t.Context(), b.Operator, store.Filter{}, store.PageRequest{Limit: 100})
	require.NoError(t, err)
	require.Greater(t, len(all.Data), len(want), "operators read the records of all partners")
}
