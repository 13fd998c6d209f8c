package receipts_test

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"parapet/model/claims"
	"parapet/model/claims/adjudication"
	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/modeltest"
	"parapet/model/receipts/receipt"
	"parapet/model/wire"
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

// openDecidedClaim approves an amount of the policy's limit for another reason.
func openDecidedClaim(t *testing.T, b *modeltest.Bundle, policy *wire.Policy, amount int64) {
	t.Helper()
	claim := modeltest.OpenApprovalClaim(t, b, policy, modeltest.NewUSD(amount))
	_, err := b.Service.Adjudication.Decide(t.Context(), b.Operator, adjudication.DecisionRequest{ClaimID: claim.ID, Outcome: claims.ClaimApproved, ReasonCodes: []claims.ReasonCode{"goodwill"}})
	require.NoError(t, err)
}

// A further amount that the limit cuts has the reason, as a first one has.
func TestReceiptOfAGrowingClaimThatExhaustsTheLimit(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("cyclone-circle", nil)
	openDecidedClaim(t, b, policy, 5_000_000)
	for _, wind := range []string{"70", "70", "140"} {
		modeltest.ObserveFix(b, "AL01", wind, trigger.Final)
	}
	claim := b.Claims(policy)[1]
	p, _ := readReceipt(t, b, claim.ID, nil)
	require.Len(t, p.Parts, 2)
	require.Equal(t, []string{"threshold_met"}, p.Parts[0].ReasonCodes)
	require.Equal(t, []string{"threshold_met", "limit_exhausted"}, p.Parts[1].ReasonCodes)
	require.Equal(t, int64(3_000_000), p.Parts[1].Amount.Amount, "8,000,000 more are owed")
	require.Equal(t, p.Parts[1].LimitBefore, *p.Parts[1].Amount)
	require.True(t, p.Parts[1].Computable)
}

// After a merge a further amount is less what the other claim owed: the part says so.
func TestReceiptOfAGrowingClaimAfterAMerge(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("cyclone-circle", nil)
	modeltest.ObserveFix(b, "AL01", "70", trigger.Final)
	b.AdvanceClock(48 * time.Hour)
	modeltest.ObserveFix(b, "AL02", "70", trigger.Final)
	require.Len(t, b.Claims(policy), 2)
	modeltest.ChangeRows(t, b, "update occurrences set merged_into = (select id from occurrences where source_event_id = 'AL01') where source_event_id = 'AL02'")
	modeltest.ChangeRows(t, b, "update observations set occurrence_id = (select id from occurrences where source_event_id = 'AL01')")
	modeltest.ChangeRows(t, b, "update occurrence_aliases set occurrence_id = (select id from occurrences where source_event_id = 'AL01')")
	modeltest.ObserveFix(b, "AL01", "115", trigger.Final)
	claims := b.Claims(policy)
	p, report := readReceipt(t, b, claims[0].ID, nil)
	require.Len(t, p.Parts, 2)
	require.Equal(t, []string{claims[1].ID}, p.Parts[1].OtherClaims)
	require.False(t, p.Parts[1].Computable)
	require.Equal(t, []receipt.Remark{{Pointer: "/parts/1", Reason: "less what other claims for the same event owed: " + claims[1].ID}}, report.Decided)
}

// The receipt of a claim that several sources decided proves the determination of the
// selected one, and says that the selection itself is not proved.
func TestReceiptOfSeveralSourcesNamesWhatItDoesNotProve(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	b.PublishMeasured("quake-circle", `measurement:
  sources:
    - {source: usgs, stage: final}
    - {source: emsc, stage: final}
  rule: {kind: best_of}
  wait: P1D
  fallback: operator
  long_stop: P10D
  challenge_window: P30D

`, 1001)
	policy := b.QuoteAndBind("quake-circle", nil)
	b.AdvanceClock(time.Hour)
	for source, magnitude := range map[string]string{"usgs": "6.1", "emsc": "6.6"} {
		in := modeltest.Quake(source+"-1", b.Now().Add(-time.Minute), modeltest.Epicentre, magnitude)
		in.Source = source
		b.Observe(in)
		b.RunJobs()
	}
	claim := b.OnlyClaim(policy)
	require.Equal(t, "approved", claim.Status)
	b.Relay()
	signed, err := b.Service.Receipts.Claim(t.Context(), b.Acme, claim.ID, nil)
	require.NoError(t, err)
	report, err := receipt.VerifyPayload(signed.Payload, receipt.Data{History: hazard.Shipped()})
	require.NoError(t, err)
	require.Empty(t, report.Differences)
	require.Len(t, report.NotChecked, 1)
	require.Equal(t, "/parts/0/determination/hashed/source", report.NotChecked[0].Pointer)
	payload := new(receipt.ClaimPayload)
	require.NoError(t, json.Unmarshal(signed.Payload, payload))
	require.True(t, payload.Parts[0].Computable)
	require.Equal(t, int64(5_000_000), payload.Parts[0].Amount.Amount)
}
