package adjudication_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard/trigger"
	"parapet/model/modeltest"
)

// TestRetractionKeepsTheTimeOfTheReading retracts a reading by its name alone.
func TestRetractionKeepsTheTimeOfTheReading(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	reading := modeltest.ObserveQuake(b, "us1", "6.4", trigger.Final)
	b.Observe(modeltest.NewRetraction("us1"))
	var at time.Time
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select occurred_at from observations where stage = 'retracted'").Scan(&at))
	require.True(t, at.Equal(reading.OccurredAt.Truncate(time.Microsecond)), "%s is not %s", at, reading.OccurredAt)
}
