package adjudication_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
)

// TestSliceWaitsForItsTurn decides slices in a process that answers requests. The first
// slices of an event need no turn, so that small events never wait.
func TestSliceWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	b.CopyPolicies(3)
	giveBack := b.OccupyBulkWork()
	b.Observe(modeltest.Quake("us1", b.Now().Add(-time.Hour), modeltest.Epicentre, "6.9"))
	b.RunJobs()
	requireOneClaimEach(t, b, 3)
	_, err := b.DB.Pool.Exec(t.Context(), "update matching_slices set done_at = null")
	require.NoError(t, err)
	requireDecided := func(decided bool) {
		more, err := b.Service.Adjudication.DecideSlices(t.Context())
		require.NoError(t, err)
		require.Equal(t, !decided, more)
		require.Equal(t, decided, slicesOf(t, b)[0].DoneAt != nil)
	}
	requireDecided(false)
	require.Zero(t, slicesOf(t, b)[0].Attempts, "waiting is no failure")
	giveBack()
	requireDecided(true)
	requireOneClaimEach(t, b, 3)
}

// TestSliceBeginsOnlyWithTimeLeft decides slices in a job whose deadline is near.
func TestSliceBeginsOnlyWithTimeLeft(t *testing.T) {
	t.Parallel()
	for left, more := range map[time.Duration]bool{14 * time.Second: true, 20 * time.Second: false} {
		b := modeltest.New(t)
		b.CopyPolicies(1)
		b.Observe(modeltest.Quake("us1", b.Now().Add(-time.Hour), modeltest.Epicentre, "6.9"))
		b.RunJobs()
		_, err := b.DB.Pool.Exec(t.Context(), "update matching_slices set done_at = null")
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), left)
		found, err := b.Service.Adjudication.DecideSlices(ctx)
		cancel()
		require.NoError(t, err)
		require.Equal(t, more, found)
		require.Equal(t, more, slicesOf(t, b)[0].DoneAt == nil)
		_, err = b.Service.Adjudication.DecideSlices(t.Context())
		require.NoError(t, err)
	}
}
