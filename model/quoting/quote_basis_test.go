package quoting_test

import (
	"testing"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/quoting/pricing"
	"parapet/model/underwriting"
)

// weighed reads the whole list in pages of the given size.
func weighed(t *testing.T, b *modeltest.Bundle, quote string, in store.PageRequest) (all []pricing.WeighedEvent) {
	t.Helper()
	for {
		page, err := b.Service.Quotes.GetBasis(t.Context(), b.Acme, quote, in)
		require.NoError(t, err)
		all = append(all, page.Data...)
		if !page.HasMore {
			return all
		}
		in.Cursor = *page.NextCursor
	}
}

func TestQuoteBasisListsTheEventsThatAddUpToItsSums(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	for _, product := range []string{"quake-circle", "cyclone-circle", "rain-excess", "rain-deficit", "heat-days", "cyclone-pressure"} {
		quote := b.Quote(product, nil)
		all := weighed(t, b, quote.ID, store.PageRequest{Limit: 7})
		require.Len(t, all, quote.Basis.WeighedEvents, product)
		require.Equal(t, all, weighed(t, b, quote.ID, store.PageRequest{Limit: store.MaxPageSize}))
		var squares, weights decimal.Decimal
		for i, event := range all {
			squares, weights = squares.Add(event.ShareSquare), weights.Add(event.Weight)
			require.True(t, i == 0 || !event.OccurredAt.After(all[i-1].OccurredAt), "newest first")
		}
		require.True(t, squares.Equal(quote.Basis.SquareSum), product)
		require.True(t, weights.Equal(quote.Basis.WeightSum), product)
		oldest := weighed(t, b, quote.ID, store.PageRequest{Limit: 50, Order: store.OldestFirst})
		require.Equal(t, all[len(all)-1], oldest[0])
		require.Len(t, oldest, len(all))
	}
}

func TestQuoteBasisOfAnotherEditionOfTheData(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	quote := b.Quote("quake-circle", nil)
	_, err := b.Service.Quotes.GetBasis(t.Context(), b.Globex, quote.ID, store.PageRequest{})
	require.Equal(t, apperr.CodeNotFound, modeltest.DomainError(t, err).Code)
	_, err = b.Service.Quotes.GetBasis(t.Context(), b.Acme, quote.ID, store.PageRequest{Limit: 101})
	require.Equal(t, apperr.CodeParameterInvalid, modeltest.DomainError(t, err).Code)
	_, err = b.Service.Quotes.GetBasis(t.Context(), b.Acme, quote.ID, store.PageRequest{Cursor: "made-up"})
	require.Equal(t, apperr.CodeCursorInvalid, modeltest.DomainError(t, err).Code)
}

// TestQuoteOfAnotherEditionKeepsItsSums reads quotes that were priced on other data, and
// by a later formula, as after a restart with an older release.
func TestQuoteOfAnotherEditionKeepsItsSums(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"data with the digest sha256:of-last-year": `{"dataset_digest": "sha256:of-last-year"}`,
		"formula 3 and data with the digest ":      `{"formula": 3}`,
	} {
		for _, product := range []string{"quake-circle", "cyclone-circle", "rain-excess"} {
			t.Run(product+" "+name, func(t *testing.T) {
				t.Parallel()
				b := modeltest.New(t, modeltest.WithoutChecks())
				b.StorePlain() // as an older release stored it
				quote := b.Quote(product, nil)
				_, err := b.DB.Pool.Exec(t.Context(), "update quotes set basis = (basis::jsonb || $1)::json", change)
				require.NoError(t, err)
				_, err = b.Service.Quotes.GetBasis(t.Context(), b.Acme, quote.ID, store.PageRequest{})
				require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code)
				require.ErrorContains(t, err, name)
				require.ErrorContains(t, err, "what is known here is formula 2 and "+quote.Basis.DatasetDigest)
				read, err := b.Service.Quotes.Get(t.Context(), b.Acme, quote.ID)
				require.NoError(t, err)
				require.Equal(t, quote.Price, read.Price)
				require.Equal(t, quote.Basis.WeightSum, read.Basis.WeightSum)
				require.Len(t, read.History, len(quote.History))
				_, err = b.Service.Policies.Bind(t.Context(), b.Acme, underwriting.BindRequest{QuoteID: quote.ID})
				require.NoError(t, err)
			})
		}
	}
}

// TestQuoteOfTheOldFormulaStaysReadable reads the weighed events of such a quote, which
// are its stored history.
func TestQuoteOfTheOldFormulaStaysReadable(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	b.StorePlain() // as an older release stored it
	quote := b.Quote("quake-circle", nil)
	_, err := b.DB.Pool.Exec(t.Context(), `update quotes set basis = '{"method":"burn_analysis","dataset":"USGS/NEIC significant earthquakes 1965-2016","first_year":1965,"last_year":2016,"years":52,
		"events_in_place":52,"paying_events":16,"mean_severity":"3187500","annual_loss_sum":"45000000","annual_loss_square_sum":"301000000000000","notes":[]}'`)
	require.NoError(t, err)
	read, err := b.Service.Quotes.Get(t.Context(), b.Acme, quote.ID)
	require.NoError(t, err)
	require.Equal(t, "3187500", read.Basis.MeanSeverity.String())
	require.Zero(t, read.Basis.Formula)
	all := weighed(t, b, quote.ID, store.PageRequest{Limit: 100})
	require.Len(t, all, len(read.History))
	require.Equal(t, read.History[0].SourceEventID, all[0].ID)
	require.True(t, all[0].Share.Equal(read.History[0].Factor))
	require.Equal(t, "1", all[0].Weight.String())
}
