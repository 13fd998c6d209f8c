package operations_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/actor"
	"parapet/model/modeltest"
	"parapet/model/operations"
	"parapet/model/payouts"
	"parapet/model/payouts/reconciliation"
	"parapet/model/payouts/release"
)

// scripted is the rail that releases payouts in tests.
var scripted = payouts.RailIdentity{Name: modeltest.RailName}

// reportDay applies an empty report of the scripted rail for the day.
func reportDay(t *testing.T, b *modeltest.Bundle, day time.Time) {
	t.Helper()
	require.NoError(t, b.Service.Reconciliation.SaveReportDay(t.Context(), scripted, day, modeltest.Reconcile(t, b, day.Format(time.DateOnly)).ID))
}

func TestRestoreFinishNeedsAReportOfEveryDaySinceTheLastHeartbeat(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	in := operations.RestoreRequest{Reason: "The disk broke.", Rail: scripted}
	modeltest.Must(b.Service.Operations.BeginRestore(t.Context(), b.Operator, in))
	today := time.Now().UTC().Truncate(24 * time.Hour)
	modeltest.ExecSQL(t, b, "update database_identity set heartbeat_at = $1", today.Add(-60*time.Hour))
	modeltest.ExecSQL(t, b, "update database_restores set begun_at = $1::timestamptz + (select offset_interval from clock)", today.Add(12*time.Hour))
	day := func(ago int) string {
		return modeltest.RailName + "/" + today.AddDate(0, 0, -ago).Format(time.DateOnly)
	}
	refused := func(words ...string) {
		t.Helper()
		_, err := b.Service.Operations.FinishRestore(t.Context(), b.Operator, in)
		for _, word := range words {
			require.ErrorContains(t, err, word)
		}
	}

	reportDay(t, b, today)
	reportDay(t, b, today.AddDate(0, 0, -1))
	require.NoError(t, b.Service.Reconciliation.SaveReportDay(t.Context(), scripted, today.AddDate(0, 0, -2), "")) // the day was skipped
	refused("2 days have no report", day(3)+", "+day(2), "--accept-day "+day(3))
	in.AcceptedDays = []string{day(3)}
	refused("1 days have no report", day(2))
	in.AcceptedDays = []string{day(3), day(2), day(1)}
	refused(day(1) + ": the day has a report")
	in.AcceptedDays = []string{day(2), day(3)}
	modeltest.Must(b.Service.Operations.FinishRestore(t.Context(), b.Operator, in))
}

func TestRestoreFinishAcceptsNoDayThatIsNotOver(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	in := operations.RestoreRequest{Reason: "The disk broke.", Rail: scripted, SettlementDelay: 24 * time.Hour}
	modeltest.Must(b.Service.Operations.BeginRestore(t.Context(), b.Operator, in))
	today := time.Now().UTC().Truncate(24 * time.Hour)
	modeltest.ExecSQL(t, b, "update database_identity set heartbeat_at = $1", today.Add(-time.Hour))
	for ahead := range 2 {
		in.AcceptedDays = []string{modeltest.RailName + "/" + today.AddDate(0, 0, ahead).Format(time.DateOnly)}
		_, err := b.Service.Operations.FinishRestore(t.Context(), b.Operator, in)
		require.ErrorContains(t, err, in.AcceptedDays[0]+": the day is not over")
	}
}

// Business time would make the events that waited for the end of the restore late at once.
func TestRestoreFinishSavesWhenEventsResume(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	in := operations.RestoreRequest{Reason: "The disk broke.", Rail: scripted, WithoutReports: true}
	modeltest.Must(b.Service.Operations.BeginRestore(t.Context(), b.Operator, in))
	b.AdvanceClock(time.Hour)
	modeltest.Must(b.Service.Operations.FinishRestore(t.Context(), b.Operator, in))
	var resumed, ended time.Time
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select events_resumed_at, ended_at from database_restores").Scan(&resumed, &ended))
	require.WithinDuration(t, ended.Add(-time.Hour), resumed, time.Minute)
}

// The address of one rail name changes to another bank, which knows nothing about the
// days of the first one; the first one has a payout.
func TestReportDaysAreThoseOfTheBank(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunAccountChecks()
	first, second := payouts.RailIdentity{Name: modeltest.RailName, Address: "https://first.example"}, payouts.RailIdentity{Name: modeltest.RailName, Address: "https://second.example"}
	require.NoError(t, b.Service.Releases.RegisterRail(t.Context(), second))
	order, _, err := b.Service.Releases.BeginRelease(t.Context(), first, "acme", modeltest.OnlyPayout(t, b, claim).ID)
	require.NoError(t, err)
	_, err = b.Service.Releases.EndRelease(t.Context(), first.Name, order, modeltest.Unknown)
	require.NoError(t, err)
	today := time.Now().UTC().Truncate(24 * time.Hour)
	modeltest.ExecSQL(t, b, "update payout_attempts set started_at = $1::timestamptz + (select offset_interval from clock)", today.Add(-36*time.Hour))
	day := func(ago int) string { return today.AddDate(0, 0, -ago).Format(time.DateOnly) }
	report := func(bank payouts.RailIdentity) string {
		return modeltest.Must(b.Service.Reconciliation.Reconcile(t.Context(), actor.System(), reconciliation.Report{Rail: bank.Name, Bank: &bank, Name: day(2)}, modeltest.ReadLines(nil))).ID
	}
	modeltest.ExecSQL(t, b, "update database_identity set heartbeat_at = $1", today.Add(-36*time.Hour))
	ofFirst, ofSecond := report(first), report(second)
	require.NotEqual(t, ofFirst, ofSecond, "two banks may say the same")
	require.NoError(t, b.Service.Reconciliation.SaveReportDay(t.Context(), first, today.AddDate(0, 0, -2), ofFirst))
	require.NoError(t, b.Service.Reconciliation.SaveReportDay(t.Context(), first, today.AddDate(0, 0, -1), "")) // the day was skipped

	require.Empty(t, modeltest.Must(b.Service.Reconciliation.MissingReportDays(t.Context(), first, today)))
	require.Len(t, modeltest.Must(b.Service.Reconciliation.MissingReportDays(t.Context(), second, today)), 2, "the day that was taken is another bank's")
	known := modeltest.Must(b.Service.Releases.KnownRails(t.Context(), b.Operator))
	require.Equal(t, []string{first.ID(), second.ID()}, []string{known[0].ID, known[1].ID})
	require.Equal(t, [][]string{{day(1)}, {}}, [][]string{known[0].DaysWithoutReport, known[1].DaysWithoutReport})

	in := operations.RestoreRequest{Reason: "The disk broke.", Rail: second}
	modeltest.Must(b.Service.Operations.BeginRestore(t.Context(), b.Operator, in))
	modeltest.ExecSQL(t, b, "update database_restores set begun_at = $1::timestamptz + (select offset_interval from clock)", today.Add(-time.Hour))
	name := func(bank payouts.RailIdentity, ago int) string { return bank.Name + "/" + bank.ID() + "/" + day(ago) }
	in.AcceptedDays = []string{name(second, 2), name(second, 1)}
	_, err = b.Service.Operations.FinishRestore(t.Context(), b.Operator, in)
	require.ErrorContains(t, err, "1 days have no report, so payments after the backup may be unknown: "+name(first, 1)+".")
	for _, who := range []string{"ann", "ben"} {
		modeltest.Must(b.Service.Releases.AdoptRail(t.Context(), modeltest.OperatorNamed(who), release.AdoptionRequest{From: first.ID(), To: second.ID(), Reason: "The bank moved."}))
	}
	require.Empty(t, modeltest.Must(b.Service.Reconciliation.MissingReportDays(t.Context(), second, today)), "one bank's days are taken once")
}
