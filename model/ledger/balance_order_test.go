package ledger_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/ledger"
	"parapet/model/modeltest"
)

func TestBalancesOfAllPartnersAreOrderedByPartner(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	b.ActingAs(b.Globex).QuoteAndBind("quake-circle", nil)
	b.QuoteAndBind("quake-circle", nil)
	var partners []string
	for _, balance := range modeltest.Must(b.Service.Ledger.Balances(t.Context(), b.Operator, ledger.Filter{}, true, nil)) {
		partners = append(partners, *balance.Partner)
	}
	require.Equal(t, []string{"acme", "acme", "acme", "acme", "globex", "globex", "globex", "globex"}, partners)
}
