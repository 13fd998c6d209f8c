package receipts_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard/trigger"
	"parapet/model/modeltest"
)

// A claim that waited is decided by the final values, and its receipt has those.
func TestReceiptOfADeferredClaimHasTheDecidingDetermination(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ preliminary, final, status string }{
		{"6.6", "7.4", "approved"}, {"6.4", "5.2", "declined"}, {"6.4", "6.4", "approved"},
	} {
		b := modeltest.New(t)
		policy := b.QuoteAndBind("quake-circle", nil)
		report := modeltest.ObserveQuake(b, "us1", c.preliminary, trigger.Preliminary)
		require.Equal(t, "deferred", b.OnlyClaim(policy).Status)
		modeltest.ReportFinal(b, report, c.final)
		claim := b.OnlyClaim(policy)
		require.Equal(t, c.status, claim.Status)
		p, _ := readReceipt(t, b, claim.ID, nil)
		require.Len(t, p.Parts, 1)
		require.True(t, p.Parts[0].Computable)
		require.Equal(t, claim.Determination.ReceiptHash, p.Parts[0].Determination.ReceiptHash)
		require.Equal(t, claim.Amount, p.Parts[0].Amount)
		require.Equal(t, claim.Decision.ReasonCodes, p.Parts[0].ReasonCodes)
	}
}
