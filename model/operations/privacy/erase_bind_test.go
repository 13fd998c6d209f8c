package privacy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/operations/privacy"
	"parapet/model/underwriting"
)

// TestErasureAndBindOfOneQuoteWaitForEachOther lets both wait for the quote, in either order.
func TestErasureAndBindOfOneQuoteWaitForEachOther(t *testing.T) {
	t.Parallel()
	for name, bindFirst := range map[string]bool{"bind first": true, "erasure first": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := modeltest.New(t, modeltest.WithConnections(12))
			quote := b.Quote("quake-circle", modeltest.Context{"policyholder": map[string]any{"name": "Ann Person", "email": "ann@example.com"}})
			modeltest.Must(b.Service.Events.Relay(t.Context()))
			bound, erased := make(chan error, 1), make(chan error, 1)
			bind := func() {
				_, err := b.Service.Policies.Bind(t.Context(), b.Acme, underwriting.BindRequest{QuoteID: quote.ID})
				bound <- err
			}
			erase := func() {
				_, err := b.Service.Privacy.ErasePolicyholder(t.Context(), b.Operator, privacy.ErasureRequest{Partner: "acme", Email: "ann@example.com", Reason: "Asked by letter."})
				erased <- err
			}
			both := []func(){erase, bind}
			if bindFirst {
				both = []func(){bind, erase}
			}
			quotes := b.BlockRows("quotes")
			for i, run := range both {
				go run()
				quotes.AwaitWaiters(i + 1)
			}
			quotes.Release()
			require.NoError(t, <-bound)
			err := <-erased
			if bindFirst {
				require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code, "the policy is in force")
				return
			}
			require.NoError(t, err)
			require.Empty(t, findTextInDatabase(t, b, "ann@example.com"))
		})
	}
}
