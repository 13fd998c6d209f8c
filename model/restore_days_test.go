package model_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/model/kernel/actor"
	"parapet/model/modeltest"
)

// scripted is the rail that releases payouts in tests.
var scripted = model.RailIdentity{Name: modeltest.RailName}

// reportDay applies an empty report of the scripted rail for the day.
func reportDay(t *testing.T, b *modeltest.Bundle, day time.Time) {
	t.Helper()
	require.NoError(t, b.Service.SaveReportDay(t.Context(), scripted, day, reconcile(t, b, day.Format(time.DateOnly)).ID))
}

func TestRestoreFinishNeedsAReportOfEveryDaySinceTheLastHeartbeat(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	in := model.RestoreRequest{Reason: "The disk broke.", Rail: scripted}
	must(b.Service.BeginRestore(t.Context(), b.Operator, in))
	today := time.Now().UTC().Truncate(24 * time.Hour)
	execSQL(t, b, "update database_identity set heartbeat_at = $1", today.Add(-60*time.Hour))
	execSQL(t, b, "update database_restores set begun_at = $1::timestamptz + (select offset_interval from clock)", today.Add(12*time.Hour))
	day := func(ago int) string {
		return modeltest.RailName + "/" + today.AddDate(0, 0, -ago).Format(time.DateOnly)
	}
	refused := func(words ...string) {
		t.Helper()
		_, err := b.Service.FinishRestore(t.Context(), b.Operator, in)
		for _, word := range words {
			require.ErrorContains(t, err, word)
		}
	}

	reportDay(t, b, today)
	reportDay(t, b, today.AddDate(0, 0, -1))
	require.NoError(t, b.Service.SaveReportDay(t.Context(), scripted, today.AddDate(0, 0, -2), "")) // given up
	refused("2 days have no report", day(3)+", "+day(2), "--accept-day "+day(3))
	in.AcceptedDays = []string{day(3)}
	refused("1 days have no report", day(2))
	in.AcceptedDays = []string{day(3), day(2), day(1)}
	refused(day(1) + ": the day has a report")
	in.AcceptedDays = []string{day(2), day(3)}
	must(b.Service.FinishRestore(t.Context(), b.Operator, in))
}

func TestRestoreFinishAcceptsNoDayThatIsNotOver(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	in := model.RestoreRequest{Reason: "The disk broke.", Rail: scripted, SettlementDelay: 24 * time.Hour}
	must(b.Service.BeginRestore(t.Context(), b.Operator, in))
	today := time.Now().UTC().Truncate(24 * time.Hour)
	execSQL(t, b, "update database_identity set heartbeat_at = $1", today.Add(-time.Hour))
	for ahead := range 2 {
		in.AcceptedDays = []string{modeltest.RailName + "/" + today.AddDate(0, 0, ahead).Format(time.DateOnly)}
		_, err := b.Service.FinishRestore(t.Context(), b.Operator, in)
		require.ErrorContains(t, err, in.AcceptedDays[0]+": the day is not over")
	}
}

// Under one rail name an address moves to another bank, which knows nothing about the days
// of the first one; the first one has a payout.
func TestReportDaysAreThoseOfTheBank(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := owed(b)
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunAccountChecks()
	first, second := model.RailIdentity{Name: modeltest.RailName, Address: "https://first.example"}, model.RailIdentity{Name: modeltest.RailName, Address: "https://second.example"}
	require.NoError(t, b.Service.RegisterRail(t.Context(), second))
	order, _, err := b.Service.BeginRelease(t.Context(), first, "acme", only(t, b, claim).ID)
	require.NoError(t, err)
	_, err = b.Service.EndRelease(t.Context(), first.Name, order, modeltest.Unknown)
	require.NoError(t, err)
	today := time.Now().UTC().Truncate(24 * time.Hour)
	execSQL(t, b, "update payout_attempts set started_at = $1::timestamptz + (select offset_interval from clock)", today.Add(-36*time.Hour))
	day := func(ago int) string { return today.AddDate(0, 0, -ago).Format(time.DateOnly) }
	report := func(bank model.RailIdentity) string {
		return must(b.Service.Reconcile(t.Context(), actor.System(), model.Report{Rail: bank.Name, Bank: &bank, Name: day(2)}, reading(nil))).ID
	}
	execSQL(t, b, "update database_identity set heartbeat_at = $1", today.Add(-36*time.Hour))
	ofFirst, ofSecond := report(first), report(second)
	require.NotEqual(t, ofFirst, ofSecond, "two banks may say the same")
	require.NoError(t, b.Service.SaveReportDay(t.Context(), first, today.AddDate(0, 0, -2), ofFirst))
	require.NoError(t, b.Service.SaveReportDay(t.Context(), first, today.AddDate(0, 0, -1), "")) // given up

	require.Empty(t, must(b.Service.MissingReportDays(t.Context(), first, today)))
	require.Len(t, must(b.Service.MissingReportDays(t.Context(), second, today)), 2, "the day that was taken is another bank's")
	known := must(b.Service.KnownRails(t.Context(), b.Operator))
	require.Equal(t, []string{first.ID(), second.ID()}, []string{known[0].ID, known[1].ID})
	require.Equal(t, [][]string{{day(1)}, {}}, [][]string{known[0].DaysWithoutReport, known[1].DaysWithoutReport})

	in := model.RestoreRequest{Reason: "The disk broke.", Rail: second}
	must(b.Service.BeginRestore(t.Context(), b.Operator, in))
	execSQL(t, b, "update database_restores set begun_at = $1::timestamptz + (select offset_interval from clock)", today.Add(-time.Hour))
	name := func(bank model.RailIdentity, ago int) string { return bank.Name + "/" + bank.ID() + "/" + day(ago) }
	in.AcceptedDays = []string{name(second, 2), name(second, 1)}
	_, err = b.Service.FinishRestore(t.Context(), b.Operator, in)
	require.ErrorContains(t, err, "1 days have no report, so payments after the backup may be unknown: "+name(first, 1)+".")
	for _, who := range []string{"ann", "ben"} {
		must(b.Service.AdoptRail(t.Context(), operatorNamed(who), model.AdoptionRequest{From: first.ID(), To: second.ID(), Reason: "The bank moved."}))
	}
	require.Empty(t, must(b.Service.MissingReportDays(t.Context(), second, today)), "one bank's days are taken once")
}
