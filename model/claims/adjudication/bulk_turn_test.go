package adjudication_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims/adjudication"
	"parapet/model/hazard/occurrence"
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

// TestPoliciesAreEvaluatedInTurn evaluates policies in a process that answers requests.
func TestPoliciesAreEvaluatedInTurn(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policies := bindMany(b, "quake-circle", 1)
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	b.RunJobs()
	giveBack := b.OccupyBulkWork()
	again := adjudication.EvaluatePolicies{Occurrence: occurrenceID(t, b, "us1"), Policies: []string{policies[0].ID}}
	require.NoError(t, b.Service.Adjudication.EvaluatePolicies(t.Context(), again))
	require.Nil(t, slicesOf(t, b)[1].DoneAt)
	giveBack()
	b.Sweep()
	b.RunJobs()
	require.NotNil(t, slicesOf(t, b)[1].DoneAt, "the sweep enqueued a worker")
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

// TestSlicesAreSmallWhileRequestsAreAnswered writes slices in a process that answers
// requests, and in one that does not.
func TestSlicesAreSmallWhileRequestsAreAnswered(t *testing.T) {
	t.Parallel()
	for busy, sizes := range map[bool][]int{true: {400, 20}, false: {420}} {
		b := modeltest.New(t, modeltest.WithoutChecks())
		b.CopyPolicies(420)
		if busy {
			t.Cleanup(b.OccupyBulkWork())
		}
		b.Observe(modeltest.Quake("us1", b.Now().Add(-time.Hour), modeltest.Epicentre, "6.9"))
		require.NoError(t, b.Service.Adjudication.Evaluate(t.Context(), b.LastJob().(occurrence.EvaluateOccurrences)))
		var written []int
		for _, slice := range slicesOf(t, b) {
			written = append(written, len(slice.Policies))
		}
		require.Equal(t, sizes, written)
	}
}
