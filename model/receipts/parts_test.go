package receipts_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims"
	"parapet/model/claims/adjudication"
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

// bindMeasured binds a policy that two sources decide.
func bindMeasured(b *modeltest.Bundle, version int, rule, fallback string) *wire.Policy {
	b.PublishMeasured("quake-circle", `measurement:
  sources:
    - {source: usgs, stage: final}
    - {source: emsc, stage: final}
  rule: `+rule+`
  wait: P1D
  fallback: `+fallback+`
  long_stop: P10D
  challenge_window: P30D

`, version)
	return b.QuoteAndBind("quake-circle", nil)
}

// reportMeasured records a source's magnitude of one earthquake, and runs the jobs.
func reportMeasured(b *modeltest.Bundle, source, magnitude string, at time.Time, revision int64) {
	in := modeltest.Quake(source+"-1", at, modeltest.Epicentre, magnitude)
	in.Source, in.Revision = source, &revision
	b.Observe(in)
	b.RunJobs()
}

// The receipt of a claim that several sources decided has the readings of all of them:
// what the rule made of them is computed again.
func TestReceiptOfSeveralSourcesProvesTheSelection(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule, fallback, usgs, emsc, selected string
		amount                               int64
	}{
		{"{kind: best_of}", "operator", "6.1", "6.6", "emsc", 5_000_000},
		{"{kind: worst_of}", "operator", "6.1", "6.6", "usgs", 2_000_000},
		{"{kind: first_of}", "operator", "6.1", "6.6", "usgs", 2_000_000},
		{`{kind: m_of_n, m: 2, tolerance: {value: "0.5", unit: mw}}`, "operator", "6.1", "6.6", "usgs", 2_000_000},
		{`{kind: m_of_n, m: 2, tolerance: {value: "0.4", unit: mw}}`, "next_rank", "6.1", "6.6", "usgs", 2_000_000},
	} {
		b := modeltest.New(t)
		policy := bindMeasured(b, 1001, c.rule, c.fallback)
		b.AdvanceClock(time.Hour)
		at := b.Now().Add(-time.Minute)
		reportMeasured(b, "emsc", c.emsc, at, 1)
		reportMeasured(b, "usgs", c.usgs, at, 1)
		b.AdvanceClock(25 * time.Hour)
		b.Sweep()
		b.RunJobs()
		claim := b.OnlyClaim(policy)
		require.Equal(t, c.amount, claim.Amount.Amount, c.rule)
		require.Equal(t, c.selected, *claim.Determination.Measurement.SelectedSource, c.rule)
		reportMeasured(b, c.selected, "7.4", at, 2) // adds a part; the source stays
		p, _ := readReceipt(t, b, claim.ID, nil)
		require.Len(t, p.Parts, 2, c.rule)
		require.True(t, p.Parts[0].Computable && p.Parts[1].Computable, c.rule)
		require.Len(t, p.Readings, 3, c.rule)
		signed, err := b.Service.Receipts.Claim(t.Context(), b.Acme, claim.ID, nil)
		require.NoError(t, err)
		requireMutationsNamed(t, signed)
	}
}

// A claim that the long stop declined has the readings that were waited for.
func TestReceiptOfALongStop(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := bindMeasured(b, 1001, `{kind: m_of_n, m: 2, tolerance: {value: "0.4", unit: mw}}`, "none")
	b.AdvanceClock(time.Hour)
	reportMeasured(b, "emsc", "6.6", b.Now().Add(-time.Minute), 1)
	for range 11 {
		b.AdvanceClock(24 * time.Hour)
		b.Sweep()
		b.RunJobs()
	}
	claim := b.OnlyClaim(policy)
	require.Equal(t, []string{"long_stop_reached"}, claim.Decision.ReasonCodes)
	p, _ := readReceipt(t, b, claim.ID, nil)
	require.True(t, p.Parts[0].Computable)
	require.Nil(t, claim.Determination.Measurement.SelectedSource)
}
