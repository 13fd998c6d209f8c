package modeltest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/claims"
	"parapet/model/kernel/actor"
	"parapet/model/ledger"
	"parapet/model/payouts"
	"parapet/model/payouts/release"
	"parapet/model/wire"
)

// NewClaimAboveApprovalLimit returns a claim approved for a million dollars with a
// verified account.
func NewClaimAboveApprovalLimit(b *Bundle) *wire.Claim {
	policy := b.QuoteAndBind("quake-circle", Context{"limit": map[string]any{"amount": 100_000_000, "currency": "USD"}})
	b.RecordPayoutMethod(PolicyIBANMethod(policy.ID))
	b.RunJobs()
	b.Observe(Quake("us1", b.Now(), Epicentre, "6.4"))
	b.RunJobs()
	return b.OnlyClaim(policy)
}

// OperatorNamed returns one of several operators.
func OperatorNamed(name string) actor.Actor {
	actor := Operator()
	actor.Name = name
	return actor
}

// BritishIBAN returns an account that differs from IBANMethod.
func BritishIBAN(claim string) payouts.MethodRequest {
	in := IBANMethod(claim)
	in.Number.IBAN.IBAN = "GB29NWBK60161331926819"
	return in
}

// ApprovePayoutAs approves a payout as the operator with the name.
func ApprovePayoutAs(t *testing.T, b *Bundle, who string, payout wire.Payout) (*wire.Payout, error) {
	t.Helper()
	return b.Service.Payouts.Approve(t.Context(), OperatorNamed(who), payouts.ApprovalRequest{PayoutID: payout.ID})
}

// HoldPayout holds a payout for a reason.
func HoldPayout(t *testing.T, b *Bundle, payout wire.Payout, reason claims.BlockedReason) (*wire.Payout, error) {
	t.Helper()
	return b.Service.Payouts.Block(t.Context(), b.Operator, payouts.HoldRequest{PayoutID: payout.ID, Reason: reason, Note: "A name on a list."})
}

// LiftHold lifts the hold of a payout.
func LiftHold(t *testing.T, b *Bundle, payout wire.Payout) (*wire.Payout, error) {
	t.Helper()
	return b.Service.Payouts.Unblock(t.Context(), b.Operator, payouts.LiftHoldRequest{PayoutID: payout.ID, Note: "Another person."})
}

// ResolvePayout resolves a payout whose outcome is unknown.
func ResolvePayout(t *testing.T, b *Bundle, payout wire.Payout, outcome claims.PayoutStatus, reference string, settled bool) (*wire.Payout, error) {
	t.Helper()
	in := payouts.ResolutionRequest{PayoutID: payout.ID, Outcome: outcome, Reference: reference, Settled: settled, Note: "The bank's letter."}
	return b.Service.Payouts.Resolve(t.Context(), b.Operator, in)
}

// NewPayoutWithAnswer returns a payout that the rail answered with answer.
func NewPayoutWithAnswer(t *testing.T, answer payouts.RailAnswer) (*Bundle, *wire.Claim, wire.Payout) {
	t.Helper()
	b := New(t)
	claim := NewApprovedClaim(b)
	b.Rail.Answer = func(*release.Release) payouts.RailAnswer { return answer }
	b.RecordPayoutMethod(IBANMethod(claim.ID))
	b.RunJobs()
	return b, claim, OnlyPayout(t, b, claim)
}

// NewApprovedClaim returns a claim that was approved with 20,000 USD and waits for a
// payout method.
func NewApprovedClaim(b *Bundle) *wire.Claim {
	policy := b.QuoteAndBind("quake-circle", nil)
	b.Observe(Quake("us1", b.Now(), Epicentre, "6.4"))
	b.RunJobs()
	return b.OnlyClaim(policy)
}

// OnlyPayout returns a claim's one payout as it is now.
func OnlyPayout(t testing.TB, b *Bundle, claim *wire.Claim) wire.Payout {
	t.Helper()
	payouts := b.Claim(claim.ID).Payouts
	require.Len(t, payouts, 1)
	return payouts[0]
}

// NewPayoutInFlight returns a payout that a worker has begun to release to the claim's
// first account.
func NewPayoutInFlight(t testing.TB, with ...Option) (*Bundle, *wire.Claim, *release.Release) {
	t.Helper()
	b := New(t, with...)
	claim := NewApprovedClaim(b)
	b.RecordPayoutMethod(IBANMethod(claim.ID))
	b.RunAccountChecks()
	order, _, err := b.Service.Releases.BeginRelease(t.Context(), ScriptedRail, "acme", OnlyPayout(t, b, claim).ID)
	require.NoError(t, err)
	return b, claim, order
}

// ReplaceAccount records another account for the claim.
func ReplaceAccount(b *Bundle, claim *wire.Claim) *wire.PayoutMethod {
	other := IBANMethod(claim.ID)
	other.Number.IBAN.IBAN = "GB29NWBK60161331926819"
	return b.RecordPayoutMethod(other)
}

// NewReadyPayout returns a payout that nothing blocks.
func NewReadyPayout(t *testing.T, with ...Option) (*Bundle, string) {
	t.Helper()
	b := New(t, append(with, WithConnections(12))...)
	claim := NewApprovedClaim(b)
	b.RecordPayoutMethod(IBANMethod(claim.ID))
	b.RunAccountChecks()
	return b, OnlyPayout(t, b, claim).ID
}

// ReportRailPayment lets the rail report on its own that it paid under a key, and returns
// whether the rail was ever given the key.
func ReportRailPayment(t *testing.T, b *Bundle, key string) bool {
	t.Helper()
	sent, err := b.Service.Releases.SentOrders(t.Context(), ScriptedRail, []string{key})
	require.NoError(t, err)
	if sent[key] == nil {
		return false
	}
	_, err = b.Service.Releases.EndRelease(t.Context(), RailName, sent[key], payouts.RailAnswer{Outcome: payouts.OutcomeAccepted, Reference: "late"})
	require.NoError(t, err)
	return true
}

// LedgerBalances returns the balances of a policy by account, without zero ones.
func LedgerBalances(t *testing.T, b *Bundle, policy string) map[ledger.Account]int64 {
	t.Helper()
	balances, err := b.Service.Ledger.Balances(t.Context(), b.Acme, ledger.Filter{PolicyID: policy}, false, nil)
	require.NoError(t, err)
	left := map[ledger.Account]int64{}
	var sum int64
	for _, balance := range balances {
		require.Equal(t, balance.Balance.Amount, balance.Debits.Amount-balance.Credits.Amount)
		if sum += balance.Balance.Amount; balance.Balance.Amount != 0 {
			left[balance.Account] = balance.Balance.Amount
		}
	}
	require.Zero(t, sum, "every currency sums to zero")
	return left
}

// ClaimBalances returns the balances of a policy without the premium accounts.
func ClaimBalances(t *testing.T, b *Bundle, policy string) map[ledger.Account]int64 {
	t.Helper()
	left := LedgerBalances(t, b, policy)
	for _, account := range ledger.Accounts()[:4] {
		delete(left, account)
	}
	return left
}
