package jobs

import (
	"testing"

	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"

	"parapet/jobs/rail"
	"parapet/jobs/rail/httprail"
	"parapet/model/modeltest"
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
	require.Equal(t, modeltest.BulkTurns(), s.FreeBulkTurns(), "the group gave its turn back")
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

func TestAnswersOfAGroupAreRecordedInATurn(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	b, _ := s.openGroupBank(2, 2)
	s.OccupyBulkWork()()
	blocked, ended := make(chan modeltest.BlockingTx, 1), make(chan error, 1)
	b.OnGroup(0, func(*httprail.TransferGroup) { blocked <- s.BlockRows("payouts") })
	go func() { ended <- s.runReleaseBatch(b.newRail()) }()
	recording := <-blocked
	recording.AwaitWaiter()
	require.Equal(t, modeltest.BulkTurns()-1, s.FreeBulkTurns())
	recording.Release()
	require.NoError(t, <-ended)
}

func TestAnswersOfAGroupAreRecordedWithoutATurn(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	b, fleet := s.openGroupBank(2, 2)
	b.OnGroup(0, func(*httprail.TransferGroup) { s.OccupyBulkWork() })
	_ = s.runReleaseBatch(b.newRail()) // it waits for a turn to look for the next group
	require.Equal(t, []string{"released", "released"}, s.statusesOf(fleet))
}

// TestRelayOfManyEventsTakesATurn numbers events while a turn is free, and while none is.
func TestRelayOfManyEventsTakesATurn(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]int{"after a pass of many": bulkPass, "after one of fewer": bulkPass - 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFixture(t)
			loops := &backgroundLoops{service: s.Service}
			s.QuoteAndBind("quake-circle", nil)
			require.Positive(t, modeltest.Must(loops.relay(t.Context(), 0)), "so that the next pass begins at once")
			s.OccupyBulkWork()()
			s.QuoteAndBind("quake-circle", nil)
			relay, numbered := s.BlockRelay(), make(chan int, 1)
			go func() { numbered <- modeltest.Must(loops.relay(t.Context(), before)) }()
			relay.AwaitWaiter()
			free := modeltest.BulkTurns()
			if before == bulkPass {
				free--
			}
			require.Equal(t, free, s.FreeBulkTurns())
			relay.Release()
			require.Positive(t, <-numbered)
			s.QuoteAndBind("quake-circle", nil)
			s.OccupyBulkWork()
			require.Positive(t, modeltest.Must(loops.relay(t.Context(), before)), "it begins without a turn")
		})
	}
}

// requireWaits checks that a job releases no payout while all turns are taken.
func requireWaits(t *testing.T, s *fixture, by rail.Rail) {
	t.Helper()
	worker := &releaseBatch{service: s.Service, rail: by, log: s.newLogger(), single: &releasePayout{service: s.Service, rail: by, log: s.newLogger()}}
	isSnoozed(t, worker.Work(t.Context(), &river.Job[payouts.ReleaseBatch]{}))
}
