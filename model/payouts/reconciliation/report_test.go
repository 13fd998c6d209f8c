package reconciliation_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/money"
	"parapet/model/payouts"
	"parapet/model/payouts/reconciliation"
)

func TestAReportConfirmsAndClosesAndAReturnReopens(t *testing.T) {
	t.Parallel()
	b, claim, payout := modeltest.NewPayoutWithAnswer(t, modeltest.Accepted)
	require.Equal(t, "released", payout.Status)
	done := modeltest.Reconcile(t, b, "monday", modeltest.ReportLine(b, payout, "settled"))
	require.Equal(t, map[string]int{"reconciled": 1}, done.Results)
	require.Zero(t, done.Missing)
	payout = modeltest.OnlyPayout(t, b, claim)
	require.Equal(t, "reconciled", payout.Status)
	require.NotNil(t, payout.ReconciledAt)
	closed := b.Claim(claim.ID)
	require.Equal(t, "closed", closed.Status)
	require.NotNil(t, closed.ClosedAt)
	before := b.CountRows()
	again := modeltest.Reconcile(t, b, "monday", modeltest.ReportLine(b, payout, "settled"))
	require.True(t, again.AlreadyImported)
	require.Equal(t, done.ID, again.ID)
	require.Equal(t, before, b.CountRows(), "the same report changes nothing")

	back := modeltest.ReportLine(b, payout, "returned")
	back.Code = "AC04"
	require.Equal(t, map[string]int{"returned": 1}, modeltest.Reconcile(t, b, "tuesday", back).Results)
	reopened := b.Claim(claim.ID)
	require.Equal(t, "approved", reopened.Status)
	require.Nil(t, reopened.ClosedAt)
	require.Equal(t, "returned", reopened.Payouts[0].Status)
	second := reopened.Payouts[1]
	require.Equal(t, payout.ID, *second.ReplacesPayoutID)
	require.Equal(t, "approval_required", *second.BlockedReason)
	require.Contains(t, b.TimelineKinds(claim.ID), "claim.reopened")
	_, err := modeltest.ApprovePayoutAs(t, b, "ann", second)
	require.NoError(t, err)
	b.RunJobs()
	require.Equal(t, map[string]int{"reconciled": 1}, modeltest.Reconcile(t, b, "wednesday", modeltest.ReportLine(b, second, "settled")).Results)
	require.Equal(t, "closed", b.Claim(claim.ID).Status)
	require.Empty(t, modeltest.OpenExceptions(t, b))
}

func TestAReportSettlesADoubt(t *testing.T) {
	t.Parallel()
	b, claim, payout := modeltest.NewPayoutWithAnswer(t, modeltest.Unknown)
	require.Equal(t, map[string]int{"reconciled": 1}, modeltest.Reconcile(t, b, "r", modeltest.ReportLine(b, payout, "settled")).Results)
	require.Equal(t, "reconciled", modeltest.OnlyPayout(t, b, claim).Status)
	require.Equal(t, []string{"payout.released", "payout.reconciled", "claim.closed"}, b.TimelineKinds(claim.ID)[len(b.TimelineKinds(claim.ID))-3:])
}

// TestMoneyForSomebodyElseConfirmsNothing lets the rail report the right sum under the
// right key, for another account.
func TestMoneyForSomebodyElseConfirmsNothing(t *testing.T) {
	t.Parallel()
	for status, answer := range map[string]payouts.RailAnswer{"blocked": modeltest.Unknown, "released": modeltest.Accepted} {
		b, claim, payout := modeltest.NewPayoutWithAnswer(t, answer)
		astray := modeltest.ReportLine(b, payout, "settled")
		astray.Account = "iban ····9999"
		require.Equal(t, map[string]int{"beneficiary": 1}, modeltest.Reconcile(t, b, "monday", astray).Results)
		require.Equal(t, status, modeltest.OnlyPayout(t, b, claim).Status)
		require.Contains(t, modeltest.OpenExceptions(t, b), "beneficiary")
		if status == "blocked" {
			require.Equal(t, "rail_mismatch", *modeltest.OnlyPayout(t, b, claim).BlockedReason)
			continue
		}
		right := modeltest.ReportLine(b, payout, "settled")
		right.Account = "iban ····3000"
		require.Equal(t, map[string]int{"reconciled": 1}, modeltest.Reconcile(t, b, "tuesday", right).Results)
	}
}

// TestAReturnSettlesADoubt returns money of a payout that was in doubt.
func TestAReturnSettlesADoubt(t *testing.T) {
	t.Parallel()
	b, claim, payout := modeltest.NewPayoutWithAnswer(t, modeltest.Unknown)
	require.Equal(t, map[string]int{"returned": 1}, modeltest.Reconcile(t, b, "r", modeltest.ReportLine(b, payout, "returned")).Results)
	payouts := b.Claim(claim.ID).Payouts
	require.Equal(t, "returned", payouts[0].Status)
	require.Equal(t, "approval_required", *payouts[1].BlockedReason)
	require.Empty(t, modeltest.OpenExceptions(t, b))
}

// TestKnownRefusalOpensNoException lets a report repeat what the rail had said
// already: of a key that another took the place of, and of a payment it had refused in
// another report.
func TestKnownRefusalOpensNoException(t *testing.T) {
	t.Parallel()
	b, claim, payout := modeltest.NewPayoutWithAnswer(t, modeltest.Refused)
	b.Rail.Answer = nil
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunJobs()
	require.Equal(t, "released", modeltest.OnlyPayout(t, b, claim).Status)
	require.Equal(t, map[string]int{"rejected": 1}, modeltest.Reconcile(t, b, "monday", modeltest.ReportLine(b, payout, "rejected")).Results)
	require.Equal(t, "released", modeltest.OnlyPayout(t, b, claim).Status)
	second := modeltest.ReportLine(b, payout, "rejected")
	second.Key = b.RailKey(payout.ID, 2)
	require.Equal(t, map[string]int{"returned": 1}, modeltest.Reconcile(t, b, "tuesday", second).Results)
	second.Code = "AC04"
	require.Equal(t, map[string]int{"rejected": 1}, modeltest.Reconcile(t, b, "wednesday", second).Results)
	require.Empty(t, modeltest.OpenExceptions(t, b))
}

// TestMoneyReportedUnderAHoldIsNotSentOnceMore lets the evidence for «not paid» be
// wrong: what waits to go out under another key was paid under the first.
func TestMoneyReportedUnderAHoldIsNotSentOnceMore(t *testing.T) {
	t.Parallel()
	b, claim, payout := modeltest.NewPayoutWithAnswer(t, modeltest.Unknown)
	held, err := modeltest.ResolvePayout(t, b, payout, claims.PayoutBlocked, "", false)
	require.NoError(t, err)
	require.Equal(t, "operator_hold", *held.BlockedReason)
	require.Equal(t, map[string]int{"state": 1}, modeltest.Reconcile(t, b, "r", modeltest.ReportLine(b, payout, "settled")).Results)
	require.Equal(t, "rail_mismatch", *modeltest.OnlyPayout(t, b, claim).BlockedReason)
	_, err = modeltest.LiftHold(t, b, payout)
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code)
	b.RunJobs()
	require.Len(t, b.Rail.Orders, 1)
}

// TestLateArrivalOfWrittenOffPayoutBlocksReplacement lets the money of a payout that was
// cancelled arrive, when another one already waits in its place.
func TestLateArrivalOfWrittenOffPayoutBlocksReplacement(t *testing.T) {
	t.Parallel()
	b, claim, payout := modeltest.NewPayoutWithAnswer(t, modeltest.Mismatched)
	_, err := modeltest.ResolvePayout(t, b, payout, claims.PayoutCancelled, "", false)
	require.NoError(t, err)
	part := modeltest.ReportLine(b, payout, "settled")
	part.Amount.Amount--
	require.Equal(t, map[string]int{"amount": 1}, modeltest.Reconcile(t, b, "part of it", part).Results)
	require.Equal(t, "approval_required", *b.Claim(claim.ID).Payouts[1].BlockedReason, "that is what it was cancelled for")
	require.Equal(t, map[string]int{"state": 1}, modeltest.Reconcile(t, b, "all of it", modeltest.ReportLine(b, payout, "settled")).Results)
	again := b.Claim(claim.ID).Payouts[1]
	require.Equal(t, "rail_mismatch", *again.BlockedReason)
	_, err = modeltest.ApprovePayoutAs(t, b, "ann", again)
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code)
	_, err = modeltest.ResolvePayout(t, b, again, claims.PayoutCancelled, "", true)
	require.NoError(t, err)
	require.Equal(t, "closed", b.Claim(claim.ID).Status)
}

func TestEveryEmptyReportIsReadForWhatItLacks(t *testing.T) {
	t.Parallel()
	b, _, _ := modeltest.NewPayoutWithAnswer(t, modeltest.Accepted)
	report := func(day string, until time.Duration) *reconciliation.Reconciliation {
		done, err := b.Service.Reconciliation.Reconcile(t.Context(), b.Operator, reconciliation.Report{Rail: modeltest.RailName, Name: day, Until: new(b.Now().Add(until))}, modeltest.ReadLines(nil))
		require.NoError(t, err)
		return done
	}
	require.Zero(t, report("monday", -time.Hour).Missing, "it was not due yet")
	tuesday := report("tuesday", 0)
	require.False(t, tuesday.AlreadyImported, "another day, and nothing in it either")
	require.Equal(t, 1, tuesday.Missing)
	_, err := b.DB.Pool.Exec(t.Context(), "delete from reconciliation_exceptions") // as if the process that took it had died before
	require.NoError(t, err)
	again := report("tuesday", 0)
	require.True(t, again.AlreadyImported)
	require.Equal(t, 1, again.Missing)
	list := modeltest.Must(b.Service.Reconciliation.ListExceptions(t.Context(), b.Operator, false, store.PageRequest{}))
	require.Equal(t, "missing", list.Data[0].Kind)
	modeltest.Must(b.Service.Reconciliation.CloseException(t.Context(), b.Operator, reconciliation.CloseExceptionRequest{ID: list.Data[0].ID, Reason: "It comes tomorrow."}))
	report("tuesday", 0)
	require.Empty(t, modeltest.OpenExceptions(t, b), "the same report opens no exception again")
	report("wednesday", 0)
	require.Equal(t, []string{"missing"}, modeltest.OpenExceptions(t, b), "another one does")
}

func TestEveryMismatchOpensExceptionUntilClosed(t *testing.T) {
	t.Parallel()
	b, claim, payout := modeltest.NewPayoutWithAnswer(t, modeltest.Accepted)
	other := modeltest.ReportLine(b, payout, "settled")
	other.Amount = money.New(payout.Amount.Amount+1, "USD")
	unknownLine := reconciliation.ReportLine{Reference: "x-1", Amount: money.New(5, "USD"), Status: "settled"}
	done := modeltest.Reconcile(t, b, "bad", unknownLine, other)
	require.Equal(t, map[string]int{"unknown": 1, "amount": 1}, done.Results)
	require.Equal(t, 1, done.Missing)
	require.Equal(t, "released", modeltest.OnlyPayout(t, b, claim).Status)
	require.ElementsMatch(t, []string{"unknown", "amount", "missing"}, modeltest.OpenExceptions(t, b))
	done = modeltest.Reconcile(t, b, "good", modeltest.ReportLine(b, payout, "settled"), modeltest.ReportLine(b, payout, "settled"))
	require.Equal(t, map[string]int{"reconciled": 1, "duplicate": 1}, done.Results)
	require.ElementsMatch(t, []string{"unknown", "amount", "duplicate"}, modeltest.OpenExceptions(t, b), "what was missing was found")

	list, err := b.Service.Reconciliation.ListExceptions(t.Context(), b.Operator, false, store.PageRequest{})
	require.NoError(t, err)
	closing := reconciliation.CloseExceptionRequest{ID: list.Data[0].ID, Reason: "The bank booked it twice."}
	_, err = b.Service.Reconciliation.CloseException(t.Context(), b.Acme, closing)
	require.Equal(t, apperr.CodeInsufficientScope, modeltest.DomainError(t, err).Code)
	_, err = b.Service.Reconciliation.CloseException(t.Context(), b.Operator, reconciliation.CloseExceptionRequest{ID: closing.ID, Reason: " "})
	require.Equal(t, []string{"/reason"}, modeltest.FieldPointers(modeltest.DomainError(t, err)))
	closed, err := b.Service.Reconciliation.CloseException(t.Context(), b.Operator, closing)
	require.NoError(t, err)
	require.Equal(t, b.Operator.Name, *closed.ClosedBy)
	_, err = b.Service.Reconciliation.CloseException(t.Context(), b.Operator, closing)
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code)
	require.Len(t, modeltest.OpenExceptions(t, b), 2)
}

func TestIncompleteReportIsRefused(t *testing.T) {
	t.Parallel()
	b, _, payout := modeltest.NewPayoutWithAnswer(t, modeltest.Accepted)
	lines := []reconciliation.ReportLine{modeltest.ReportLine(b, payout, "settled")}
	before := b.CountRows()
	for pointer, in := range map[string]reconciliation.Report{
		"/line_count": {Rail: modeltest.RailName, Lines: new(2)},
		"/sums":       {Rail: modeltest.RailName, Sums: map[string]int64{"USD": 1}},
	} {
		_, err := b.Service.Reconciliation.Reconcile(t.Context(), b.Operator, in, modeltest.ReadLines(lines))
		require.Equal(t, []string{pointer}, modeltest.FieldPointers(modeltest.DomainError(t, err)))
	}
	huge := modeltest.ReportLine(b, payout, "settled")
	huge.Amount.Amount = math.MaxInt64
	for name, more := range map[string][]reconciliation.ReportLine{"two": {huge, huge}, "once around": {huge, huge, lines[0]}} {
		var sum int64
		for _, line := range more {
			sum += line.Amount.Amount
		}
		in := reconciliation.Report{Rail: modeltest.RailName, Lines: new(len(more)), Sums: map[string]int64{"USD": sum}}
		_, err := b.Service.Reconciliation.Reconcile(t.Context(), b.Operator, in, modeltest.ReadLines(more))
		require.Equal(t, []string{"/sums"}, modeltest.FieldPointers(modeltest.DomainError(t, err)), name)
	}
	wrong := modeltest.ReportLine(b, payout, "maybe")
	_, err := b.Service.Reconciliation.Reconcile(t.Context(), b.Operator, reconciliation.Report{Rail: modeltest.RailName}, modeltest.ReadLines([]reconciliation.ReportLine{lines[0], wrong}))
	require.Equal(t, []string{"/lines/1/status"}, modeltest.FieldPointers(modeltest.DomainError(t, err)))
	for _, shown := range []string{"DE89370400440532013000", "iban DE89370400440532013000", "iban ····89370400440532013000", "card ····3000"} {
		bare := modeltest.ReportLine(b, payout, "settled")
		bare.Account = shown
		_, err = b.Service.Reconciliation.Reconcile(t.Context(), b.Operator, reconciliation.Report{Rail: modeltest.RailName}, modeltest.ReadLines([]reconciliation.ReportLine{bare}))
		require.Equal(t, []string{"/lines/0/account"}, modeltest.FieldPointers(modeltest.DomainError(t, err)), shown)
	}
	_, err = b.Service.Reconciliation.Reconcile(t.Context(), b.Acme, reconciliation.Report{Rail: modeltest.RailName}, modeltest.ReadLines(lines))
	require.Equal(t, apperr.CodeInsufficientScope, modeltest.DomainError(t, err).Code)
	require.Equal(t, before, b.CountRows())
}
