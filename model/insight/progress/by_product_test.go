package progress_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/insight/progress"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// An operator sees what is owed to every partner by product, a partner its own part, and
// the sums are those of the progress.
func TestOwedByProductAddsUpToTheProgress(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	paid := b.QuoteAndBind("quake-circle", nil)
	b.QuoteAndBind("quake-circle", nil)
	b.ActingAs(b.Globex).QuoteAndBind("quake-circle", nil)
	_, _, err := b.Service.Occurrences.RecordObservation(t.Context(), b.Source, modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"), false)
	require.NoError(t, err)
	b.RunJobs()
	b.RecordPayoutMethod(modeltest.IBANMethod(b.OnlyClaim(paid).ID))
	b.RunJobs()
	id := occurrenceID(t, b)
	read := func(as actor.Actor) []progress.ProductOwed {
		found, err := b.Service.Progress.ByProduct(t.Context(), as, []string{id})
		require.NoError(t, err)
		return found[id]
	}
	usd := func(amount int64) wire.Money { return wire.Money{Amount: amount, Currency: "USD"} }
	acme := progress.ProductOwed{Partner: "acme", Product: "quake-circle", Currency: "USD", ClaimsOpened: 2, Owed: usd(4_000_000), Pending: usd(0), Blocked: usd(2_000_000), Released: usd(2_000_000)}
	globex := progress.ProductOwed{Partner: "globex", Product: "quake-circle", Currency: "USD", ClaimsOpened: 1, Owed: usd(2_000_000), Pending: usd(0), Blocked: usd(2_000_000), Released: usd(0)}
	require.Equal(t, []progress.ProductOwed{acme, globex}, read(b.Operator))
	require.Equal(t, []progress.ProductOwed{globex}, read(b.Globex))
	all, err := b.Service.Progress.Get(t.Context(), b.Operator, id)
	require.NoError(t, err)
	for i, line := range read(b.Operator) {
		require.Equal(t, []wire.Money{all.Lines[i].Owed, all.Lines[i].Pending, all.Lines[i].Blocked, all.Lines[i].Released}, []wire.Money{line.Owed, line.Pending, line.Blocked, line.Released})
	}
	_, err = b.Service.Progress.ByProduct(t.Context(), b.Source, []string{id})
	require.Equal(t, apperr.CodeInsufficientScope, modeltest.DomainError(t, err).Code)
}
