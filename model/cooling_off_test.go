package model_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
)

// TestChainOfUnverifiedAccountsStillCoolsOff replaces a verified account twice before the
// one in between was ever checked: the last account took the verified one's place all the
// same.
func TestChainOfUnverifiedAccountsStillCoolsOff(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := owed(b)
	b.Record(modeltest.IBAN(claim.ID))
	b.Verify()
	b.Record(british(claim.ID))
	last := modeltest.IBAN(claim.ID)
	last.Number.IBAN.IBAN = "DE14370400440000000002"
	b.Record(last)
	b.Work()
	payout := only(t, b, claim)
	require.Empty(t, b.Rail.Orders)
	require.Equal(t, "pending", payout.Status)
	require.WithinDuration(t, b.Now().Add(24*time.Hour), *payout.NextAttemptAt, time.Minute)
	b.After(24*time.Hour + time.Minute)
	b.Sweep()
	b.Work()
	require.Len(t, b.Rail.Orders, 1)
	require.Equal(t, last.Number.IBAN.IBAN, b.Rail.Orders[0].Number.IBAN.IBAN)
}
