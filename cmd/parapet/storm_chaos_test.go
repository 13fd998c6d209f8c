package main

import (
	"flag"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/actor"
	"parapet/model/modeltest"
)

// This run is short; make chaos runs a longer one.
var (
	killHits   = flag.Int("kill-hits", 2_000, "policies that the earthquake of TestStormSurvivesKills pays")
	stormKills = flag.Int("storm-kills", 2, "how often it kills a process or the database during the storm")
)

// hitAmount is what the earthquake of the test pays each policy.
const hitAmount = 5_000_000

// The test kills processes and the database at random moments of a storm, from the first
// decision to the last payment. Afterwards everything is as without kills: each policy
// has one claim with one payout, which the bank has paid once, and the chain of events
// and all invariants hold.
func TestStormSurvivesKills(t *testing.T) {
	t.Parallel()
	c := newPaymentChaos(t, modeltest.WithoutChecks())
	books := c.startBank(t)
	c.environment = append(c.environment, "PARAPET_RAIL_BATCH=200", "PARAPET_REHEARSAL=true") // processes start on a shifted clock
	c.CopyPolicies(*killHits)
	for range 2 {
		c.running = append(c.running, c.startProcess(t, "rehearsal"))
	}
	c.startStorm(t)
	moments := make([]int, *stormKills)
	for i := range moments {
		moments[i] = 1 + rand.IntN(2**killHits-1)
	}
	slices.Sort(moments)
	for i, at := range moments {
		c.waitForProgress(t, at)
		if i%4 == 1 {
			c.crashDatabase(t)
		} else {
			place := rand.IntN(len(c.running))
			c.running[place].killNow()
			c.running[place] = c.startProcess(t, "rehearsal")
		}
		t.Logf("kill %d of the database %t at %d, now at %d", i+1, i%4 == 1, at, c.progress(t))
	}
	c.waitForProgress(t, *killHits)
	require.Eventually(t, func() bool { return c.countRows(t, "claims") == *killHits }, 10*time.Minute, 100*time.Millisecond, "every policy is decided")
	c.advanceUntilFinal(t)
	c.advanceUntil(t, 90*time.Second, "the matching is completed", func() bool {
		c.restartStopped(t)
		return c.countRows(t, "matchings where completed_at is null") == 0 // a killed pass is repeated, also after the last payment
	})
	c.requireWholeStorm(t, books)
}

// startStorm reports an earthquake, and enqueues its matching for the processes.
func (c *paymentChaos) startStorm(t *testing.T) {
	t.Helper()
	quake, _, err := c.Service.Occurrences.RecordObservation(t.Context(), c.Source, modeltest.Quake("us1", c.Now().Add(-time.Hour), modeltest.Epicentre, "6.9"), false)
	require.NoError(t, err)
	_, err = c.DB.Pool.Exec(t.Context(), `insert into river.river_job (kind, args, queue, max_attempts)
		values ('evaluate_occurrences', jsonb_build_object('occurrences', jsonb_build_array($1::text)), 'matching', 25)`, *quake.OccurrenceID)
	require.NoError(t, err)
}

// progress is the number of claims and of released payouts.
func (c *paymentChaos) progress(t *testing.T) int {
	t.Helper()
	return c.countRows(t, "(select id from claims union all select id from payouts where status = 'released') as done")
}

// waitForProgress waits until the storm has come so far. It moves the clock when nothing
// happens for half a minute, so that the leases of killed processes end.
func (c *paymentChaos) waitForProgress(t *testing.T, least int) {
	t.Helper()
	for range 20 {
		if becomesTrue(func() bool { c.restartStopped(t); return c.progress(t) >= least }) {
			return
		}
		c.AdvanceClock(90 * time.Second)
	}
	require.FailNow(t, "the storm does not go on", "%d of %d", c.progress(t), least)
}

// requireWholeStorm checks the result of the storm.
func (c *paymentChaos) requireWholeStorm(t *testing.T, books string) {
	t.Helper()
	hits := *killHits
	c.Relay()
	var claims, policies, events int
	var owed, left int64
	require.NoError(t, c.DB.Pool.QueryRow(t.Context(), `select count(*), count(distinct policy_id), sum(amount), (select sum(limit_remaining) from policies),
			(select count(*) from events where partner = 'acme') from claims where status = 'approved'`).Scan(&claims, &policies, &owed, &left, &events))
	require.Equal(t, []int{hits, hits}, []int{claims, policies})
	require.Equal(t, []int64{int64(hits) * hitAmount, int64(hits) * hitAmount}, []int64{owed, left}, "half of each limit is owed and half is left")
	for _, kind := range []string{"claim.opened", "claim.approved", "policy.updated", "payout.created", "payout.released"} {
		require.Equal(t, hits, c.countRows(t, "events where type = $1", kind), kind)
	}
	paid := executedByBank(t, books)
	require.Len(t, paid, hits)
	require.Equal(t, c.releasedAmounts(t), paid, "the bank's books and ours")
	proof, err := c.Service.Events.VerifyChain(t.Context(), actor.System(), "acme")
	require.NoError(t, err)
	require.True(t, proof.Intact, "%+v", proof.Faults)
	require.EqualValues(t, events, proof.Events)
	require.Empty(t, c.Violations())
}
