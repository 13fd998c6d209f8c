package model_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
)

// TestNewAccountOfAReplacementVoidsApprovalsOfTheOldOne approves the account that returned
// the money, which the replacement does not show before, and then records another one.
func TestNewAccountOfAReplacementVoidsApprovalsOfTheOldOne(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := newClaimAboveApprovalLimit(b)
	paid := only(t, b, claim)
	for _, who := range []string{"ann", "ben"} {
		must(approvePayoutAs(t, b, who, paid))
	}
	b.RunJobs()
	reconcile(t, b, "day", line(b, only(t, b, claim), "returned"))
	replacement := b.Claim(claim.ID).Payouts[1]
	require.Nil(t, replacement.PayoutMethodID)
	must(approvePayoutAs(t, b, "ann", replacement))
	require.Empty(t, voidedLines(t, b), "the approval shows the account and stands")
	b.RecordPayoutMethod(britishIBAN(claim.ID))
	b.RunAccountChecks()
	lines := voidedLines(t, b)
	require.Len(t, lines, 1)
	require.Equal(t, replacement.ID, *lines[0].Subject)
	require.Contains(t, *lines[0].Reason, modeltest.Issuer+"#ann")
	require.True(t, saysVoided(b, claim.ID))
}
