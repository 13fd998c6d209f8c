package operations_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims"
	"parapet/model/modeltest"
	"parapet/model/operations"
	"parapet/model/payouts/reconciliation"
	"parapet/model/wire"
)

// restoredStorm is a restored database that owes two parts, while its bank reports one
// payment of the whole amount before the restore.
type restoredStorm struct {
	*modeltest.Bundle

	policy *wire.Policy
	line   reconciliation.ReportLine
}

// restoreStorm takes the bank's report after the first fix of the storm was repeated, and
// repeats the second one after it. The bank reports the settled payment.
func restoreStorm(t *testing.T) *restoredStorm {
	t.Helper()
	return restoreStormWith(t, func(settled reconciliation.ReportLine) []reconciliation.ReportLine {
		return []reconciliation.ReportLine{settled}
	})
}

// restoreStormWith is restoreStorm with what the bank reports of the settled payment.
func restoreStormWith(t *testing.T, report func(settled reconciliation.ReportLine) []reconciliation.ReportLine) *restoredStorm {
	t.Helper()
	from := modeltest.New(t)
	policy := from.QuoteAndBind("cyclone-circle", nil)
	from.RecordPayoutMethod(modeltest.PolicyIBANMethod(policy.ID))
	from.RunJobs()
	r := &restoredStorm{Bundle: restoreCopy(t, from), policy: policy}
	fixes := stormInParts(from.Now())
	from.AdvanceClock(13 * time.Hour)
	from.Observe(fixes...)
	from.RunJobs()
	require.Len(t, from.Rail.Orders, 1)
	require.Equal(t, policy.Limit.Amount, from.Rail.Orders[0].Amount.Amount)
	r.line = modeltest.ReportLine(from, from.OnlyClaim(policy).Payouts[0], "settled")
	r.line.At = from.Now()

	modeltest.Must(r.Service.Operations.BeginRestore(t.Context(), r.Operator, operations.RestoreRequest{Reason: "The disk broke."}))
	r.AdvanceClock(13 * time.Hour)
	r.Observe(fixes[0])
	r.RunJobs()
	require.Positive(t, modeltest.Reconcile(t, r.Bundle, "since the backup", report(r.line)...).Results["amount"])
	r.Observe(fixes[1])
	runUntilIdle(r.Bundle)
	return r
}

// finish finishes the restore, as far as payments are explained, and resumes releases.
func (r *restoredStorm) finish(t *testing.T) {
	t.Helper()
	_, err := r.Service.Operations.FinishRestore(t.Context(), r.Operator, operations.RestoreRequest{Reason: "Answered.", WithoutReports: true})
	require.NoError(t, err)
	require.NoError(t, modeltest.ResumeReleases(t, r.Bundle, false))
	runUntilIdle(r.Bundle)
}

func (r *restoredStorm) parts() []wire.Payout { return r.OnlyClaim(r.policy).Payouts }

func requireMismatched(t *testing.T, payouts []wire.Payout) {
	t.Helper()
	require.Len(t, payouts, 2)
	for _, payout := range payouts {
		require.Equal(t, "blocked", payout.Status)
		require.Equal(t, "rail_mismatch", *payout.BlockedReason)
	}
}

func TestPaymentAboveItsPartBarsEveryPartOfTheClaim(t *testing.T) {
	t.Parallel()
	r := restoreStorm(t)
	modeltest.CloseExceptions(t, r.Bundle)
	r.finish(t)
	require.Empty(t, r.Rail.Orders, "the bank has paid the whole limit")
	requireMismatched(t, r.parts())
}

// The payment came back and was sent again under the next key before the restore: the
// bank still has that order.
func TestOrderUnderwayAboveItsPartBarsEveryPartOfTheClaim(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]func(settled reconciliation.ReportLine) []reconciliation.ReportLine{
		"the first order": func(line reconciliation.ReportLine) []reconciliation.ReportLine {
			line.Status = reconciliation.LineUnderway
			return []reconciliation.ReportLine{line}
		},
		"the order after a return": func(settled reconciliation.ReportLine) []reconciliation.ReportLine {
			back, again := settled, settled
			back.Status, back.At = reconciliation.LineReturned, settled.At.Add(time.Hour)
			again.Status, again.At, again.Reference = reconciliation.LineUnderway, settled.At.Add(2*time.Hour), "sent again"
			again.Key = debtOf(settled.Key) + ".2"
			return []reconciliation.ReportLine{settled, back, again}
		},
		"only the order after a return": func(settled reconciliation.ReportLine) []reconciliation.ReportLine {
			settled.Status, settled.Key = reconciliation.LineUnderway, debtOf(settled.Key)+".2"
			return []reconciliation.ReportLine{settled}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := restoreStormWith(t, lost)
			modeltest.CloseExceptions(t, r.Bundle)
			r.finish(t)
			require.Empty(t, r.Rail.Orders, "the bank has an order of the whole limit")
			requireMismatched(t, r.parts())
		})
	}
}

// Both parts exist when the report is imported.
func TestPaymentAboveItsPartBlocksThePartsThatWait(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("cyclone-circle", nil)
	fixes := stormInParts(b.Now())
	b.AdvanceClock(13 * time.Hour)
	for _, fix := range fixes {
		b.Observe(fix)
		b.RunJobs()
	}
	paid := modeltest.ReportLine(b, b.OnlyClaim(policy).Payouts[0], "settled")
	paid.Amount = policy.Limit
	require.Equal(t, map[string]int{"amount": 1}, modeltest.Reconcile(t, b, "monday", paid).Results)
	requireMismatched(t, b.OnlyClaim(policy).Payouts)
}

func TestRestoreIsNotFinishedWhileAReportedAmountDiffers(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"amount", "beneficiary", "state"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := restoreStorm(t)
			modeltest.ExecSQL(t, r.Bundle, "update reconciliation_exceptions set kind = $1", kind)
			in := operations.RestoreRequest{Reason: "Answered.", WithoutReports: true}
			_, err := r.Service.Operations.FinishRestore(t.Context(), r.Operator, in)
			require.ErrorContains(t, err, "1 payments that the rail reported since the restore differ")
			modeltest.ExecSQL(t, r.Bundle, "update reconciliation_exceptions set closed_at = now(), closed_by = 'olive', closed_reason = 'Answered.'")
			modeltest.Must(r.Service.Operations.FinishRestore(t.Context(), r.Operator, in))
			modeltest.ExecSQL(t, r.Bundle, "update reconciliation_exceptions set closed_at = null, closed_by = null, closed_reason = null")
			require.ErrorContains(t, modeltest.ResumeReleases(t, r.Bundle, true), "1 payments that the rail reported since the restore differ")
			modeltest.ExecSQL(t, r.Bundle, "update reconciliation_exceptions set created_at = (select begun_at from database_restores) - interval '1 second'")
			require.NoError(t, modeltest.ResumeReleases(t, r.Bundle, false), "it was made before the restore")
		})
	}
}

// A part is paid again only after an operator has closed the exception, or after the
// money was returned.
func TestPartBarredByAnExcessIsReplacedOnceThatIsAnswered(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(*testing.T, *restoredStorm){
		"by an operator": func(t *testing.T, r *restoredStorm) {
			t.Helper()
			modeltest.CloseExceptions(t, r.Bundle)
		},
		"by a return": func(t *testing.T, r *restoredStorm) {
			t.Helper()
			back := r.line
			back.Status, back.At = "returned", back.At.Add(time.Hour)
			modeltest.Reconcile(t, r.Bundle, "the return", back)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := restoreStorm(t)
			require.NotEmpty(t, modeltest.OpenExceptions(t, r.Bundle))
			second := r.parts()[1]
			if second.Status == "pending" { // it is blocked at the latest when it would be sent
				paid := modeltest.ReportLine(r.Bundle, r.parts()[0], "settled")
				paid.Amount, paid.Reference, paid.At = r.policy.Limit, "once more", r.line.At
				modeltest.Reconcile(t, r.Bundle, "blocks", paid)
				second = r.parts()[1]
			}
			_, err := modeltest.ResolvePayout(t, r.Bundle, second, claims.PayoutCancelled, "", false)
			require.ErrorContains(t, err, "close its exception of kind amount")
			answer(t, r)
			modeltest.Must(modeltest.ResolvePayout(t, r.Bundle, second, claims.PayoutCancelled, "", false))
			modeltest.CloseExceptions(t, r.Bundle)
			r.finish(t)
			again := r.parts()[2]
			modeltest.Must(modeltest.ApprovePayoutAs(t, r.Bundle, "ann", again))
			runUntilIdle(r.Bundle)
			require.Len(t, r.Rail.Orders, 1)
			require.Equal(t, again.Amount, r.Rail.Orders[0].Amount)
		})
	}
}
