package challenge_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims"
	"parapet/model/claims/adjudication"
	"parapet/model/claims/challenge"
	"parapet/model/events"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/operations/privacy"
	"parapet/model/receipts/receipt"
	"parapet/model/wire"
)

func open(t *testing.T, b *modeltest.Bundle, claim string) (*wire.Claim, error) {
	t.Helper()
	return b.Service.Challenges.Open(t.Context(), b.Acme, challenge.Request{ClaimID: claim, Reason: "Our own instrument measured more."})
}

func decide(t *testing.T, b *modeltest.Bundle, in challenge.DecisionRequest) (*wire.Claim, error) {
	t.Helper()
	return b.Service.Challenges.Decide(t.Context(), b.Operator, in)
}

// requireConflict requires state_conflict with a sentence.
func requireConflict(t *testing.T, err error, sentence string) {
	t.Helper()
	e := modeltest.DomainError(t, err)
	require.Equal(t, apperr.CodeStateConflict, e.Code)
	require.Contains(t, e.Error(), sentence)
}

// newDeclinedClaim returns a claim whose final values do not meet the trigger.
func newDeclinedClaim(t *testing.T, b *modeltest.Bundle) *wire.Claim {
	t.Helper()
	policy := b.QuoteAndBind("quake-circle", nil)
	report := modeltest.ObserveQuake(b, "us1", "6.4", trigger.Preliminary)
	modeltest.ReportFinal(b, report, "5.8")
	claim := b.OnlyClaim(policy)
	require.Equal(t, "declined", claim.Status)
	return claim
}

func TestRejectedChallengeChangesNothing(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	before := modeltest.NewApprovedClaim(b)
	challenged, err := open(t, b, before.ID)
	require.NoError(t, err)
	require.Equal(t, "open", challenged.MeasurementState.Challenge.Status)
	require.Equal(t, "approved", challenged.Status)
	_, err = open(t, b, before.ID)
	requireConflict(t, err, "is open since")
	_, err = decide(t, b, challenge.DecisionRequest{ClaimID: before.ID, Outcome: challenge.Accepted})
	require.Equal(t, []string{"/further_amount"}, modeltest.FieldPointers(modeltest.DomainError(t, err)))

	rejected, err := decide(t, b, challenge.DecisionRequest{ClaimID: before.ID, Outcome: challenge.Rejected, Message: new("The agency confirmed its value."), Note: new("Checked.")})
	require.NoError(t, err)
	require.Equal(t, []string{"challenge_rejected"}, rejected.MeasurementState.Challenge.ReasonCodes)
	require.Equal(t, before.Amount, rejected.Amount)
	require.Equal(t, before.Decision, rejected.Decision)
	require.Len(t, rejected.Payouts, 1)
	kinds := b.TimelineKinds(before.ID)
	require.Equal(t, []string{"claim.message_added", "claim.challenged", "claim.message_added", "claim.challenge_decided"}, kinds[len(kinds)-4:])
	_, err = decide(t, b, challenge.DecisionRequest{ClaimID: before.ID, Outcome: challenge.Rejected})
	requireConflict(t, err, "no open challenge")
	b.CheckInvariants()
}

func TestChallengeEndsWithItsWindow(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	_, err := b.Service.Challenges.Open(t.Context(), b.Globex, challenge.Request{ClaimID: claim.ID, Reason: "It is ours."})
	require.Equal(t, apperr.CodeNotFound, modeltest.DomainError(t, err).Code)
	_, err = b.Service.Challenges.Open(t.Context(), b.Acme, challenge.Request{ClaimID: claim.ID, Reason: " ", AttachmentIDs: []string{"att_1"}})
	require.Equal(t, []string{"/reason"}, modeltest.FieldPointers(modeltest.DomainError(t, err)))
	_, err = b.Service.Challenges.Open(t.Context(), b.Acme, challenge.Request{ClaimID: claim.ID, Reason: "See the photo.", AttachmentIDs: []string{"att_01kjq000000000000000000011"}})
	require.Equal(t, apperr.CodeNotFound, modeltest.DomainError(t, err).Code)

	b.AdvanceClock(30*24*time.Hour - time.Minute)
	_, err = open(t, b, claim.ID)
	require.NoError(t, err)
	_, err = decide(t, b, challenge.DecisionRequest{ClaimID: claim.ID, Outcome: challenge.Rejected})
	require.NoError(t, err)
	b.AdvanceClock(2 * time.Minute)
	_, err = open(t, b, claim.ID)
	requireConflict(t, err, "could be challenged until")

	approval := modeltest.OpenApprovalClaim(t, b, b.QuoteAndBind("quake-circle", nil), modeltest.NewUSD(100))
	_, err = open(t, b, approval.ID)
	requireConflict(t, err, "origin trigger")
	waits := b.QuoteAndBind("quake-circle", nil)
	modeltest.ObserveQuake(b, "us9", "6.4", trigger.Preliminary)
	_, err = open(t, b, b.OnlyClaim(waits).ID)
	requireConflict(t, err, "only a decision can be challenged")
}

func TestAcceptedChallengeReopensADeclinedClaim(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := newDeclinedClaim(t, b)
	_, err := open(t, b, claim.ID)
	require.NoError(t, err)
	_, err = decide(t, b, challenge.DecisionRequest{ClaimID: claim.ID, Outcome: challenge.Accepted, FurtherAmount: modeltest.NewUSD(5)})
	require.Equal(t, []string{"/further_amount"}, modeltest.FieldPointers(modeltest.DomainError(t, err)))
	reopened, err := decide(t, b, challenge.DecisionRequest{ClaimID: claim.ID, Outcome: challenge.Accepted})
	require.NoError(t, err)
	require.Equal(t, "deferred", reopened.Status)
	require.Equal(t, []string{"challenge_accepted"}, reopened.Decision.ReasonCodes)
	require.Equal(t, "accepted", reopened.MeasurementState.Challenge.Status)
	kinds := b.TimelineKinds(claim.ID)
	require.Equal(t, []string{"claim.challenge_decided", "claim.reopened"}, kinds[len(kinds)-2:])
	b.AdvanceClock(25 * time.Hour)
	b.Sweep()
	b.RunJobs()
	require.Equal(t, "deferred", b.Claim(claim.ID).Status, "only an operator decides it")
	b.CheckInvariants()

	approved, err := b.Service.Adjudication.Decide(t.Context(), b.Operator, adjudication.DecisionRequest{ClaimID: claim.ID, Outcome: claims.ClaimApproved, Amount: modeltest.NewUSD(2_000_000)})
	require.NoError(t, err)
	require.Equal(t, int64(2_000_000), approved.Amount.Amount)
	require.Len(t, approved.Payouts, 1)
	b.CheckInvariants()
	b.Relay()
	signed, err := b.Service.Receipts.Claim(t.Context(), b.Acme, claim.ID, nil)
	require.NoError(t, err)
	report, err := receipt.VerifyPayload(signed.Payload, receipt.Data{})
	require.NoError(t, err)
	require.Empty(t, report.Differences)
	require.Equal(t, "/parts/1", report.Decided[0].Pointer, "the operator's part")
}

func TestAcceptedChallengeAddsAPart(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	_, err := open(t, b, claim.ID)
	require.NoError(t, err)
	for _, wrong := range []*wire.Money{nil, modeltest.NewUSD(0), modeltest.NewUSD(-1), modeltest.NewUSD(1_000_000_000)} {
		_, err = decide(t, b, challenge.DecisionRequest{ClaimID: claim.ID, Outcome: challenge.Accepted, FurtherAmount: wrong})
		require.Equal(t, apperr.CodeValidationFailed, modeltest.DomainError(t, err).Code, "an accepted challenge reduces nothing and exceeds no limit")
	}
	require.Equal(t, "open", mustState(t, b, claim.ID).Challenge.Status)
	increased, err := decide(t, b, challenge.DecisionRequest{ClaimID: claim.ID, Outcome: challenge.Accepted, FurtherAmount: modeltest.NewUSD(300_000)})
	require.NoError(t, err)
	require.Equal(t, claim.Amount.Amount+300_000, increased.Amount.Amount)
	require.Len(t, increased.Payouts, 2)
	require.Equal(t, []string{"challenge_accepted"}, increased.MeasurementState.Challenge.ReasonCodes)
	kinds := b.TimelineKinds(claim.ID)
	require.Contains(t, kinds, "claim.challenge_decided")
	b.CheckInvariants()
	b.Relay()
	signed, err := b.Service.Receipts.Claim(t.Context(), b.Acme, claim.ID, nil)
	require.NoError(t, err)
	report, err := receipt.VerifyPayload(signed.Payload, receipt.Data{})
	require.NoError(t, err)
	require.Empty(t, report.Differences)
	require.Len(t, report.Decided, 1, "the operator's part")
}

func mustState(t *testing.T, b *modeltest.Bundle, claim string) *wire.MeasurementState {
	t.Helper()
	return modeltest.Must(b.Service.Measured.States(t.Context(), b.Acme, []string{claim}))[claim]
}

// Of two challenges at the same time one is opened.
func TestConcurrentChallengesOpenOne(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	errs := make([]error, 8)
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() { _, errs[i] = open(t, b, claim.ID) })
	}
	group.Wait()
	opened := 0
	for _, err := range errs {
		if err == nil {
			opened++
			continue
		}
		requireConflict(t, err, "open")
	}
	require.Equal(t, 1, opened)
	var rows int
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select count(*) from claim_challenges").Scan(&rows))
	require.Equal(t, 1, rows)
}

// The partner's text is erased as messages are.
func TestChallengeIsErased(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := newDeclinedClaim(t, b)
	_, err := b.Service.Challenges.Open(t.Context(), b.Acme, challenge.Request{ClaimID: claim.ID, Reason: "Wilhelmina Zzyzx saw it."})
	require.NoError(t, err)
	_, err = decide(t, b, challenge.DecisionRequest{ClaimID: claim.ID, Outcome: challenge.Rejected})
	require.NoError(t, err)
	b.AdvanceClock(366 * 24 * time.Hour)
	b.Sweep()
	b.Relay()
	erased, err := b.Service.Privacy.ErasePolicyholder(t.Context(), b.Operator, privacy.ErasureRequest{Partner: "acme", PolicyID: claim.PolicyID, Reason: "They asked for it."})
	require.NoError(t, err)
	require.Equal(t, 1, erased.Messages)
	for _, table := range []string{"messages", "claim_challenges", "timeline_entries", "claims"} {
		var found int
		require.NoError(t, b.DB.Bun.NewRaw("select count(*) from "+table+" x where x::text like '%Wilhelmina%'").Scan(t.Context(), &found))
		require.Zero(t, found, table)
	}
	b.Relay()
	list, err := b.Service.Events.List(t.Context(), b.Acme, events.Filter{}, store.PageRequest{Limit: store.MaxPageSize})
	require.NoError(t, err)
	for _, occurred := range list.Data {
		require.NotContains(t, string(occurred.Data), "Wilhelmina", occurred.Type)
	}
}
