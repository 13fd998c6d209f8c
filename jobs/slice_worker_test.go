package jobs

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun"

	"parapet/model/claims/adjudication"
	"parapet/model/kernel/store"
)

// TestSliceOfADeadWorkerIsDecidedBeforeItsJobIsRescued leaves a slice, and a job of a
// process that died, as the queue shows it: still running.
func TestSliceOfADeadWorkerIsDecidedBeforeItsJobIsRescued(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.createClaim()
	s.execSQL("delete from river.river_job") // the matching of the claim's event
	s.execSQL("update matching_slices set done_at = null")
	queue, err := NewQueue(s.pool)
	require.NoError(t, err)
	require.NoError(t, s.asking(func(ctx context.Context, conn bun.Conn) error {
		return queue.Insert(ctx, conn, []store.Job{adjudication.DecideSlices{}})
	}))
	const dead = "river.river_job where state = 'running' and attempted_by = array['dead']"
	s.execSQL("update river.river_job set state = 'running', attempt = 1, attempted_at = now(), attempted_by = array['dead'] where kind = 'decide_slices'")
	require.Equal(t, 1, s.countRows(dead))
	s.startWorkers()
	s.requireEventually(func() bool { return s.countRows("matching_slices where done_at is null") == 0 }, "another worker decides the slice")
	require.Equal(t, 1, s.countRows(dead))
}
