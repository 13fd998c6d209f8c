package payouts_test

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
	claim := modeltest.NewClaimAboveApprovalLimit(b)
	paid := modeltest.OnlyPayout(t, b, claim)
	for _, who := range []string{"ann", "ben"} {
		modeltest.Must(modeltest.ApprovePayoutAs(t, b, who, paid))
	}
	b.RunJobs()
	modeltest.Reconcile(t, b, "day", modeltest.ReportLine(b, modeltest.OnlyPayout(t, b, claim), "returned"))
	replacement := b.Claim(claim.ID).Payouts[1]
	require.Nil(t, replacement.PayoutMethodID)
	modeltest.Must(modeltest.ApprovePayoutAs(t, b, "ann", replacement))
	require.Empty(t, voidedLines(t, b), "the approval shows the account and stands")
	b.RecordPayoutMethod(modeltest.BritishIBAN(claim.ID))
	b.RunAccountChecks()
	lines := voidedLines(t, b)
	require.Len(t, lines, 1)
	require.Equal(t, replacement.ID, *lines[0].Subject)
	require.Contains(t, *lines[0].Reason, modeltest.Issuer+"#ann")
	require.True(t, saysVoided(b, claim.ID))
}
