package payouts_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
)

// TestChainOfUnverifiedPayoutMethodsStillCoolsOff replaces a verified account twice; the
// account in between was never checked. The last account still replaces the verified one
// and must cool off.
func TestChainOfUnverifiedPayoutMethodsStillCoolsOff(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunAccountChecks()
	b.RecordPayoutMethod(modeltest.BritishIBAN(claim.ID))
	last := modeltest.IBANMethod(claim.ID)
	last.Number.IBAN.IBAN = "DE14370400440000000002"
	b.RecordPayoutMethod(last)
	b.RunJobs()
	payout := modeltest.OnlyPayout(t, b, claim)
	require.Empty(t, b.Rail.Orders)
	require.Equal(t, "pending", payout.Status)
	require.WithinDuration(t, b.Now().Add(24*time.Hour), *payout.NextAttemptAt, time.Minute)
	b.AdvanceClock(24*time.Hour + time.Minute)
	b.Sweep()
	b.RunJobs()
	require.Len(t, b.Rail.Orders, 1)
	require.Equal(t, last.Number.IBAN.IBAN, b.Rail.Orders[0].Number.IBAN.IBAN)
}
