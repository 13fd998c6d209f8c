package model_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/model/modeltest"
)

// reportDay applies an empty report of the scripted rail for the day.
func reportDay(t *testing.T, b *modeltest.Bundle, day time.Time) {
	t.Helper()
	require.NoError(t, b.Service.TakeDay(t.Context(), modeltest.RailName, day, reconcile(t, b, day.Format(time.DateOnly)).ID))
}

func TestRestoreFinishNeedsAReportOfEveryDaySinceTheLastHeartbeat(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	in := model.RestoreRequest{Reason: "The disk broke.", Rail: modeltest.RailName}
	must(b.Service.BeginRestore(t.Context(), b.Operator, in))
	today := time.Now().UTC().Truncate(24 * time.Hour)
	execute(t, b, "update database_identity set heartbeat_at = $1", today.Add(-60*time.Hour))
	execute(t, b, "update database_restores set begun_at = $1::timestamptz + (select shift from clock)", today.Add(12*time.Hour))
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
	require.NoError(t, b.Service.TakeDay(t.Context(), modeltest.RailName, today.AddDate(0, 0, -2), "")) // given up
	refused("2 days have no report", day(3)+", "+day(2), "--accept-day "+day(3))
	in.AcceptedDays = []string{day(3)}
	refused("1 days have no report", day(2))
	in.AcceptedDays = []string{day(3), day(2), day(1)}
	refused(day(1) + ": the day has a report")
	in.AcceptedDays = []string{day(2), day(3)}
	must(b.Service.FinishRestore(t.Context(), b.Operator, in))
}
