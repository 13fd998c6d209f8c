package model_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/model/modeltest"
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

// TestReportedRefusalInDoubtIsConfirmedBeforeTheNextKey loses the bank's answer, which
// had paid, and reads a report that says it refused.
func TestReportedRefusalInDoubtIsConfirmedBeforeTheNextKey(t *testing.T) {
	t.Parallel()
	b, claim, payout := newPayoutWithAnswer(t, modeltest.Unknown)
	require.Equal(t, map[string]int{"rejected": 1}, reconcile(t, b, "rejected", line(b, payout, "rejected")).Results)
	asked := only(t, b, claim)
	require.Equal(t, "reconciling", asked.Status)
	require.False(t, asked.NextAttemptAt.After(b.Now()), "the rail is asked at once")
	b.Rail.Answer = nil
	replaceAccount(b, claim)
	b.RunJobs()
	require.Equal(t, "released", only(t, b, claim).Status)
	require.Len(t, b.Rail.Orders, 2)
	require.Equal(t, b.RailKey(payout.ID, 1), b.Rail.Orders[1].Key)
	require.True(t, b.Rail.Orders[1].InDoubt && b.Rail.Orders[1].RefusalReported)
	require.Contains(t, findings(t, b), "contradiction")
}

// TestReportedRefusalWaitsForTheCallThatIsRunning reads the report while a worker has the
// order: no other worker gets it, and the rail's answer overrides the report.
func TestReportedRefusalWaitsForTheCallThatIsRunning(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]model.RailAnswer{"accepted": modeltest.Accepted, "refused": modeltest.Refused} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, claim, order := inFlight(t)
			lease := only(t, b, claim).NextAttemptAt
			require.Equal(t, map[string]int{"rejected": 1}, reconcile(t, b, "rejected", line(b, only(t, b, claim), "rejected")).Results)
			require.Equal(t, "releasing", only(t, b, claim).Status)
			require.Equal(t, lease, only(t, b, claim).NextAttemptAt)
			b.RunJobs()
			require.Empty(t, b.Rail.Orders)
			ended, err := b.Service.EndRelease(t.Context(), modeltest.RailName, order, answer)
			require.NoError(t, err)
			require.Equal(t, answer.Outcome == model.OutcomeAccepted, ended.Contradiction)
			require.Equal(t, answer.Outcome == model.OutcomeAccepted, only(t, b, claim).Status == "released")
		})
	}
}

// TestRepeatedReportedRefusalAsksOnce reads two reports that say the same.
func TestRepeatedReportedRefusalAsksOnce(t *testing.T) {
	t.Parallel()
	b, claim, payout := newPayoutWithAnswer(t, modeltest.Unknown)
	reconcile(t, b, "one", line(b, payout, "rejected"))
	version := only(t, b, claim).Version
	reconcile(t, b, "two", line(b, payout, "rejected"))
	require.Equal(t, version, only(t, b, claim).Version)
}
