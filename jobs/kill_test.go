package jobs

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/jobs/rail"
)

// hits is how often a worker dies at each point.
const hits = 20

// killed runs a worker that dies where it calls runtime.Goexit, and tells whether
// it did.
func killed(run func()) bool {
	died := make(chan bool, 1)
	go func() {
		dead := true
		defer func() { died <- dead }()
		run()
		dead = false
	}()
	return <-died
}

// TestAWorkerMayDieAnywhere ends workers at each point of a release. Afterwards
// others find what they left, and the rail's own books show one transfer each.
func TestAWorkerMayDieAnywhere(t *testing.T) {
	t.Parallel()
	s := open(t)
	lost := &acting{Rail: s.rail, send: func(context.Context, rail.Instruction) rail.Result {
		runtime.Goexit()
		return rail.Result{}
	}}
	paid := &acting{Rail: s.rail, send: func(ctx context.Context, i rail.Instruction) rail.Result {
		s.rail.Send(ctx, i)
		runtime.Goexit()
		return rail.Result{}
	}}
	at := func(point step) func(step) {
		return func(reached step) {
			if reached == point {
				runtime.Goexit()
			}
		}
	}
	points := []struct {
		name   string
		by     rail.Rail
		at     func(step)
		leaves string
		heard  int // transfers in the rail's books when the worker is dead
	}{
		{"before intent", s.rail, at(stepBefore), "pending", 0},
		{"after intent", s.rail, at(stepIntended), "releasing", 0},
		{"during call", lost, nil, "releasing", 0},
		{"after the rail accepted", paid, nil, "releasing", 1},
		{"after answer", s.rail, at(stepAnswered), "releasing", 1},
		{"after commit", s.rail, at(stepRecorded), "released", 1},
	}
	fleet := s.fleet(hits * len(points))
	for i, job := range fleet {
		point := points[i%len(points)]
		require.True(t, killed(func() { _ = s.releaseBy(point.by, point.at, job) }), point.name)
		require.Equal(t, point.leaves, s.read(job).Status, point.name)
		require.Equal(t, point.heard, s.transfers(job.ID, rail.Accepted), point.name)
	}
	s.After(2 * time.Minute)
	s.start()
	s.eventually(func() bool { return s.count("payouts where status = 'released'") == len(fleet) }, "every payout is released")
	require.Equal(t, len(fleet), s.count("simulator_transfers"), "no second transfer, and no refusal")
	require.Equal(t, len(fleet), s.count("(select distinct body->>'payout_id' from simulator_transfers) as paid"))
	require.Zero(t, s.count("simulator_transfers where key not like '%.1'"), "doubt never takes a new key")
}
