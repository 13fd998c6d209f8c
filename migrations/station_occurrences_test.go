package migrations_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/migrations"
	"parapet/model"
	"parapet/model/modeltest"
)

// TestClaimsOfRainWindowsStayReadableAfterMigration applies the migration of occurrences at stations to a
// database with a claimed window of days, as they were before.
func TestClaimsOfRainWindowsStayReadableAfterMigration(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	policy := b.QuoteAndBind("rain-excess", modeltest.Context{"days": 3})
	station, first := policy.Cover.Place.Station, policy.EffectiveAt.Truncate(24*time.Hour).AddDate(0, 0, 1)
	b.AdvanceClock(30 * 24 * time.Hour)
	for i, mm := range []string{"50", "60", "70", "0", "0", "0"} {
		b.Observe(modeltest.StationDay(station, first.AddDate(0, 0, i), mm))
	}
	b.RunJobs()
	paid := b.OnlyClaim(policy)
	conn, err := b.DB.Pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	for _, statement := range []string{
		"drop index occurrences_station_idx, policies_definition_idx",
		"alter table occurrences drop constraint occurrences_source_event_key, drop constraint occurrences_station_check, drop column station, drop column definition",
		"alter table occurrences add constraint occurrences_source_event_key unique (scope, source, kind, source_event_id)",
		"alter table determinations drop constraint determinations_days_check, drop column first_day, drop column last_day",
		"alter table policies drop column definition, drop column days, drop column threshold",
		// A window had the name and the time of its last day.
		"update occurrences set occurred_at = last_at, source_event_id = '" + station + "/" + first.AddDate(0, 0, 2).Format(time.DateOnly) + "'",
		"delete from bun_migrations where name = '20261125200500'",
	} {
		_, err := conn.Exec(t.Context(), statement)
		require.NoError(t, err, statement)
	}
	names, err := migrations.Apply(t.Context(), b.DB.Pool)
	require.NoError(t, err)
	require.Len(t, names, 1)

	occurrence, err := b.Service.GetOccurrence(t.Context(), b.Acme, paid.Occurrence.ID)
	require.NoError(t, err)
	require.Equal(t, "window", *occurrence.Definition)
	require.Equal(t, station, *occurrence.Station)
	require.Equal(t, first, occurrence.OccurredAt)
	require.Equal(t, first.AddDate(0, 0, 2), occurrence.LastAt)
	days, err := b.Service.ListObservations(t.Context(), b.Acme, model.HazardFilter{OccurrenceID: occurrence.ID}, model.PageRequest{})
	require.NoError(t, err)
	require.Len(t, days.Data, 3)
	told, err := b.Service.Explain(t.Context(), b.Acme, policy.ID, model.OccurrenceRef{ID: &occurrence.ID})
	require.NoError(t, err)
	require.True(t, told.Pays)
	require.Equal(t, paid.ID, told.Claim.ID)

	// The policy goes on by spells, and the days of the window do not pay again.
	b.Observe(modeltest.StationDay(station, first.AddDate(0, 0, 3), "5"))
	for i, mm := range []string{"200", "0", "0", "0"} {
		b.Observe(modeltest.StationDay(station, first.AddDate(0, 0, 10+i), mm))
	}
	b.RunJobs()
	claims := b.Claims(policy)
	require.Len(t, claims, 2)
	require.Equal(t, paid.Amount, claims[0].Amount)
	require.Equal(t, "200", claims[1].Determination.Index.Value)
}
