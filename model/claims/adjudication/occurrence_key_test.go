package adjudication_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
)

// TestOccurrenceKeysNameTheDefinitionAtStations pays a quake and a wet modeltest.RainSpell.
func TestOccurrenceKeysNameTheDefinitionAtStations(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("rain-excess", modeltest.Context{"days": 2})
	station := policy.Cover.Place.Station
	modeltest.NewApprovedClaim(b)
	b.AdvanceClock(12 * modeltest.Day)
	modeltest.ObserveRain(b, policy, policy.EffectiveAt.Truncate(modeltest.Day).AddDate(0, 0, 1), "5", "100", "90", "40", "1", "0", "0", "0", "90")
	b.OnlyClaim(policy)
	rows, err := b.DB.Pool.Query(t.Context(), "select occurrence_key from claims order by id")
	require.NoError(t, err)
	var keys []string
	for rows.Next() {
		var key string
		require.NoError(t, rows.Scan(&key))
		keys = append(keys, key)
	}
	require.NoError(t, rows.Err())
	require.Len(t, keys, 2)
	require.Equal(t, "usgs/earthquake/us1", keys[0])
	require.Regexp(t, "^ghcn/station_day/"+station+`/\d{4}-\d\d-\d\d/.+`, keys[1])
}
