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
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/operations/privacy"
	"parapet/model/receipts/receipt"
	"parapet/model/wire"
)

// readReceipt returns a claim's receipt after its events were numbered, and verifies it
// with the history.
func readReceipt(t *testing.T, b *modeltest.Bundle, claim string, part *int) (*receipt.ClaimPayload, *receipt.Report) {
	t.Helper()
	b.Relay()
	signed, err := b.Service.Receipts.Claim(t.Context(), b.Acme, claim, part)
	require.NoError(t, err)
	report := verifySigned(t, signed)
	payload := new(receipt.ClaimPayload)
	require.NoError(t, json.Unmarshal(signed.Payload, payload))
	return payload, report
}

func verifySigned(t *testing.T, signed *wire.Receipt) *receipt.Report {
	t.Helper()
	text, err := wire.Encode(signed)
	require.NoError(t, err)
	report, err := receipt.Verify(text, receipt.Trust{Keys: modeltest.ReceiptKeys().Public()}, receipt.Data{History: hazard.Shipped()})
	require.NoError(t, err)
	require.Empty(t, report.Differences)
	require.Empty(t, report.NotChecked)
	return report
}

func TestQuoteReceiptVerifiesWithTheHistory(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithShippedProducts())
	quotes := []*wire.Quote{
		b.Quote("quake-circle", nil), b.Quote("cyclone-circle", modeltest.Context{"term": "P90D"}), b.Quote("rain-excess", nil), b.Quote("rain-deficit", nil),
	}
	b.Relay()
	for _, quote := range quotes {
		signed, err := b.Service.Receipts.Quote(t.Context(), b.Acme, quote.ID)
		require.NoError(t, err)
		report := verifySigned(t, signed)
		require.Equal(t, []string{"quote", quote.ID}, []string{report.Type, report.ID})
		require.NotContains(t, string(signed.Payload), "policyholder")
		bare, err := receipt.VerifyPayload(signed.Payload, receipt.Data{})
		require.NoError(t, err)
		require.Empty(t, bare.Differences)
		require.Len(t, bare.NotChecked, 2, "basis and history need the history")
		again, err := b.Service.Receipts.Quote(t.Context(), b.Acme, quote.ID)
		require.NoError(t, err)
		require.Equal(t, signed, again)
	}
	_, err := b.Service.Receipts.Quote(t.Context(), b.Globex, quotes[0].ID)
	require.Equal(t, apperr.CodeNotFound, modeltest.DomainError(t, err).Code)
}

func TestClaimReceiptCarriesTheHashOfTheChain(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	p, report := readReceipt(t, b, claim.ID, nil)
	require.Equal(t, claim.ID, report.ID)
	require.Len(t, p.Parts, 1)
	part := p.Parts[0]
	require.True(t, part.Computable)
	require.Equal(t, []string{"approved", "system"}, []string{part.Outcome, part.DecidedBy})
	require.Equal(t, claim.Amount, part.Amount)
	require.Equal(t, claim.Determination.ReceiptHash, part.Determination.ReceiptHash)
	require.Equal(t, []string{claim.Payouts[0].ID}, []string{part.Payouts[0].ID})
	require.Equal(t, "threshold_met", string(part.Determination.Steps.Reason))
	facts, err := receipt.ParseFacts(p.Readings[0].Facts)
	require.NoError(t, err)
	require.Equal(t, "6.4", facts.Earthquake.Magnitude.String())

	event, err := b.Service.Events.Get(t.Context(), b.Acme, part.Events[len(part.Events)-1].ID)
	require.NoError(t, err)
	require.Equal(t, part.Events[len(part.Events)-1].Hash, event.Hash)
	data, err := wire.Encode(event.Data)
	require.NoError(t, err)
	require.Contains(t, string(data), part.Determination.ReceiptHash, "the chained event carries it")

	_, err = b.Service.Receipts.Claim(t.Context(), b.Globex, claim.ID, nil)
	require.Equal(t, apperr.CodeNotFound, modeltest.DomainError(t, err).Code)
	for _, n := range []int{0, 2} {
		_, err = b.Service.Receipts.Claim(t.Context(), b.Acme, claim.ID, &n)
		refused := modeltest.DomainError(t, err)
		require.Equal(t, apperr.CodeParameterInvalid, refused.Code)
		require.Equal(t, "/part", refused.Fields[0].Pointer)
	}
}

// A storm without an ATCF id is declined when an earlier fix, in another basin, is reported:
// the receipt has the id and all fixes, so that anyone can see why.
func TestReceiptOfAStormOfAnotherBasin(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("cyclone-circle", nil)
	b.AdvanceClock(modeltest.Day)
	first := modeltest.Fix("storm-x", b.Now().Add(-6*time.Hour), hazard.Point{Latitude: 12, Longitude: -95}, "40")
	over := modeltest.Fix("storm-x", b.Now(), modeltest.Miami, "140")
	early := over
	early.Stage = trigger.Preliminary
	b.Observe(early)
	b.RunJobs()
	b.Observe(first, over)
	b.AdvanceClock(modeltest.Day)
	b.Sweep()
	b.RunJobs()
	p, _ := readReceipt(t, b, b.OnlyClaim(policy).ID, nil)
	part := p.Parts[0]
	require.True(t, part.Computable)
	require.Equal(t, "declined", part.Outcome)
	require.Equal(t, []string{"outside_place"}, part.ReasonCodes)
	hashed, err := receipt.ParseHashed(part.Determination.Hashed)
	require.NoError(t, err)
	require.Equal(t, receipt.TriggerVersion, hashed.TriggerVersion)
	facts, err := receipt.ParseFacts(p.Readings[0].Facts)
	require.NoError(t, err)
	require.Equal(t, "storm-x", facts.SourceEventID)
	require.Equal(t, *first.Location, facts.Storm.Fixes[0].Location)
}

func TestGrowingClaimHasAReceiptForEachPart(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("cyclone-circle", nil)
	modeltest.ObserveFix(b, "AL01", "70", trigger.Final)
	first, _ := readReceipt(t, b, b.OnlyClaim(policy).ID, nil)
	modeltest.ObserveFix(b, "AL01", "70", trigger.Final)
	modeltest.ObserveFix(b, "AL01", "140", trigger.Final)
	claim := b.OnlyClaim(policy)
	one, _ := readReceipt(t, b, claim.ID, new(1))
	require.Equal(t, first, one, "an earlier part never changes")
	both, _ := readReceipt(t, b, claim.ID, nil)
	require.Len(t, both.Parts, 2)
	require.Len(t, both.Readings, 2, "each version once")
	require.Equal(t, int64(8_000_000), both.Parts[1].Amount.Amount)
	require.Equal(t, int64(2_000_000), both.Parts[1].OwedBefore.Amount)
	require.Equal(t, both.Parts[0].Payouts, both.Parts[1].PaidBefore)
	require.Equal(t, claim.Determination.ReceiptHash, both.Parts[1].Determination.ReceiptHash)
}

func TestReceiptsOfStations(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("rain-excess", modeltest.Context{"days": 3})
	first := modeltest.FirstWholeDay(policy.EffectiveAt.AddDate(0, 0, 8))
	b.AdvanceClock(20 * 24 * time.Hour)
	modeltest.ObserveRain(b, policy, first, "10", "45", "60", "40", "35", "0", "0", "0")
	claim := b.OnlyClaim(policy)
	p, _ := readReceipt(t, b, claim.ID, nil)
	facts, err := receipt.ParseFacts(p.Readings[0].Facts)
	require.NoError(t, err)
	require.Len(t, facts.Station.Days, 5)
	require.Len(t, facts.Observations, 5+len(facts.Station.DaysAfter))
}

func TestDecisionsOfOperatorsAreNotComputable(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	claim := modeltest.OpenApprovalClaim(t, b, policy, modeltest.NewUSD(150_000))
	_, err := b.Service.Receipts.Claim(t.Context(), b.Acme, claim.ID, nil)
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code)
	_, err = b.Service.Adjudication.Decide(t.Context(), b.Operator, adjudication.DecisionRequest{
		ClaimID: claim.ID, Outcome: claims.ClaimApproved, ReasonCodes: []claims.ReasonCode{"goodwill"}, Note: new("A private note."), Message: new("We pay."),
	})
	require.NoError(t, err)
	p, report := readReceipt(t, b, claim.ID, nil)
	require.False(t, p.Parts[0].Computable)
	require.Equal(t, []string{"goodwill"}, p.Parts[0].ReasonCodes)
	require.Nil(t, p.Parts[0].Determination)
	require.Equal(t, int64(150_000), p.Parts[0].Amount.Amount)
	require.Equal(t, []receipt.Remark{{Pointer: "/parts/0", Reason: "decided by the operator: goodwill"}}, report.Decided)

	// The next claim of the policy has less of the limit.
	modeltest.ObserveQuake(b, "us2", "7.4", trigger.Final)
	for _, later := range b.Claims(policy) {
		if later.Origin == "trigger" {
			p, _ = readReceipt(t, b, later.ID, nil)
		}
	}
	require.Equal(t, policy.Cover.Limit.Amount-150_000, p.Parts[0].LimitBefore.Amount)
	require.Equal(t, []string{"threshold_met", "limit_exhausted"}, p.Parts[0].ReasonCodes)
}

// Nothing that identifies a person is in a receipt, so erasure changes none.
func TestErasureChangesNoReceipt(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	b.PlayFullStory()
	list := modeltest.Must(b.Service.Claims.List(t.Context(), b.Acme, store.Filter{}, store.PageRequest{}))
	before := make(map[string]*receipt.ClaimPayload)
	for _, claim := range list.Data {
		if claim.Decision != nil && claim.Status != "deferred" {
			before[claim.ID], _ = readReceipt(t, b, claim.ID, nil)
		}
	}
	require.GreaterOrEqual(t, len(before), 3)
	b.AdvanceClock(500 * 24 * time.Hour)
	b.Sweep()
	erased := 0
	for _, claim := range list.Data {
		if _, err := b.Service.Privacy.ErasePolicyholder(t.Context(), b.Operator, privacy.ErasureRequest{Partner: "acme", PolicyID: claim.PolicyID, Reason: "On request."}); err == nil {
			erased++
		}
	}
	require.Positive(t, erased)
	for id, payload := range before {
		after, _ := readReceipt(t, b, id, nil)
		require.Equal(t, payload, after)
	}
}
