package main

import (
	"context"
	"flag"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model"
)

// A small run for every day; make chaos has a longer one.
var (
	stopPayouts = flag.Int("stop-payouts", 40, "how many payouts TestNothingReachesTheBankDuringAStop makes")
	stops       = flag.Int("stops", 2, "how often it stops releases while processes pay")
)

// Releases are stopped while processes pay, a process is killed during each stop, and
// releases are resumed. From the answer of a stop to the resumption the books of the bank
// do not change; in the end it has paid every payout once.
func TestNothingReachesTheBankDuringAStop(t *testing.T) {
	t.Parallel()
	c := &crash{cloud: newCloud(t, "PARAPET_REHEARSAL=true")} // processes start on a shifted clock
	books := c.startBank(t)
	for range 3 {
		c.running = append(c.running, c.start(t, "rehearsal"))
	}
	c.owe(t, *stopPayouts)
	for range *stops {
		c.name(t, *stopPayouts / *stops)
		c.awaitPayer(t)
		began := time.Now()
		stopped, err := c.Service.StopReleases(t.Context(), c.Operator, model.StopRequest{Reason: "A drill."})
		require.NoError(t, err)
		require.Nil(t, stopped.Leaving, "every call ends within a minute")
		paid := bankSays(t, books)
		t.Logf("the stop answered after %v, with %d payouts paid", time.Since(began), len(paid))
		c.running[0].kill()
		c.running[0] = c.start(t, "rehearsal")
		c.After(3 * time.Minute) // leases end, and everything that waits is asked for again
		c.sweeps(t)
		require.Equal(t, paid, bankSays(t, books), "nothing reached the bank")
		c.resume(t)
	}
	c.name(t, len(c.policies))
	c.settle(t)
	paid := bankSays(t, books)
	require.Equal(t, c.released(t), paid, "the bank's books and ours")
	require.Len(t, paid, *stopPayouts)
}

// sweeps waits until every kind of due work was swept twice.
func (c *crash) sweeps(t *testing.T) {
	t.Helper()
	const swept = "river.river_job where kind = 'sweep' and finalized_at is not null"
	before := c.count(t, swept)
	require.Eventually(t, func() bool { return c.count(t, swept) >= before+2*len(model.DueWorks()) }, 2*time.Minute, 50*time.Millisecond, "due work is swept")
}

// resume lets payouts out and follows the run to its end.
func (c *crash) resume(t *testing.T) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	resumed, err := c.Service.ResumeReleases(ctx, c.Operator, model.ResumeRequest{Reason: "The drill is over."})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		run, err := c.Service.GetReleaseResumption(ctx, c.Operator, resumed.Resumption.ID)
		require.NoError(t, err)
		return run.State == string(model.ResumptionCompleted) && run.Done >= run.Total
	}, time.Minute, 50*time.Millisecond, "the run ends")
}
