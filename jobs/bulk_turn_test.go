package jobs

import (
	"testing"

	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"

	"parapet/jobs/rail"
	"parapet/model/payouts"
)

// TestGroupWaitsForItsTurn releases payouts in a process that answers requests.
func TestGroupWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	b, fleet := s.openGroupBank(2, 2)
	giveBack := s.OccupyBulkWork()
	requireWaits(t, s, b.newRail())
	require.Empty(t, b.Groups())
	giveBack()
	require.NoError(t, s.runReleaseBatch(b.newRail()))
	require.Equal(t, []string{"released", "released"}, s.statusesOf(fleet))
	turn, err := s.Service.Bulk.Enter(t.Context())
	require.NoError(t, err, "the group gave its turn back")
	turn()
}

// TestBatchWaitsForItsTurn is TestGroupWaitsForItsTurn for a rail of files.
func TestBatchWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	files, _ := s.writtenFiles()
	fleet := s.createPendingPayouts(1)
	giveBack := s.OccupyBulkWork()
	requireWaits(t, s, files)
	require.Equal(t, []string{"pending"}, s.statusesOf(fleet))
	giveBack()
	require.NoError(t, s.runReleaseBatch(files))
	require.Equal(t, []string{"released"}, s.statusesOf(fleet))
}

// requireWaits checks that a job releases no payout while all turns are taken.
func requireWaits(t *testing.T, s *fixture, by rail.Rail) {
	t.Helper()
	worker := &releaseBatch{service: s.Service, rail: by, log: s.newLogger(), single: &releasePayout{service: s.Service, rail: by, log: s.newLogger()}}
	isSnoozed(t, worker.Work(t.Context(), &river.Job[payouts.ReleaseBatch]{}))
}
