package model_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/money"
	"parapet/model/wire"
)

// line is a rail's word about the first key of a payout, or of the first one that
// replaces another.
func line(b *modeltest.Bundle, payout wire.Payout, status string) model.ReportLine {
	n := 1
	if payout.ReplacesPayoutID != nil {
		n = 2
	}
	return model.ReportLine{Key: b.RailKey(payout.ID, n), Reference: "ref-1", Amount: payout.Amount, Status: status}
}

// reconcile imports a report of these lines whose totals are right.
func reconcile(t *testing.T, b *modeltest.Bundle, name string, lines ...model.ReportLine) *model.Reconciliation {
	t.Helper()
	sums := map[string]int64{}
	for _, l := range lines {
		sums[l.Amount.Currency] += l.Amount.Amount
	}
	done, err := b.Service.Reconcile(t.Context(), b.Operator, model.Report{
		Rail: modeltest.RailName, Name: name, Lines: new(len(lines)), Sums: sums, Until: new(b.Now()),
	}, reading(lines))
	require.NoError(t, err)
	return done
}

func reading(lines []model.ReportLine) func(func(model.ReportLine) error) error {
	return func(each func(model.ReportLine) error) error {
		for _, l := range lines {
			if err := each(l); err != nil {
				return err
			}
		}
		return nil
	}
}

// findings are the kinds of the open ones, newest first.
func findings(t *testing.T, b *modeltest.Bundle) (kinds []string) {
	t.Helper()
	list, err := b.Service.ListReconciliationExceptions(t.Context(), b.Operator, false, store.PageRequest{})
	require.NoError(t, err)
	for _, f := range list.Data {
		kinds = append(kinds, f.Kind)
	}
	return kinds
}

func TestAReportConfirmsAndClosesAndAReturnReopens(t *testing.T) {
	t.Parallel()
	b, claim, payout := newPayoutWithAnswer(t, modeltest.Accepted)
	require.Equal(t, "released", payout.Status)
	done := reconcile(t, b, "monday", line(b, payout, "settled"))
	require.Equal(t, map[string]int{"reconciled": 1}, done.Results)
	require.Zero(t, done.Missing)
	payout = only(t, b, claim)
	require.Equal(t, "reconciled", payout.Status)
	require.NotNil(t, payout.ReconciledAt)
	closed := b.Claim(claim.ID)
	require.Equal(t, "closed", closed.Status)
	require.NotNil(t, closed.ClosedAt)
	before := b.CountRows()
	again := reconcile(t, b, "monday", line(b, payout, "settled"))
	require.True(t, again.AlreadyImported)
	require.Equal(t, done.ID, again.ID)
	require.Equal(t, before, b.CountRows(), "the same report changes nothing")

	back := line(b, payout, "returned")
	back.Code = "AC04"
	require.Equal(t, map[string]int{"returned": 1}, reconcile(t, b, "tuesday", back).Results)
	reopened := b.Claim(claim.ID)
	require.Equal(t, "approved", reopened.Status)
	require.Nil(t, reopened.ClosedAt)
	require.Equal(t, "returned", reopened.Payouts[0].Status)
	second := reopened.Payouts[1]
	require.Equal(t, payout.ID, *second.ReplacesPayoutID)
	require.Equal(t, "approval_required", *second.BlockedReason)
	require.Contains(t, b.TimelineKinds(claim.ID), "claim.reopened")
	_, err := approvePayoutAs(t, b, "ann", second)
	require.NoError(t, err)
	b.RunJobs()
	require.Equal(t, map[string]int{"reconciled": 1}, reconcile(t, b, "wednesday", line(b, second, "settled")).Results)
	require.Equal(t, "closed", b.Claim(claim.ID).Status)
	require.Empty(t, findings(t, b))
}

func TestAReportSettlesADoubt(t *testing.T) {
	t.Parallel()
	b, claim, payout := newPayoutWithAnswer(t, modeltest.Unknown)
	require.Equal(t, map[string]int{"reconciled": 1}, reconcile(t, b, "r", line(b, payout, "settled")).Results)
	require.Equal(t, "reconciled", only(t, b, claim).Status)
	require.Equal(t, []string{"payout.released", "payout.reconciled", "claim.closed"}, b.TimelineKinds(claim.ID)[len(b.TimelineKinds(claim.ID))-3:])
}

// TestMoneyForSomebodyElseConfirmsNothing lets the rail report the right sum under the
// right key, for another account.
func TestMoneyForSomebodyElseConfirmsNothing(t *testing.T) {
	t.Parallel()
	for status, answer := range map[string]model.RailAnswer{"blocked": modeltest.Unknown, "released": modeltest.Accepted} {
		b, claim, payout := newPayoutWithAnswer(t, answer)
		astray := line(b, payout, "settled")
		astray.Account = "iban ····9999"
		require.Equal(t, map[string]int{"beneficiary": 1}, reconcile(t, b, "monday", astray).Results)
		require.Equal(t, status, only(t, b, claim).Status)
		require.Contains(t, findings(t, b), "beneficiary")
		if status == "blocked" {
			require.Equal(t, "rail_mismatch", *only(t, b, claim).BlockedReason)
			continue
		}
		right := line(b, payout, "settled")
		right.Account = "iban ····3000"
		require.Equal(t, map[string]int{"reconciled": 1}, reconcile(t, b, "tuesday", right).Results)
	}
}

// TestAReturnSettlesADoubt returns money of a payout that was in doubt.
func TestAReturnSettlesADoubt(t *testing.T) {
	t.Parallel()
	b, claim, payout := newPayoutWithAnswer(t, modeltest.Unknown)
	require.Equal(t, map[string]int{"returned": 1}, reconcile(t, b, "r", line(b, payout, "returned")).Results)
	payouts := b.Claim(claim.ID).Payouts
	require.Equal(t, "returned", payouts[0].Status)
	require.Equal(t, "approval_required", *payouts[1].BlockedReason)
	require.Empty(t, findings(t, b))
}

// TestKnownRefusalOpensNoException lets a report repeat what the rail had said
// already: of a key that another took the place of, and of a payment it had refused in
// another report.
func TestKnownRefusalOpensNoException(t *testing.T) {
	t.Parallel()
	b, claim, payout := newPayoutWithAnswer(t, modeltest.Refused)
	b.Rail.Answer = nil
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunJobs()
	require.Equal(t, "released", only(t, b, claim).Status)
	require.Equal(t, map[string]int{"rejected": 1}, reconcile(t, b, "monday", line(b, payout, "rejected")).Results)
	require.Equal(t, "released", only(t, b, claim).Status)
	second := line(b, payout, "rejected")
	second.Key = b.RailKey(payout.ID, 2)
	require.Equal(t, map[string]int{"returned": 1}, reconcile(t, b, "tuesday", second).Results)
	second.Code = "AC04"
	require.Equal(t, map[string]int{"rejected": 1}, reconcile(t, b, "wednesday", second).Results)
	require.Empty(t, findings(t, b))
}

// TestMoneyReportedUnderAHoldIsNotSentOnceMore lets the evidence for «not paid» be
// wrong: what waits to go out under another key was paid under the first.
func TestMoneyReportedUnderAHoldIsNotSentOnceMore(t *testing.T) {
	t.Parallel()
	b, claim, payout := newPayoutWithAnswer(t, modeltest.Unknown)
	held, err := resolvePayout(t, b, payout, model.PayoutBlocked, "", false)
	require.NoError(t, err)
	require.Equal(t, "operator_hold", *held.BlockedReason)
	require.Equal(t, map[string]int{"state": 1}, reconcile(t, b, "r", line(b, payout, "settled")).Results)
	require.Equal(t, "rail_mismatch", *only(t, b, claim).BlockedReason)
	_, err = liftHold(t, b, payout)
	require.Equal(t, apperr.CodeStateConflict, domainError(t, err).Code)
	b.RunJobs()
	require.Len(t, b.Rail.Orders, 1)
}

// TestLateArrivalOfWrittenOffPayoutBlocksReplacement lets the money of a payout that was
// cancelled arrive, when another one already waits in its place.
func TestLateArrivalOfWrittenOffPayoutBlocksReplacement(t *testing.T) {
	t.Parallel()
	b, claim, payout := newPayoutWithAnswer(t, modeltest.Mismatched)
	_, err := resolvePayout(t, b, payout, model.PayoutCancelled, "", false)
	require.NoError(t, err)
	part := line(b, payout, "settled")
	part.Amount.Amount--
	require.Equal(t, map[string]int{"amount": 1}, reconcile(t, b, "part of it", part).Results)
	require.Equal(t, "approval_required", *b.Claim(claim.ID).Payouts[1].BlockedReason, "that is what it was cancelled for")
	require.Equal(t, map[string]int{"state": 1}, reconcile(t, b, "all of it", line(b, payout, "settled")).Results)
	again := b.Claim(claim.ID).Payouts[1]
	require.Equal(t, "rail_mismatch", *again.BlockedReason)
	_, err = approvePayoutAs(t, b, "ann", again)
	require.Equal(t, apperr.CodeStateConflict, domainError(t, err).Code)
	_, err = resolvePayout(t, b, again, model.PayoutCancelled, "", true)
	require.NoError(t, err)
	require.Equal(t, "closed", b.Claim(claim.ID).Status)
}

func TestEveryEmptyReportIsReadForWhatItLacks(t *testing.T) {
	t.Parallel()
	b, _, _ := newPayoutWithAnswer(t, modeltest.Accepted)
	report := func(day string, until time.Duration) *model.Reconciliation {
		done, err := b.Service.Reconcile(t.Context(), b.Operator, model.Report{Rail: modeltest.RailName, Name: day, Until: new(b.Now().Add(until))}, reading(nil))
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
	list := must(b.Service.ListReconciliationExceptions(t.Context(), b.Operator, false, store.PageRequest{}))
	require.Equal(t, "missing", list.Data[0].Kind)
	must(b.Service.CloseReconciliationException(t.Context(), b.Operator, model.CloseExceptionRequest{ID: list.Data[0].ID, Reason: "It comes tomorrow."}))
	report("tuesday", 0)
	require.Empty(t, findings(t, b), "the same report opens no exception again")
	report("wednesday", 0)
	require.Equal(t, []string{"missing"}, findings(t, b), "another one does")
}

func TestEveryMismatchOpensExceptionUntilClosed(t *testing.T) {
	t.Parallel()
	b, claim, payout := newPayoutWithAnswer(t, modeltest.Accepted)
	other := line(b, payout, "settled")
	other.Amount = money.New(payout.Amount.Amount+1, "USD")
	unknownLine := model.ReportLine{Reference: "x-1", Amount: money.New(5, "USD"), Status: "settled"}
	done := reconcile(t, b, "bad", unknownLine, other)
	require.Equal(t, map[string]int{"unknown": 1, "amount": 1}, done.Results)
	require.Equal(t, 1, done.Missing)
	require.Equal(t, "released", only(t, b, claim).Status)
	require.ElementsMatch(t, []string{"unknown", "amount", "missing"}, findings(t, b))
	done = reconcile(t, b, "good", line(b, payout, "settled"), line(b, payout, "settled"))
	require.Equal(t, map[string]int{"reconciled": 1, "duplicate": 1}, done.Results)
	require.ElementsMatch(t, []string{"unknown", "amount", "duplicate"}, findings(t, b), "what was missing was found")

	list, err := b.Service.ListReconciliationExceptions(t.Context(), b.Operator, false, store.PageRequest{})
	require.NoError(t, err)
	closing := model.CloseExceptionRequest{ID: list.Data[0].ID, Reason: "The bank booked it twice."}
	_, err = b.Service.CloseReconciliationException(t.Context(), b.Acme, closing)
	require.Equal(t, apperr.CodeInsufficientScope, domainError(t, err).Code)
	_, err = b.Service.CloseReconciliationException(t.Context(), b.Operator, model.CloseExceptionRequest{ID: closing.ID, Reason: " "})
	require.Equal(t, []string{"/reason"}, fieldPointers(domainError(t, err)))
	closed, err := b.Service.CloseReconciliationException(t.Context(), b.Operator, closing)
	require.NoError(t, err)
	require.Equal(t, b.Operator.Name, *closed.ClosedBy)
	_, err = b.Service.CloseReconciliationException(t.Context(), b.Operator, closing)
	require.Equal(t, apperr.CodeStateConflict, domainError(t, err).Code)
	require.Len(t, findings(t, b), 2)
}

func TestIncompleteReportIsRefused(t *testing.T) {
	t.Parallel()
	b, _, payout := newPayoutWithAnswer(t, modeltest.Accepted)
	lines := []model.ReportLine{line(b, payout, "settled")}
	before := b.CountRows()
	for pointer, in := range map[string]model.Report{
		"/line_count": {Rail: modeltest.RailName, Lines: new(2)},
		"/sums":       {Rail: modeltest.RailName, Sums: map[string]int64{"USD": 1}},
	} {
		_, err := b.Service.Reconcile(t.Context(), b.Operator, in, reading(lines))
		require.Equal(t, []string{pointer}, fieldPointers(domainError(t, err)))
	}
	wrong := line(b, payout, "maybe")
	_, err := b.Service.Reconcile(t.Context(), b.Operator, model.Report{Rail: modeltest.RailName}, reading([]model.ReportLine{lines[0], wrong}))
	require.Equal(t, []string{"/lines/1/status"}, fieldPointers(domainError(t, err)))
	for _, shown := range []string{"DE89370400440532013000", "iban DE89370400440532013000", "iban ····89370400440532013000", "card ····3000"} {
		bare := line(b, payout, "settled")
		bare.Account = shown
		_, err = b.Service.Reconcile(t.Context(), b.Operator, model.Report{Rail: modeltest.RailName}, reading([]model.ReportLine{bare}))
		require.Equal(t, []string{"/lines/0/account"}, fieldPointers(domainError(t, err)), shown)
	}
	_, err = b.Service.Reconcile(t.Context(), b.Acme, model.Report{Rail: modeltest.RailName}, reading(lines))
	require.Equal(t, apperr.CodeInsufficientScope, domainError(t, err).Code)
	require.Equal(t, before, b.CountRows())
}
