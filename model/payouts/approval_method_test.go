package payouts_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/audit"
	"parapet/model/claims"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/payouts"
	"parapet/model/wire"
)

// approvalOf returns the approvals of a payout as an operator sees them.
func approvalOf(t *testing.T, b *modeltest.Bundle, payout wire.Payout) *payouts.PayoutApproval {
	t.Helper()
	states, err := b.Service.Payouts.ApprovalsOf(t.Context(), b.Operator, []string{payout.ID})
	require.NoError(t, err)
	return states[payout.ID]
}

// voidedLines returns the audit lines about approvals that a change voided.
func voidedLines(t *testing.T, b *modeltest.Bundle) []audit.Entry {
	t.Helper()
	return modeltest.ListAudit(t, b, audit.Filter{Operation: "voidApprovals"})
}

// saysVoided reports whether the claim's timeline says that approvals no longer count.
func saysVoided(b *modeltest.Bundle, claim string) bool {
	for _, entry := range b.Timeline(claim) {
		if strings.Contains(entry.Summary, "no longer count") {
			return true
		}
	}
	return false
}

func TestApproverSeesAccountThatWillBePaid(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewClaimAboveApprovalLimit(b)
	payout := modeltest.OnlyPayout(t, b, claim)
	first := approvalOf(t, b, payout)
	account := first.PayoutMethod
	require.Equal(t, *payout.PayoutMethodID, account.PayoutMethodID)
	require.Equal(t, []string{"iban", "3000", "verified"}, []string{account.Type, account.Display.Last4, account.Status})
	require.Equal(t, modeltest.IBANMethod(claim.ID).Beneficiary.Name, account.Beneficiary.Name)
	require.NotNil(t, account.VerifiedAt)
	require.Nil(t, account.CoolingOffUntil)
	require.Nil(t, account.ReturnedAt)

	// The claim's own account is not used before it is verified; the policy's is shown.
	other := b.RecordPayoutMethod(modeltest.BritishIBAN(claim.ID))
	require.Equal(t, account.PayoutMethodID, approvalOf(t, b, payout).PayoutMethod.PayoutMethodID)
	b.RunAccountChecks()
	changed := modeltest.OnlyPayout(t, b, claim)
	require.Equal(t, other.ID, *changed.PayoutMethodID, "the account that was replaced is not shown as current")
	require.Greater(t, changed.Version, payout.Version)
	second := approvalOf(t, b, payout)
	require.Equal(t, []string{other.ID, "6819"}, []string{second.PayoutMethod.PayoutMethodID, second.PayoutMethod.Display.Last4})
	require.WithinDuration(t, b.Now().Add(24*time.Hour), *second.PayoutMethod.CoolingOffUntil, time.Minute)
	_, err := b.Service.Payouts.Approve(t.Context(), modeltest.OperatorNamed("ann"), payouts.ApprovalRequest{PayoutID: payout.ID, Digest: *first.Digest})
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code, "the digest differs from the one shown")
	_, err = b.Service.Payouts.Approve(t.Context(), modeltest.OperatorNamed("ann"), payouts.ApprovalRequest{PayoutID: payout.ID, Digest: *second.Digest})
	require.NoError(t, err)
}

func TestHeldPayoutShowsMethodThatWillBePaid(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunAccountChecks()
	_, err := modeltest.HoldPayout(t, b, modeltest.OnlyPayout(t, b, claim), claims.BlockedCompliance)
	require.NoError(t, err)
	other := b.RecordPayoutMethod(modeltest.BritishIBAN(claim.ID))
	b.RunAccountChecks()
	held := modeltest.OnlyPayout(t, b, claim)
	require.Equal(t, []string{"blocked", "compliance_hold", other.ID}, []string{held.Status, *held.BlockedReason, *held.PayoutMethodID})
	require.Equal(t, other.ID, approvalOf(t, b, held).PayoutMethod.PayoutMethodID)
}

// TestChangedMethodAuditsVoidedApprovals replaces the approved account in every possible
// way: each adds an audit line for operators and a sentence to the timeline.
func TestChangedMethodAuditsVoidedApprovals(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*testing.T, *modeltest.Bundle, *wire.Claim, wire.Payout){
		"another account replaces the approved one": func(t *testing.T, b *modeltest.Bundle, claim *wire.Claim, payout wire.Payout) {
			t.Helper()
			_, err := modeltest.ApprovePayoutAs(t, b, "ben", payout)
			require.NoError(t, err)
			b.RecordPayoutMethod(modeltest.PolicyIBANMethod(claim.PolicyID))
		},
		"after one approval of two": func(_ *testing.T, b *modeltest.Bundle, claim *wire.Claim, _ wire.Payout) {
			b.RecordPayoutMethod(modeltest.PolicyIBANMethod(claim.PolicyID))
		},
		"another account is verified": func(_ *testing.T, b *modeltest.Bundle, claim *wire.Claim, _ wire.Payout) {
			b.RecordPayoutMethod(modeltest.BritishIBAN(claim.ID))
			b.RunAccountChecks()
		},
		"while it is held": func(t *testing.T, b *modeltest.Bundle, claim *wire.Claim, payout wire.Payout) {
			t.Helper()
			_, err := modeltest.HoldPayout(t, b, payout, claims.BlockedOperator)
			require.NoError(t, err)
			b.RecordPayoutMethod(modeltest.PolicyIBANMethod(claim.PolicyID))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := modeltest.New(t)
			claim := modeltest.NewClaimAboveApprovalLimit(b)
			payout := modeltest.OnlyPayout(t, b, claim)
			_, err := modeltest.ApprovePayoutAs(t, b, "ann", payout)
			require.NoError(t, err)
			require.Empty(t, voidedLines(t, b))
			change(t, b, claim, payout)
			lines := voidedLines(t, b)
			require.Len(t, lines, 1)
			require.Equal(t, []string{"acme", payout.ID}, []string{*lines[0].Partner, *lines[0].Subject})
			require.Contains(t, *lines[0].Reason, modeltest.Issuer+"#ann")
			require.True(t, saysVoided(b, claim.ID))
			b.RunAccountChecks()
			require.Len(t, voidedLines(t, b), 1, "one timeline entry")
			require.False(t, approvalOf(t, b, payout).Approvals[0].Valid)
		})
	}
}

// TestApprovalDuringVerificationIsKeptOrRefused approves during an account check, once
// that account and once the account that it would replace.
func TestApprovalDuringVerificationIsKeptOrRefused(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewClaimAboveApprovalLimit(b)
	payout := modeltest.OnlyPayout(t, b, claim)
	other := b.RecordPayoutMethod(modeltest.BritishIBAN(claim.ID))
	_, err := modeltest.ApprovePayoutAs(t, b, "ann", payout)
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code, "the end of the check would void the approval")
	b.RunAccountChecks()
	for _, who := range []string{"ann", "ben"} {
		_, err := modeltest.ApprovePayoutAs(t, b, who, payout)
		require.NoError(t, err)
	}
	b.RunJobs()
	require.Equal(t, other.ID, *modeltest.OnlyPayout(t, b, claim).PayoutMethodID)

	b = modeltest.New(t)
	claim = modeltest.NewClaimAboveApprovalLimit(b)
	payout = modeltest.OnlyPayout(t, b, claim)
	b.RecordPayoutMethod(modeltest.PolicyIBANMethod(claim.PolicyID))
	require.Equal(t, "payout_method_unverified", *modeltest.OnlyPayout(t, b, claim).BlockedReason)
	digest := *approvalOf(t, b, payout).Digest
	for _, who := range []string{"ann", "ben"} {
		_, err := b.Service.Payouts.Approve(t.Context(), modeltest.OperatorNamed(who), payouts.ApprovalRequest{PayoutID: payout.ID, Digest: digest})
		require.NoError(t, err)
	}
	require.Empty(t, b.Rail.Orders)
	b.RunJobs()
	require.Equal(t, "released", modeltest.OnlyPayout(t, b, claim).Status, "the approvals hold once the account is verified")
	require.Empty(t, voidedLines(t, b))
}

// TestReturnedAccountIsNotShownAsCurrent returns a payout: its replacement shows no
// account until an operator approves the old one or another is recorded, and the approver
// sees that the old one returned money.
func TestReturnedAccountIsNotShownAsCurrent(t *testing.T) {
	t.Parallel()
	for _, again := range []bool{true, false} {
		b := modeltest.New(t)
		claim := modeltest.NewApprovedClaim(b)
		old := b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
		b.RunJobs()
		paid := modeltest.OnlyPayout(t, b, claim)
		modeltest.Reconcile(t, b, "day", modeltest.ReportLine(b, paid, "returned"))
		newest := func() wire.Payout {
			payouts := b.Claim(claim.ID).Payouts
			require.Len(t, payouts, 2)
			if payouts[0].ReplacesPayoutID != nil {
				return payouts[0]
			}
			return payouts[1]
		}
		replacement := newest()
		require.Equal(t, paid.ID, *replacement.ReplacesPayoutID)
		require.Equal(t, "approval_required", *replacement.BlockedReason)
		require.Nil(t, replacement.PayoutMethodID)
		state := approvalOf(t, b, replacement)
		require.Equal(t, old.ID, state.PayoutMethod.PayoutMethodID)
		require.NotNil(t, state.PayoutMethod.ReturnedAt)
		returned := approvalOf(t, b, paid)
		require.Nil(t, returned.PayoutMethod, "no payout goes to it")
		require.Nil(t, returned.Digest)
		want := old.ID
		if !again {
			other := b.RecordPayoutMethod(modeltest.BritishIBAN(claim.ID))
			b.RunAccountChecks()
			want = other.ID
			shown := approvalOf(t, b, replacement)
			require.Equal(t, want, shown.PayoutMethod.PayoutMethodID)
			require.Nil(t, shown.PayoutMethod.ReturnedAt)
			require.Equal(t, want, *newest().PayoutMethodID)
		}
		approved, err := modeltest.ApprovePayoutAs(t, b, "ann", replacement)
		require.NoError(t, err)
		require.Equal(t, want, *approved.PayoutMethodID)
		b.RunJobs()
		require.Equal(t, "released", newest().Status)
	}
}
