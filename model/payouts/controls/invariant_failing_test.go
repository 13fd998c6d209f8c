package controls_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
)

// TestInvariantThatBeginsToFailKeepsTheTimeOfItsLastFullCheck lets an invariant fail after
// one full check.
func TestInvariantThatBeginsToFailKeepsTheTimeOfItsLastFullCheck(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	b.QuoteAndBind("quake-circle", nil)
	const view = "create or replace view inv_fails as select id as subject, partner, (1 / (version - %d))::text as message from policies where version < 0 or %t"
	modeltest.ExecSQL(t, b, fmt.Sprintf(view, 1, false))
	require.NoError(t, checkFully(t, b, 1000))
	before := fullyCheckedAt(t, b)
	modeltest.ExecSQL(t, b, fmt.Sprintf(view, 1, true))
	require.ErrorContains(t, checkFully(t, b, 1000), "inv_fails")
	after := fullyCheckedAt(t, b)
	require.Equal(t, before["inv_fails"], after["inv_fails"])
	require.True(t, after["inv_paid_once"].After(before["inv_paid_once"]))
}
