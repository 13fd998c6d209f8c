package trigger

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
)

func TestQuakeReachesEqualsQuakeReachOfEachEarthquake(t *testing.T) {
	t.Parallel()
	cover := quakeCover()
	reach := cover.QuakeReaches()
	paying, deep := 0, 0
	for _, quake := range hazard.Shipped().Quakes() {
		want := cover.QuakeReach(quake)
		require.Equal(t, want, reach(quake), quake.EventID)
		if len(want) > 0 {
			paying++
		} else if quake.Magnitude.GreaterThan(mustDecimal("7")) {
			deep++
		}
	}
	require.Positive(t, paying)
	require.Positive(t, deep, "strong and too deep")
}
