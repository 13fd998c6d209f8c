package quoting_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
)

// TestOfferIsStoredOnce reads a quote whose large members are in one compressed column,
// and one of a database that an older release may read.
func TestOfferIsStoredOnce(t *testing.T) {
	t.Parallel()
	for name, plain := range map[string]bool{"compressed": false, "readable by older releases": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := modeltest.New(t)
			if plain {
				b.StorePlain()
			}
			quote := b.Quote("quake-circle", nil)
			var columns, bytes int
			require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select num_nonnulls(cover, price, basis, history), coalesce(length(offer), 0) from quotes").Scan(&columns, &bytes))
			if plain {
				require.Equal(t, 4, columns)
				require.Zero(t, bytes)
			} else {
				require.Zero(t, columns)
				require.Positive(t, bytes)
				require.Less(t, bytes, 1_500)
			}
			read, err := b.Service.Quotes.Get(t.Context(), b.Acme, quote.ID)
			require.NoError(t, err)
			require.Equal(t, quote.Cover, read.Cover)
			require.Equal(t, quote.Price, read.Price)
			require.Equal(t, quote.Basis, read.Basis)
			require.Equal(t, quote.History, read.History)
			require.Equal(t, quote.Cover, b.Bind(quote).Cover)
		})
	}
}
