package main

import (
	"flag"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.jetify.com/typeid"
)

// A small run for every day; make chaos has a longer one.
var workerKills = flag.Int("worker-kills", 1, "how often TestJobsOfADeadWorkerMoveOn kills a process that works a job")

// deadWorkers is processes that are killed while they work jobs other than payouts.
type deadWorkers struct {
	*crash

	mu   sync.Mutex
	took []time.Duration // from each kill to the end of the job
}

// Processes are killed while each works a job. Others end every job. It reports how long
// that takes, whether the dead process led River's maintenance or not.
func TestJobsOfADeadWorkerMoveOn(t *testing.T) {
	t.Parallel()
	d := &deadWorkers{crash: &crash{cloud: newCloud(t, "PARAPET_ROLES=workers")}}
	d.owe(t, *workerKills)
	for range 3 {
		d.running = append(d.running, d.start(t, "rehearsal"))
	}
	rows, err := d.DB.Pool.Query(t.Context(), "select id from claims order by id")
	require.NoError(t, err)
	claims, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	require.NoError(t, err)
	var moved sync.WaitGroup
	for _, claim := range claims {
		d.leads(t)
		job, killed := d.killWorker(t, claim)
		moved.Go(func() {
			for !d.done(t, job) && t.Context().Err() == nil {
				<-time.After(100 * time.Millisecond)
			}
			d.mu.Lock()
			defer d.mu.Unlock()
			d.took = append(d.took, time.Since(killed))
		})
	}
	moved.Wait()
	require.Len(t, d.took, *workerKills)
	d.log(t, "from a kill to the end of its job")
}

// log reports the times that were measured.
func (d *deadWorkers) log(t *testing.T, what string) {
	t.Helper()
	slices.Sort(d.took)
	at := func(share float64) time.Duration {
		return d.took[int(share*float64(len(d.took)-1))].Round(time.Millisecond)
	}
	t.Logf("%d kills, %d times %s: p50 %v, p99 %v, longest %v", *workerKills, len(d.took), what, at(0.5), at(0.99), at(1))
}

// Processes are killed while they pay, and time passes as on the clock of the wall.
// Others release every payout that the dead had begun. It reports how long that takes.
func TestPayoutsOfADeadWorkerMoveOn(t *testing.T) {
	t.Parallel()
	const each = 8
	d := &deadWorkers{crash: &crash{cloud: newCloud(t)}}
	books := d.startBank(t)
	for range 3 {
		d.running = append(d.running, d.start(t, "rehearsal"))
	}
	d.owe(t, 2*each**workerKills) // some kills find nothing begun
	var moved sync.WaitGroup
	for range *workerKills {
		begun, killed := d.killWhilePaying(t, each)
		for _, payout := range begun {
			moved.Go(func() {
				for d.count(t, "payouts where id = $1 and status = 'released'", payout) == 0 && t.Context().Err() == nil {
					<-time.After(100 * time.Millisecond)
				}
				d.mu.Lock()
				defer d.mu.Unlock()
				d.took = append(d.took, time.Since(killed))
			})
		}
	}
	moved.Wait()
	d.log(t, "from a kill to the release of its payout")
	d.name(t, len(d.policies))
	d.settle(t)
	require.Equal(t, d.released(t), bankSays(t, books), "the bank's books and ours")
}

// killWhilePaying makes n payouts due, kills a process that has begun some, starts
// another, and returns the payouts that nobody has ended.
func (d *deadWorkers) killWhilePaying(t *testing.T, n int) (begun []uuid.UUID, killed time.Time) {
	t.Helper()
	for len(begun) == 0 {
		d.name(t, min(n, len(d.policies)))
		place := d.awaitPayer(t)
		p := d.running[place]
		p.kill()
		killed = time.Now()
		rows, err := d.DB.Pool.Query(t.Context(), `select args ->> 'id' from river.river_job
			where kind = 'release_payout' and state = 'running' and position(attempted_by[array_upper(attempted_by, 1)] in $1) > 0`, p.log.String())
		require.NoError(t, err)
		ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		for _, text := range ids {
			id, err := typeid.FromString(text)
			require.NoError(t, err)
			payout := uuid.UUID(id.UUIDBytes())
			if d.count(t, "payouts where id = $1 and status = 'releasing'", payout) == 1 {
				begun = append(begun, payout)
			}
		}
		d.running[place] = d.start(t, "rehearsal")
	}
	return begun, killed
}

// leads waits until a living process leads.
func (d *deadWorkers) leads(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		var leader string
		err := d.DB.Pool.QueryRow(t.Context(), "select leader_id from river.river_leader where expires_at > now()").Scan(&leader)
		return err == nil && d.place(leader) >= 0
	}, time.Minute, 50*time.Millisecond, "a process leads")
}

// place is which process has a worker's name; -1 for none.
func (d *deadWorkers) place(worker string) int {
	return slices.IndexFunc(d.running, func(p *process) bool { return strings.Contains(p.log.String(), `"worker":"`+worker+`"`) })
}

// killWorker has a process work a job that waits for a lock, kills the process, starts
// another, and gives the lock back.
func (d *deadWorkers) killWorker(t *testing.T, claim uuid.UUID) (job int64, killed time.Time) {
	t.Helper()
	lock, err := d.DB.Pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = lock.Exec(t.Context(), "select from policies where id = (select policy_id from claims where id = $1) for update", claim)
	require.NoError(t, err)
	id, err := typeid.FromUUIDBytesWithPrefix("clm", claim[:])
	require.NoError(t, err)
	err = d.DB.Pool.QueryRow(t.Context(), `insert into river.river_job (kind, args, queue, max_attempts)
		select 'reevaluate_payouts', jsonb_build_object('partner', partner, 'claim', $2::text), 'accounts', 25 from claims where id = $1 returning id`, claim, id.String()).Scan(&job)
	require.NoError(t, err)
	place := -1
	require.Eventually(t, func() bool {
		var worker string
		err := d.DB.Pool.QueryRow(t.Context(), "select attempted_by[array_upper(attempted_by, 1)] from river.river_job where id = $1 and state = 'running'", job).Scan(&worker)
		if err == nil {
			place = d.place(worker) // a process may log its name after it has begun a job
		}
		return place >= 0
	}, time.Minute, 20*time.Millisecond, "a process works the job")
	d.running[place].kill()
	killed = time.Now()
	require.NoError(t, lock.Commit(t.Context()))
	d.running[place] = d.start(t, "rehearsal")
	return job, killed
}

func (d *deadWorkers) done(t *testing.T, job int64) bool {
	t.Helper()
	return d.count(t, "river.river_job where id = $1 and state = 'completed'", job) == 1
}
