package jobs

import (
	"context"
	"flag"
	"log/slog"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"

	"parapet/jobs/rail"
	"parapet/model/kernel/dbpool"
	"parapet/model/payouts"
)

// This run is short; make chaos runs a longer one.
var hits = flag.Int("hits", 1, "how often TestReleaseSurvivesWorkerDeathAtEveryStep and TestBatchReleaseSurvivesDeathAtEveryStep kill a worker at each point")

// These variables make the test binary a worker that releases one payout, or a batch if
// none is given, and is killed: the step, the database and the payout.
const (
	dieAt       = "TEST_WORKER_DIES_AT"
	dieDatabase = "TEST_WORKER_DATABASE"
	diePayout   = "TEST_WORKER_PAYOUT"
	dieGroup    = "group" // instead of a payout: one call with dyingGroupSize orders
)

const dyingGroupSize = 2

// dyingGroupRail ends its process around a call.
type dyingGroupRail struct {
	rail.GroupRail

	die func(releaseStep)
}

func (r *dyingGroupRail) SendGroup(ctx context.Context, instructions []rail.Instruction) []rail.Result {
	r.die(stepCalling)
	results := r.GroupRail.SendGroup(ctx, instructions)
	r.die(stepAccepted)
	return results
}

// These are the steps inside the call, and inside a batch's transaction.
const (
	stepCalling  releaseStep = "during call"
	stepAccepted releaseStep = "after the rail accepted"
	stepEntering releaseStep = "before the books"
	stepEntered  releaseStep = "after the books, before commit"
)

// dyingWorker runs the worker that is killed at a step. It returns only if it does not
// reach the step.
func dyingWorker(ctx context.Context, point releaseStep) error {
	database := os.Getenv(dieDatabase)
	db, err := dbpool.Open(ctx, database, 2)
	if err != nil {
		return err
	}
	pool, err := pgxpool.New(ctx, database)
	if err != nil {
		return err
	}
	service, err := newService(db, pool, false, nil)
	if err != nil {
		return err
	}
	die := func(reached releaseStep) {
		if reached == point {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // the signal takes effect at any moment
		}
	}
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	switch os.Getenv(diePayout) {
	case "":
		return dyingSlice(ctx, &releaseBatch{service: service, log: log}, pool, die)
	case dieGroup:
		calling := &dyingGroupRail{newGroupSimulator(pool, dyingGroupSize), die}
		worker := &releasePayout{service: service, rail: calling, log: log, onStep: die}
		_, err := worker.releaseGroup(ctx, calling, dyingGroupSize)
		return err
	}
	books := rail.NewSimulator(NewSimulatorStore(pool))
	calling := &wrappedRail{Rail: books, send: func(ctx context.Context, i rail.Instruction) rail.Result {
		die(stepCalling)
		result := books.Send(ctx, i)
		die(stepAccepted)
		return result
	}}
	worker := &releasePayout{service: service, rail: calling, log: log, onStep: die}
	return worker.Work(ctx, &river.Job[payouts.ReleasePayout]{Args: payouts.ReleasePayout{Partner: "acme", ID: os.Getenv(diePayout)}})
}

func dyingSlice(ctx context.Context, worker *releaseBatch, pool *pgxpool.Pool, die func(releaseStep)) error {
	files, err := pain001(pool)
	if err != nil {
		return err
	}
	worker.rail = &recordingBatchRail{BatchRail: files, enter: func(ctx context.Context, conn *pgx.Conn, instructions []rail.Instruction) ([]rail.Result, error) {
		die(stepEntering)
		results, err := files.Submit(ctx, conn, instructions)
		die(stepEntered)
		return results, err
	}}
	err = worker.Work(ctx, &river.Job[payouts.ReleaseBatch]{})
	die(stepRecorded)
	return err
}

// killed runs a process that releases a payout, or a batch without one, and waits until
// it dies at a point.
func (s *fixture) killed(point releaseStep, job payouts.ReleasePayout) {
	s.t.Helper()
	program, err := os.Executable()
	require.NoError(s.t, err)
	worker := exec.CommandContext(s.t.Context(), program)
	worker.Env = append(os.Environ(), dieAt+"="+string(point), dieDatabase+"="+s.URL, diePayout+"="+job.ID)
	said, err := worker.CombinedOutput()
	var ended *exec.ExitError
	require.ErrorAs(s.t, err, &ended, "%s: %s", point, said)
	status, is := ended.Sys().(syscall.WaitStatus)
	require.True(s.t, is && status.Signaled() && status.Signal() == syscall.SIGKILL, "%s: %s", point, said)
}

// TestReleaseSurvivesWorkerDeathAtEveryStep kills processes at each step of a release.
// Other workers finish the work, and the rail's book has one transfer for each payout.
func TestReleaseSurvivesWorkerDeathAtEveryStep(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	points := []struct {
		at     releaseStep
		leaves string
		heard  int // transfers in the rail's book when the worker has ended
	}{
		{stepBefore, "pending", 0},
		{stepLeased, "releasing", 0},
		{stepCalling, "releasing", 0},
		{stepAccepted, "releasing", 1},
		{stepAnswered, "releasing", 1},
		{stepRecorded, "released", 1},
	}
	fleet := s.createPendingPayouts(*hits * len(points))
	for i, job := range fleet {
		point := points[i%len(points)]
		s.killed(point.at, job)
		require.Equal(t, point.leaves, s.readPayout(job).Status, point.at)
		require.Equal(t, point.heard, s.countTransfers(job.ID, rail.Accepted), point.at)
	}
	t.Logf("%d processes killed, %d at each point", len(fleet), *hits)
	s.AdvanceClock(2 * time.Minute)
	s.startWorkers()
	s.requireEventually(func() bool { return s.countRows("payouts where status = 'released'") == len(fleet) }, "every payout is released")
	require.Equal(t, len(fleet), s.countRows("simulator_transfers"), "no second transfer, and no refusal")
	require.Equal(t, len(fleet), s.countRows("(select distinct transfer->>'payout_id' from simulator_transfers) as paid"))
	require.Zero(t, s.countRows("simulator_transfers where key not like '%.1'"), "doubt never takes a new key")
}

// TestGroupReleaseSurvivesDeathAtEveryStep kills processes at each step of a call with
// several orders. Other workers finish the work, and the rail's book has one transfer for
// each payout.
func TestGroupReleaseSurvivesDeathAtEveryStep(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.resetService(true)
	points := []releaseStep{stepBefore, stepLeased, stepCalling, stepAccepted, stepAnswered, stepRecorded}
	fleet := s.createPendingPayouts(dyingGroupSize * *hits * len(points))
	for range *hits {
		for _, point := range points {
			s.killed(point, payouts.ReleasePayout{ID: dieGroup})
		}
	}
	require.Equal(t, dyingGroupSize**hits, s.countRows("payouts where status = 'released'"))
	require.Equal(t, dyingGroupSize**hits*4, s.countRows("payouts where status = 'releasing'"))
	require.Equal(t, dyingGroupSize**hits*3, s.countRows("simulator_transfers"))
	s.AdvanceClock(2 * time.Minute)
	s.startWorkersWith(newGroupSimulator(s.pool, dyingGroupSize))
	s.requireEventually(func() bool { return s.countRows("payouts where status = 'released'") == len(fleet) }, "every payout is released")
	require.Equal(t, len(fleet), s.countRows("simulator_transfers"), "no second transfer, and no refusal")
	require.Equal(t, len(fleet), s.countRows("(select distinct transfer->>'payout_id' from simulator_transfers) as paid"))
	require.Zero(t, s.countRows("simulator_transfers where key not like '%.1'"), "doubt never takes a new key")
}

// TestBatchReleaseSurvivesDeathAtEveryStep kills processes inside a batch's transaction,
// which leaves no change, and after it.
func TestBatchReleaseSurvivesDeathAtEveryStep(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	fleet := s.createPendingPayouts(3)
	free := func() {
		s.requireEventually(func() bool { // Postgres notices the end of a process with a delay
			return s.countRows("(select from payouts where status = 'pending' for update skip locked) as free") == len(fleet)
		}, "nothing is left of it")
	}
	for range *hits {
		for _, point := range []releaseStep{stepEntering, stepEntered} {
			s.killed(point, payouts.ReleasePayout{})
			free()
			require.Zero(t, s.countRows("payment_orders"), point)
			require.Zero(t, s.countRows("payout_attempts"), point)
		}
	}
	s.killed(stepRecorded, payouts.ReleasePayout{})
	require.Equal(t, len(fleet), s.countRows("payouts where status = 'released' and attempts = 1"))
	require.Equal(t, len(fleet), s.countRows("payment_orders"))
}
