package main

import (
	"flag"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.jetify.com/typeid"
)

// This run is short; make chaos runs a longer one.
var workerKills = flag.Int("worker-kills", 1, "how often TestJobsOfAKilledWorkerAreRescued kills a process that works a job")

// workerKiller kills processes while they work jobs other than payouts.
type workerKiller struct {
	*paymentChaos

	mu        sync.Mutex
	durations []time.Duration // from each kill to the end of the job
}

// The test kills processes while each works a job. Other processes finish every job. It
// reports how long that takes, whether or not the killed process was River's leader.
func TestJobsOfAKilledWorkerAreRescued(t *testing.T) {
	t.Parallel()
	d := &workerKiller{paymentChaos: &paymentChaos{processGroup: newProcessGroup(t, "PARAPET_ROLES=workers")}}
	d.createUnpaidClaims(t, *workerKills)
	for range 3 {
		d.running = append(d.running, d.startProcess(t, "rehearsal"))
	}
	rows, err := d.DB.Pool.Query(t.Context(), "select id from claims order by id")
	require.NoError(t, err)
	claims, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	require.NoError(t, err)
	var moved sync.WaitGroup
	for _, claim := range claims {
		d.waitForLeader(t)
		job, killed := d.killWorker(t, claim)
		moved.Go(func() {
			for !d.isJobDone(t, job) && t.Context().Err() == nil {
				<-time.After(100 * time.Millisecond)
			}
			d.mu.Lock()
			defer d.mu.Unlock()
			d.durations = append(d.durations, time.Since(killed))
		})
	}
	moved.Wait()
	require.Len(t, d.durations, *workerKills)
	d.logDurations(t, "from a kill to the end of its job")
}

// logDurations reports the times that were measured.
func (d *workerKiller) logDurations(t *testing.T, what string) {
	t.Helper()
	slices.Sort(d.durations)
	at := func(share float64) time.Duration {
		return d.durations[int(share*float64(len(d.durations)-1))].Round(time.Millisecond)
	}
	t.Logf("%d kills, %d times %s: p50 %v, p99 %v, longest %v", *workerKills, len(d.durations), what, at(0.5), at(0.99), at(1))
}

// The test kills processes while they pay, and the domain's clock advances like the wall
// clock. Other processes release every payout that the killed ones had begun. It reports
// how long that takes.
func TestPayoutsOfAKilledWorkerAreReleased(t *testing.T) {
	t.Parallel()
	const each, tries = 8, 6 // a kill may find no payout in progress, more often on a slow machine
	d := &workerKiller{paymentChaos: &paymentChaos{processGroup: newProcessGroup(t)}}
	books := d.startBank(t)
	for range 3 {
		d.running = append(d.running, d.startProcess(t, "rehearsal"))
	}
	d.createUnpaidClaims(t, tries*each**workerKills)
	var moved sync.WaitGroup
	for range *workerKills {
		begun, killed := d.killWhilePaying(t, each)
		for _, payout := range begun {
			moved.Go(func() {
				for d.countRows(t, "payouts where id = $1 and status = 'released'", payout) == 0 && t.Context().Err() == nil {
					<-time.After(100 * time.Millisecond)
				}
				d.mu.Lock()
				defer d.mu.Unlock()
				d.durations = append(d.durations, time.Since(killed))
			})
		}
	}
	moved.Wait()
	d.logDurations(t, "from a kill to the release of its payout")
	d.recordAccounts(t, len(d.policies))
	d.advanceUntilFinal(t)
	require.Equal(t, d.releasedAmounts(t), executedByBank(t, books), "the bank's books and ours")
}

// killWhilePaying makes n payouts due, kills a process that has begun some, starts
// another, and returns the payouts that are not final.
func (d *workerKiller) killWhilePaying(t *testing.T, n int) (begun []uuid.UUID, killed time.Time) {
	t.Helper()
	for len(begun) == 0 {
		require.NotEmpty(t, d.policies, "each kill came after the payouts were final")
		d.recordAccounts(t, min(n, len(d.policies)))
		place := 0
		require.Eventually(t, func() bool {
			place = slices.IndexFunc(d.running, func(p *serverProcess) bool { return len(d.begunBy(t, p)) > 0 })
			return place >= 0
		}, time.Minute, 5*time.Millisecond, "a process has begun a payout")
		p := d.running[place]
		p.killNow()
		killed = time.Now()
		begun = d.begunBy(t, p)
		d.running[place] = d.startProcess(t, "rehearsal")
	}
	return begun, killed
}

// begunBy returns the payouts that a process has begun to release and not ended.
func (d *workerKiller) begunBy(t *testing.T, p *serverProcess) (begun []uuid.UUID) {
	t.Helper()
	rows, err := d.DB.Pool.Query(t.Context(), `select args ->> 'id' from river.river_job
		where kind = 'release_payout' and state = 'running' and position(attempted_by[array_upper(attempted_by, 1)] in $1) > 0`, p.log.String())
	require.NoError(t, err)
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	for _, text := range ids {
		id, err := typeid.FromString(text)
		require.NoError(t, err)
		payout := uuid.UUID(id.UUIDBytes())
		if d.countRows(t, "payouts where id = $1 and status = 'releasing'", payout) == 1 {
			begun = append(begun, payout)
		}
	}
	return begun
}

// waitForLeader waits until a running process is River's leader.
func (d *workerKiller) waitForLeader(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		var leader string
		err := d.DB.Pool.QueryRow(t.Context(), "select leader_id from river.river_leader where expires_at > now()").Scan(&leader)
		return err == nil && d.indexOfWorker(leader) >= 0
	}, time.Minute, 50*time.Millisecond, "a process leads")
}

// killWorker makes a process work a job that waits for a lock, kills the process, starts
// another one, and releases the lock.
func (d *workerKiller) killWorker(t *testing.T, claim uuid.UUID) (job int64, killed time.Time) {
	t.Helper()
	lock, err := d.DB.Pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = lock.Exec(t.Context(), "select from policies where id = (select policy_id from claims where id = $1) for update", claim)
	require.NoError(t, err)
	id, err := typeid.FromUUIDBytesWithPrefix("clm", claim[:])
	require.NoError(t, err)
	err = d.DB.Pool.QueryRow(t.Context(), `insert into river.river_job (kind, args, queue, max_attempts)
		select 'reevaluate_payouts', jsonb_build_object('partner', partner, 'claim', $2::text), 'account_checks', 25 from claims where id = $1 returning id`, claim, id.String()).Scan(&job)
	require.NoError(t, err)
	place := -1
	require.Eventually(t, func() bool {
		var worker string
		err := d.DB.Pool.QueryRow(t.Context(), "select attempted_by[array_upper(attempted_by, 1)] from river.river_job where id = $1 and state = 'running'", job).Scan(&worker)
		if err == nil {
			place = d.indexOfWorker(worker) // a process may log its name after it has begun a job
		}
		return place >= 0
	}, time.Minute, 20*time.Millisecond, "a process works the job")
	d.running[place].killNow()
	killed = time.Now()
	require.NoError(t, lock.Commit(t.Context()))
	d.running[place] = d.startProcess(t, "rehearsal")
	return job, killed
}

func (d *workerKiller) isJobDone(t *testing.T, job int64) bool {
	t.Helper()
	return d.countRows(t, "river.river_job where id = $1 and state = 'completed'", job) == 1
}
