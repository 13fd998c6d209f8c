package payouts_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
)

func TestSecondAnswerOfAnAccountCheckChangesNothing(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	method := b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunAccountChecks()
	before := b.CountRows()
	require.NoError(t, b.Service.Payouts.RecordVerification(t.Context(), "acme", method.ID, modeltest.RailName, "AC04", false))
	require.Equal(t, before, b.CountRows())
	b.RunJobs()
	require.Equal(t, "released", modeltest.OnlyPayout(t, b, claim).Status)
}
