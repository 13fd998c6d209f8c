package adjudication_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard/occurrence"
	"parapet/model/modeltest"
)

// TestSliceWaitsForItsTurn decides slices in a process that answers requests.
func TestSliceWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	b.CopyPolicies(3)
	b.Observe(modeltest.Quake("us1", b.Now().Add(-time.Hour), modeltest.Epicentre, "6.9"))
	giveBack := b.OccupyBulkWork()
	b.RequireNoTurn(func(ctx context.Context) error {
		return b.Service.Adjudication.Evaluate(ctx, b.LastJob().(occurrence.EvaluateOccurrences))
	})
	require.NotEmpty(t, slicesOf(t, b))
	decide := func(ctx context.Context) error { _, err := b.Service.Adjudication.DecideSlices(ctx); return err }
	b.RequireNoTurn(decide)
	require.Nil(t, slicesOf(t, b)[0].DoneAt)
	require.Zero(t, slicesOf(t, b)[0].Attempts, "waiting is no failure")
	giveBack()
	require.NoError(t, decide(t.Context()))
	requireOneClaimEach(t, b, 3)
}
