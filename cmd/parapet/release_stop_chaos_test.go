package main

import (
	"context"
	"flag"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/operations"
	"parapet/model/payouts/controls"
)

// This run is short; make chaos runs a longer one.
var (
	stopPayouts = flag.Int("stop-payouts", 40, "how many payouts TestReleaseStopSendsNothingToTheBank makes")
	stopCount   = flag.Int("stops", 2, "how often it stops releases while processes pay")
)

// The test stops releases while processes pay, kills a process during each stop, and
// resumes releases. Between the response to a stop and the resumption the bank's book
// does not change; at the end the bank has paid every payout once.
func TestReleaseStopSendsNothingToTheBank(t *testing.T) {
	t.Parallel()
	c := &paymentChaos{processGroup: newProcessGroup(t, "PARAPET_REHEARSAL=true")} // processes start on a shifted clock
	books := c.startBank(t)
	for range 3 {
		c.running = append(c.running, c.startProcess(t, "rehearsal"))
	}
	c.createUnpaidClaims(t, *stopPayouts)
	for range *stopCount {
		c.recordAccounts(t, *stopPayouts / *stopCount)
		c.waitForPayingProcess(t)
		began := time.Now()
		stopped, err := c.Service.Controls.StopReleases(t.Context(), c.Operator, controls.StopRequest{Reason: "A drill."})
		require.NoError(t, err)
		require.Nil(t, stopped.Leaving, "every call ends within a minute")
		paid := executedByBank(t, books)
		t.Logf("the stop answered after %v, with %d payouts paid", time.Since(began), len(paid))
		c.running[0].killNow()
		c.running[0] = c.startProcess(t, "rehearsal")
		c.AdvanceClock(3 * time.Minute) // leases end, and the sweep enqueues all due work again
		c.waitForSweeps(t)
		require.Equal(t, paid, executedByBank(t, books), "nothing reached the bank")
		c.resumeReleases(t)
	}
	c.recordAccounts(t, len(c.policies))
	c.advanceUntilFinal(t)
	paid := executedByBank(t, books)
	require.Equal(t, c.releasedAmounts(t), paid, "the bank's books and ours")
	require.Len(t, paid, *stopPayouts)
}

// waitForSweeps waits until every kind of due work was swept twice.
func (c *paymentChaos) waitForSweeps(t *testing.T) {
	t.Helper()
	const swept = "river.river_job where kind = 'sweep' and finalized_at is not null"
	before := c.countRows(t, swept)
	require.Eventually(t, func() bool { return c.countRows(t, swept) >= before+2*len(operations.DueWorkKinds()) }, 2*time.Minute, 50*time.Millisecond, "due work is swept")
}

// resumeReleases resumes releases and waits until the run has ended.
func (c *paymentChaos) resumeReleases(t *testing.T) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	resumed, err := c.Service.Releases.ResumeReleases(ctx, c.Operator, controls.ResumeRequest{Reason: "The drill is over."})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		run, err := c.Service.Controls.GetReleaseResumption(ctx, c.Operator, resumed.Resumption.ID)
		require.NoError(t, err)
		return run.State == string(controls.ResumptionCompleted) && run.Done >= run.Total
	}, time.Minute, 50*time.Millisecond, "the run ends")
}
