package occurrence_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/underwriting/capacity"
	"parapet/model/wire"
)

// moratoria returns the moratoria that have not ended, oldest first.
func moratoria(t *testing.T, b *modeltest.Bundle) []capacity.MoratoriumRow {
	t.Helper()
	var rows []capacity.MoratoriumRow
	require.NoError(t, b.DB.Bun.NewSelect().Model(&rows).Where("ends_at > business_now()").OrderExpr("starts_at, id").Scan(t.Context()))
	return rows
}

func TestMoratoriumOfAStormHasAllItsRecentFixes(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	require.NoError(t, b.Service.Capacity.ApplyShippedMoratoriumRules(t.Context(), true))
	at := b.Now().Truncate(time.Second)
	places := []hazard.Point{{Latitude: 10, Longitude: -50}, {Latitude: 12, Longitude: -55}, {Latitude: 14, Longitude: -60}}
	fixes := []wire.ObservationInput{
		modeltest.Fix("AL01", at, places[2], "60"), modeltest.Fix("AL01", at.Add(-47*time.Hour), places[0], "60"),
		modeltest.Fix("AL01", at.Add(-6*time.Hour), places[1], "60"), modeltest.Fix("AL01", at.Add(-49*time.Hour), modeltest.Miami, "60"),
	}
	b.Observe(fixes...)
	rows := moratoria(t, b)
	require.Len(t, rows, 1)
	var readings []capacity.MoratoriumReading
	for i, ends := range []time.Duration{time.Hour, 42 * time.Hour, 48 * time.Hour} {
		readings = append(readings, capacity.MoratoriumReading{Latitude: places[i].Latitude, Longitude: places[i].Longitude, EndsAt: at.Add(ends)})
	}
	require.Equal(t, readings, rows[0].Readings, "oldest first, without the fix whose 48 hours are over")
	require.True(t, at.Add(48*time.Hour).Equal(rows[0].EndsAt))
	require.Equal(t, []float64{14, -60, 1000}, []float64{*rows[0].Latitude, *rows[0].Longitude, *rows[0].RadiusKM}, "at the last fix")
	require.Equal(t, "A storm (AL01 of nhc) was near it at "+at.Format(time.RFC3339)+".", rows[0].Reason)
	require.EqualValues(t, 1, rows[0].Version)

	b.Observe(fixes...)
	require.Equal(t, rows, moratoria(t, b), "the same reports change nothing")
	fixes[0].Measures = measures("wind", "61", "kn")
	b.Observe(fixes[0])
	require.Equal(t, rows, moratoria(t, b), "nor does a stronger wind at the same place")
	fixes[0].Location = &hazard.Point{Latitude: 15, Longitude: -60}
	b.Observe(fixes[0])
	moved := moratoria(t, b)
	require.Len(t, moved, 1)
	require.Equal(t, rows[0].ID, moved[0].ID)
	require.EqualValues(t, 2, moved[0].Version)
	require.InDelta(t, 15, *moved[0].Latitude, 0)
	require.InDelta(t, 15, moved[0].Readings[2].Latitude, 0)
}

func TestMergedEventHasOneMoratorium(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	require.NoError(t, b.Service.Capacity.ApplyShippedMoratoriumRules(t.Context(), true))
	at := b.Now()
	first, other := modeltest.Quake("us1", at.Add(-time.Hour), modeltest.Epicentre, "6.4"), modeltest.Quake("tw1", at, modeltest.Hualien, "6.1")
	b.Observe(first)
	b.Observe(other)
	apart := moratoria(t, b)
	require.Len(t, apart, 2)
	first.Aliases = []string{"tw1"}
	b.Observe(first)
	joined := moratoria(t, b)
	require.Len(t, joined, 1, "that of the occurrence that was merged has ended")
	require.Equal(t, apart[0].ID, joined[0].ID)
	require.Len(t, joined[0].Readings, 2)
	require.Equal(t, "An earthquake of magnitude 6.1 (tw1 of usgs) happened near it on "+at.Format(time.DateOnly)+".", joined[0].Reason)
}

func TestRulesApplyToRecentEventsAsSoonAsTheyAreSet(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	at := b.Now()
	rehearsed := modeltest.Quake("drill", at, modeltest.Epicentre, "8")
	_, _, err := b.Service.Occurrences.RecordObservation(t.Context(), b.Acme, rehearsed, true)
	require.NoError(t, err)
	nowhere := modeltest.StationDay("Seattle", at.Truncate(24*time.Hour), "500")
	b.Observe(
		modeltest.Quake("strong", at, modeltest.Epicentre, "6"), modeltest.Quake("weak", at, modeltest.Epicentre, "5.9"), nowhere,
		modeltest.Quake("old", at.Add(-72*time.Hour), modeltest.Epicentre, "8"), modeltest.Quake("ancient", at.Add(-capacity.MaxRuleDuration), modeltest.Epicentre, "8"),
	)
	require.Empty(t, moratoria(t, b), "there are no rules")
	require.NoError(t, b.Service.Capacity.ApplyShippedMoratoriumRules(t.Context(), true))
	rows := moratoria(t, b)
	require.Len(t, rows, 1)
	require.Contains(t, rows[0].Reason, "strong of usgs")
	update := func() {
		require.NoError(t, b.Service.Occurrences.InTx(t.Context(), b.Operator, func(ctx context.Context, tx *store.Tx) error {
			return occurrence.UpdateRecentMoratoria(ctx, tx)
		}))
	}
	update()
	require.Equal(t, rows, moratoria(t, b))
	b.AdvanceClock(72 * time.Hour)
	update()
	require.Empty(t, moratoria(t, b))
	b.Observe(modeltest.Quake("next", b.Now(), modeltest.Hualien, "6.4"))
	require.True(t, slices.ContainsFunc(moratoria(t, b), func(m capacity.MoratoriumRow) bool { return *m.Kind == "earthquake" }))
}
