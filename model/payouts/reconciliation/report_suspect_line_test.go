package reconciliation_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/payouts/reconciliation"
	"parapet/model/wire"
)

// strangeLine returns a line that names a policy and none of its debts.
func strangeLine(policy, digest string) reconciliation.ReportLine {
	return reconciliation.ReportLine{Key: policy + "." + digest, Reference: "lost-1", Amount: *modeltest.NewUSD(1_000), Account: "iban ····3000", Status: reconciliation.LineSettled}
}

func TestSuspectLineHoldsPolicyPayoutsUntilExceptionIsClosed(t *testing.T) {
	t.Parallel()
	for name, digest := range map[string]string{"a whole key": "0123456789abcdef.1", "what a file had room for": "01234567"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := modeltest.New(t)
			barred, other := b.QuoteAndBind("quake-circle", nil), b.QuoteAndBind("quake-circle", nil)
			b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
			b.RunJobs()
			require.Equal(t, map[string]int{"unknown": 1}, modeltest.Reconcile(t, b, "monday", strangeLine(barred.ID, digest)).Results)
			for _, policy := range []*wire.Policy{barred, other} {
				b.RecordPayoutMethod(modeltest.PolicyIBANMethod(policy.ID))
			}
			for range 3 {
				b.RunJobs()
				b.Sweep()
				b.AdvanceClock(time.Minute)
			}
			require.Equal(t, "released", modeltest.OnlyPayout(t, b, b.OnlyClaim(other)).Status)
			waits := modeltest.OnlyPayout(t, b, b.OnlyClaim(barred))
			require.Equal(t, "pending", waits.Status)
			require.Nil(t, waits.NextAttemptAt)
			story := b.Timeline(waits.ClaimID)
			require.Contains(t, story[len(story)-1].Summary, "an unknown payment for the policy")
			require.Len(t, b.Rail.Orders, 1)
			exception := modeltest.Must(b.Service.Reconciliation.ListExceptions(t.Context(), b.Operator, false, store.PageRequest{})).Data[0]
			require.Equal(t, []any{barred.ID, "iban ····3000", *modeltest.NewUSD(1_000)}, []any{*exception.PolicyID, *exception.Account, *exception.Amount})

			modeltest.CloseExceptions(t, b)
			b.Sweep()
			b.RunJobs()
			require.Equal(t, "released", modeltest.OnlyPayout(t, b, b.OnlyClaim(barred)).Status)
		})
	}
}

func TestPayoutInDoubtIsOnlyInquiredWhilePolicyHasSuspectLine(t *testing.T) {
	t.Parallel()
	b, _, payout := modeltest.NewPayoutWithAnswer(t, modeltest.Unknown)
	modeltest.Reconcile(t, b, "monday", strangeLine(payout.PolicyID, "0123456789abcdef.1"))
	b.AdvanceClock(time.Hour)
	order, _, err := b.Service.Releases.BeginRelease(t.Context(), modeltest.ScriptedRail, "acme", payout.ID)
	require.NoError(t, err)
	require.True(t, order.InDoubt)
	require.True(t, order.InquireOnly)
}

func TestReleasesAreNotResumedWhileALineIsUnanswered(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	modeltest.StopReleases(t, b)
	modeltest.Reconcile(t, b, "monday", strangeLine(policy.ID, "0123456789abcdef.1"), reconciliation.ReportLine{Key: "unknown", Reference: "2", Amount: *modeltest.NewUSD(5), Status: reconciliation.LineUnderway})
	for _, acknowledge := range []bool{false, true} {
		refused := modeltest.DomainError(t, modeltest.ResumeReleases(t, b, acknowledge))
		require.Equal(t, apperr.CodeStateConflict, refused.Code)
		require.Contains(t, refused.Detail, "2 payments that this server does not know")
	}
	modeltest.CloseExceptions(t, b)
	require.NoError(t, modeltest.ResumeReleases(t, b, false))
}

// lostDebt is a debt that a bank knows, in a database that was restored from before the
// debt.
func lostDebt(t *testing.T, tables ...string) (restored *modeltest.Bundle, paid reconciliation.ReportLine, policy *wire.Policy, quake wire.ObservationInput) {
	t.Helper()
	first, restored := modeltest.New(t), modeltest.New(t, modeltest.WithoutChecks())
	policy = first.QuoteAndBind("quake-circle", nil)
	first.RecordPayoutMethod(modeltest.PolicyIBANMethod(policy.ID))
	first.RunAccountChecks()
	modeltest.CopyTables(t, first, restored, append(tables, "quotes", "policies")...)
	quake = modeltest.Quake("us1", first.Now(), modeltest.Epicentre, "6.4")
	first.Observe(quake)
	first.RunJobs()
	order := first.Rail.Orders[0]
	return restored, reconciliation.ReportLine{Key: order.Key, Reference: "ref-1", Amount: order.Amount, Account: "iban ····3000", Status: reconciliation.LineSettled}, policy, quake
}

// TestLineSettlesADebtThatAppearsLater reports a payment before the debt is known, and
// then has the source repeat its quake.
func TestLineSettlesADebtThatAppearsLater(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]struct {
		change   func(*reconciliation.ReportLine)
		answered bool // the exception was closed before the debt appeared
		homeless bool // the account was recorded after the backup
		want     string
	}{
		"settled":                  {want: "reconciled"},
		"settled and answered":     {answered: true, want: "reconciled"},
		"without an account":       {homeless: true, want: "reconciled"},
		"on its way":               {change: func(l *reconciliation.ReportLine) { l.Status = reconciliation.LineUnderway }, want: "released"},
		"by a file's key":          {change: shorten, want: "reconciled"},
		"by a file's key answered": {change: shorten, answered: true, want: "reconciled"},
		"under the second key":     {change: func(l *reconciliation.ReportLine) { l.Key = strings.TrimSuffix(l.Key, "1") + "2" }, want: "reconciled"},
		"another sum":              {change: func(l *reconciliation.ReportLine) { l.Amount.Amount-- }, want: "blocked"},
		"another sum on its way":   {change: func(l *reconciliation.ReportLine) { l.Amount.Amount--; l.Status = reconciliation.LineUnderway }, want: "blocked"},
		"another account":          {change: func(l *reconciliation.ReportLine) { l.Account = "iban ····9999" }, want: "blocked"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tables := []string{"payout_methods"}
			if lost.homeless {
				tables = nil
			}
			b, paid, policy, quake := lostDebt(t, tables...)
			if lost.change != nil {
				lost.change(&paid)
			}
			require.Equal(t, map[string]int{"unknown": 1}, modeltest.Reconcile(t, b, "monday", paid).Results)
			if lost.answered {
				modeltest.CloseExceptions(t, b)
			}
			b.Observe(quake)
			for range 3 {
				b.RunJobs()
				b.Sweep()
				b.AdvanceClock(time.Minute)
			}
			require.Empty(t, b.Rail.Orders, "it is not sent again")
			require.Equal(t, lost.want, modeltest.OnlyPayout(t, b, b.OnlyClaim(policy)).Status)
			require.NotContains(t, modeltest.OpenExceptions(t, b), "unknown")
		})
	}
}

// shorten leaves of a line's key what a file of ISO 20022 has room for.
func shorten(line *reconciliation.ReportLine) {
	policy, _, _ := strings.Cut(line.Key, ".")
	digest := sha256.Sum256([]byte(line.Key))
	line.Key = policy + "." + hex.EncodeToString(digest[:4])
}

// TestLineOfAnotherRailIsMatchedAgainOnce leaves a line open that names a debt which
// another rail was given: it must not be matched for ever.
func TestLineOfAnotherRailIsMatchedAgainOnce(t *testing.T) {
	t.Parallel()
	b, _, payout := modeltest.NewPayoutWithAnswer(t, modeltest.Unknown)
	paid := modeltest.ReportLine(b, payout, reconciliation.LineSettled)
	_, err := b.Service.Reconciliation.Reconcile(t.Context(), b.Operator, reconciliation.Report{Rail: "elsewhere", Name: "monday"}, modeltest.ReadLines([]reconciliation.ReportLine{paid}))
	require.NoError(t, err)
	for range 3 {
		b.Sweep()
	}
	require.Equal(t, []string{"unknown"}, modeltest.OpenExceptions(t, b))
	require.Len(t, modeltest.Must(b.Service.Reconciliation.ListExceptions(t.Context(), b.Operator, true, store.PageRequest{})).Data, 1)
	require.Equal(t, "reconciling", modeltest.OnlyPayout(t, b, b.Claim(payout.ClaimID)).Status)
}
