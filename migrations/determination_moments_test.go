package migrations_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/migrations"
	"parapet/model/modeltest"
)

// TestOlderDeterminationsGainTheirMoment applies the migration to a claim whose
// determination has its moment in the receipt alone, as it was before.
func TestOlderDeterminationsGainTheirMoment(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("rain-excess", nil)
	station, first := policy.Cover.Place.Station, policy.EffectiveAt.Truncate(24*time.Hour).AddDate(0, 0, 8)
	b.AdvanceClock(30 * 24 * time.Hour)
	for i, mm := range []string{"90", "90", "90", "0", "0", "0"} {
		b.Observe(modeltest.StationDay(station, first.AddDate(0, 0, i), mm))
	}
	b.RunJobs()
	claim := b.OnlyClaim(policy)
	conn, err := b.DB.Pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	for _, statement := range []string{
		"update determinations set receipt = (receipt::jsonb || jsonb_build_object('occurred_at', body -> 'occurred_at'))::json",
		"update determinations set body = (body::jsonb - 'occurred_at')::json",
		"delete from bun_migrations where name = '20261127014248'",
	} {
		_, err := conn.Exec(t.Context(), statement)
		require.NoError(t, err, statement)
	}
	require.NotEqual(t, claim, b.OnlyClaim(policy))
	names, err := migrations.Apply(t.Context(), b.DB.Pool)
	require.NoError(t, err)
	require.Len(t, names, 1)
	require.Equal(t, claim, b.OnlyClaim(policy))
}
