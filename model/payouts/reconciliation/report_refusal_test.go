package reconciliation_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
	"parapet/model/payouts"
)

// reportedRefusals returns for each attempt whether a report refused its key.
func reportedRefusals(t *testing.T, b *modeltest.Bundle) []bool {
	t.Helper()
	rows, err := b.DB.Pool.Query(t.Context(), "select refusal_reported_at is not null from payout_attempts order by number")
	require.NoError(t, err)
	reported, err := pgx.CollectRows(rows, pgx.RowTo[bool])
	require.NoError(t, err)
	return reported
}

// TestReportedRefusalInDoubtIsConfirmedBeforeTheNextKey loses the answer of a bank that
// paid, and imports a report that shows a refusal.
func TestReportedRefusalInDoubtIsConfirmedBeforeTheNextKey(t *testing.T) {
	t.Parallel()
	b, claim, payout := modeltest.NewPayoutWithAnswer(t, modeltest.Unknown)
	require.Equal(t, map[string]int{"rejected": 1}, modeltest.Reconcile(t, b, "rejected", modeltest.ReportLine(b, payout, "rejected")).Results)
	asked := modeltest.OnlyPayout(t, b, claim)
	require.Equal(t, "reconciling", asked.Status)
	require.False(t, asked.NextAttemptAt.After(b.Now()), "the rail is asked at once")
	b.Rail.Answer = nil
	modeltest.ReplaceAccount(b, claim)
	b.RunJobs()
	require.Equal(t, "released", modeltest.OnlyPayout(t, b, claim).Status)
	require.Len(t, b.Rail.Orders, 2)
	require.Equal(t, b.RailKey(payout.ID, 1), b.Rail.Orders[1].Key)
	require.True(t, b.Rail.Orders[1].InDoubt && b.Rail.Orders[1].RefusalReported)
	require.Contains(t, modeltest.OpenExceptions(t, b), "contradiction")
}

// TestReportedRefusalWaitsForTheCallThatIsRunning imports the report while a worker has
// the order: no other worker gets it, and the rail's answer overrides the report.
func TestReportedRefusalWaitsForTheCallThatIsRunning(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]payouts.RailAnswer{"accepted": modeltest.Accepted, "refused": modeltest.Refused} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, claim, order := modeltest.NewPayoutInFlight(t)
			lease := modeltest.OnlyPayout(t, b, claim).NextAttemptAt
			require.Equal(t, map[string]int{"rejected": 1}, modeltest.Reconcile(t, b, "rejected", modeltest.ReportLine(b, modeltest.OnlyPayout(t, b, claim), "rejected")).Results)
			require.Equal(t, "releasing", modeltest.OnlyPayout(t, b, claim).Status)
			require.Equal(t, lease, modeltest.OnlyPayout(t, b, claim).NextAttemptAt)
			b.RunJobs()
			require.Empty(t, b.Rail.Orders)
			ended, err := b.Service.Releases.EndRelease(t.Context(), modeltest.RailName, order, answer)
			require.NoError(t, err)
			require.Equal(t, answer.Outcome == payouts.OutcomeAccepted, ended.Contradiction)
			require.Equal(t, answer.Outcome == payouts.OutcomeAccepted, modeltest.OnlyPayout(t, b, claim).Status == "released")
		})
	}
}

// TestRepeatedReportedRefusalAsksOnce imports two reports with the same refusal.
func TestRepeatedReportedRefusalAsksOnce(t *testing.T) {
	t.Parallel()
	b, claim, payout := modeltest.NewPayoutWithAnswer(t, modeltest.Unknown)
	modeltest.Reconcile(t, b, "one", modeltest.ReportLine(b, payout, "rejected"))
	version := modeltest.OnlyPayout(t, b, claim).Version
	modeltest.Reconcile(t, b, "two", modeltest.ReportLine(b, payout, "rejected"))
	require.Equal(t, version, modeltest.OnlyPayout(t, b, claim).Version)
}
