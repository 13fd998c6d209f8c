package jobs

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/stretchr/testify/require"
	"go.jetify.com/typeid"
	"golang.org/x/sync/errgroup"

	"parapet/internal/meter"
	"parapet/jobs/rail"
	"parapet/model/modeltest"
	"parapet/model/money"
	"parapet/model/payouts"
)

// BenchmarkRelease releases payouts through the simulator by River's workers with one job
// each, by a bare loop of the same statements (see bareRelease), and in batches by
// River's workers through a file-based rail. They run in turns, so that other load on the
// machine affects all of them. Statements are prepared, and the tables have statistics,
// before the measurement.
func BenchmarkRelease(b *testing.B) {
	const warm, turns, turn, batched, callers = 200, 3, 400, 9 * releaseBatchSize, 16
	s := newFixtureWith(b, noWait, modeltest.WithoutChecks())
	fleet := s.createPendingPayouts(2*warm + 2*turns*turn)
	next := func(n int) (jobs []payouts.ReleasePayout) {
		jobs, fleet = fleet[:n], fleet[n:]
		return jobs
	}
	bareRelease := func(n int) time.Duration {
		began := time.Now()
		var all errgroup.Group
		all.SetLimit(callers)
		for _, job := range next(n) {
			all.Go(func() error { return s.bareRelease(b.Context(), job) })
		}
		require.NoError(b, all.Wait())
		return time.Since(began)
	}
	work := s.queue(s.rail)
	release := func(n int) time.Duration {
		jobs := make([]river.InsertManyParams, n)
		for i, job := range next(n) {
			jobs[i] = river.InsertManyParams{Args: job, InsertOpts: optionsOf(job.Kind())}
		}
		return work(jobs)
	}
	releaseBatches := queuePayoutsInBatches(b, (turns+1)*batched, func(s *fixture) rail.Rail {
		files, _ := s.writtenFiles()
		return files
	})
	release(warm)
	bareRelease(warm)
	releaseBatches(batched)
	s.execSQL("vacuum analyze") // as autovacuum does
	var ours, bare, batching time.Duration
	for range turns {
		ours += release(turn)
		bare += bareRelease(turn)
		batching += releaseBatches(batched).Elapsed
	}
	s.sound(2*warm + 2*turns*turn)
	for b.Loop() {
	}
	single, batch := turns*turn/ours.Seconds(), turns*batched/batching.Seconds()
	b.ReportMetric(single, "payouts/s")
	b.ReportMetric(turns*turn/bare.Seconds(), "bare/s")
	b.ReportMetric(bare.Seconds()/ours.Seconds(), "of-bare")
	b.ReportMetric(batch, "batched/s")
	b.ReportMetric(batch/single, "of-single")
}

// BenchmarkReleaseGroups releases payouts through rails that take many orders in one call:
// the simulator, and a bank over HTTP that answers after 20 ms.
func BenchmarkReleaseGroups(b *testing.B) {
	const warm, turn, slow = 3 * releaseBatchSize, 18 * releaseBatchSize, 20 * time.Millisecond
	for name, open := range map[string]func(*fixture) rail.Rail{
		"simulator": func(s *fixture) rail.Rail { return newGroupSimulator(s.pool, releaseBatchSize) },
		"http": func(*fixture) rail.Rail {
			bank := openBank(b)
			bank.groups = releaseBatchSize
			bank.SetBehaviour(func(_ http.ResponseWriter, _ *http.Request, good func()) {
				<-time.After(slow)
				good()
			}, nil, nil)
			return bank.newRail()
		},
	} {
		b.Run(name, func(b *testing.B) {
			releaseGroups := queuePayoutsInBatches(b, warm+turn, open)
			releaseGroups(warm)
			usage := releaseGroups(turn)
			for b.Loop() {
			}
			b.ReportMetric(usage.PerSecond(turn), "payouts/s")
			usage.Report(b, "", turn, "payout")
		})
	}
}

// queuePayoutsInBatches queues a fleet of payouts for a rail that takes batches. The
// returned function releases n of them and returns what that cost.
func queuePayoutsInBatches(b *testing.B, all int, open func(*fixture) rail.Rail) func(n int) meter.Usage {
	b.Helper()
	s := newFixtureWith(b, noWait, modeltest.WithoutChecks())
	s.resetService(true)
	s.createPendingPayouts(all)
	s.execSQL("update payouts set next_attempt_at = next_attempt_at + interval '1 year'")
	work := s.queue(open(s))
	gone := 0
	return func(n int) meter.Usage {
		s.execSQL("update payouts set next_attempt_at = created_at where id in (select id from payouts where status = 'pending' order by id limit $1)", n)
		s.execSQL("vacuum analyze")
		used := meter.Start(b, s.pool, os.Getpid())
		work(slices.Repeat([]river.InsertManyParams{{Args: payouts.ReleaseBatch{}, InsertOpts: optionsOf(payouts.ReleaseBatch{}.Kind())}}, queues[queueBatches].MaxWorkers))
		usage := used.Stop()
		gone += n
		s.sound(gone)
		return usage
	}
}

// workQueue is a queue of payouts with River's workers, as in production but without
// background loops.
type workQueue struct {
	*fixture

	client *river.Client[pgx.Tx]
	done   chan string // the outcome of each run of a job
}

// startQueue starts a queue whose workers use a rail.
func (s *fixture) startQueue(by rail.Rail) *workQueue {
	s.t.Helper()
	s.execSQL("delete from river.river_job")
	q := &workQueue{fixture: s, done: make(chan string, 1000)}
	config := Config{
		Pool: s.pool, Service: s.Service, Rail: by, Sender: s.newSender(), Log: s.newLogger(),
		ObserveJob: func(_, outcome string, _ time.Duration) { q.done <- outcome },
	}.riverConfig()
	config.PeriodicJobs = nil
	var err error
	q.client, err = river.NewClient(riverpgxv5.New(s.pool), config)
	require.NoError(s.t, err)
	require.NoError(s.t, q.client.Start(context.WithoutCancel(s.t.Context())))
	s.t.Cleanup(func() { require.NoError(s.t, q.client.Stop(context.WithoutCancel(s.t.Context()))) })
	return q
}

// insert queues jobs.
func (q *workQueue) insert(jobs []river.InsertManyParams) {
	q.t.Helper()
	_, err := q.client.InsertManyFast(q.t.Context(), jobs)
	require.NoError(q.t, err)
}

// queue returns a function that queues jobs, waits until as many are done, and returns the
// duration. Call it only from the goroutine of the test or benchmark.
func (s *fixture) queue(by rail.Rail) func(jobs []river.InsertManyParams) time.Duration {
	s.t.Helper()
	q := s.startQueue(by)
	return func(jobs []river.InsertManyParams) time.Duration {
		began := time.Now()
		q.insert(jobs)
		for range jobs {
			require.Equal(s.t, "done", <-q.done)
		}
		return time.Since(began)
	}
}

// sound checks that a benchmark kept the guarantees of a release.
func (s *fixture) sound(released int) {
	s.t.Helper()
	require.Equal(s.t, released, s.countRows("payouts where status = 'released'"))
	for _, broken := range []string{"inv_postings_balance", "inv_ledger_matches_payouts", "inv_timelines", "inv_statuses_have_events"} {
		require.Zero(s.t, s.countRows(broken), broken)
	}
}

// bareRelease is the minimal release on the same tables with the same guarantees: an
// intent committed before the call, an outcome after it, nothing sent while releases are
// stopped, the claim locked before its payout, and for each transition its event, outbox
// row and timeline entry and, for the outcome, its postings. It reads the order and the
// data of its decisions in few round trips; it evaluates nothing.
func (s *fixture) bareRelease(ctx context.Context, job payouts.ReleasePayout) error {
	parsed, err := typeid.FromString(job.ID)
	if err != nil {
		return err
	}
	payout, key := uuid.UUID(parsed.UUIDBytes()), job.ID+".1"
	err = s.bareMove(ctx, payout, "releasing", func(read *pgx.Batch) {
		read.Queue("select pg_advisory_xact_lock_shared(hashtext('release stop'), 0)")
		read.Queue("select exists (select from release_stops where resumed_at is null)")
		read.Queue("select * from payout_methods where id = (select payout_method_id from payouts where id = $1)", payout)
	}, func(write *pgx.Batch, _ uuid.UUID) {
		write.Queue("insert into payout_attempts (payout_id, partner, number, key, rail, started_at) values ($1, 'acme', 1, $2, 'bare', now())", payout, key)
	})
	if err != nil {
		return err
	}
	s.rail.Send(ctx, rail.Instruction{Key: key, PayoutID: job.ID, Amount: money.New(2_000_000, "USD"), Payee: rail.Payee{Number: numberFor(rail.Accept)}})
	return s.bareMove(ctx, payout, "released", func(*pgx.Batch) {}, func(write *pgx.Batch, event uuid.UUID) {
		write.Queue("update payout_attempts set ended_at = now(), outcome = 'accepted' where payout_id = $1 and number = 1 and partner = 'acme'", payout)
		write.Queue(`insert into ledger_entries (event_id, partner, account, policy_id, claim_id, payout_id, currency, amount, at)
			select $2, partner, side.account, policy_id, claim_id, id, currency, side.sign * amount, now()
			from payouts, (values ('reserve', 1), ('rail_clearing', -1)) as side (account, sign) where id = $1`, payout, event)
	})
}

// bareMove runs one transaction of bareRelease.
func (s *fixture) bareMove(ctx context.Context, payout uuid.UUID, status string, alsoRead func(*pgx.Batch), alsoWrite func(*pgx.Batch, uuid.UUID)) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		read, write, event := &pgx.Batch{}, &pgx.Batch{}, uuid.New()
		read.Queue("select * from claims where (id, partner) in (select claim_id, partner from payouts where id = $1) for no key update", payout)
		read.Queue("select * from payouts where id = $1 for no key update", payout)
		alsoRead(read)
		if err := tx.SendBatch(ctx, read).Close(); err != nil {
			return err
		}
		write.Queue(`update payouts set status = $2, version = version + 1, attempts = 1, updated_at = now(), released_at = case when $2 = 'released' then now() end,
			provider = 'bare', next_attempt_at = case when $2 = 'releasing' then now() + interval '1 minute' end where id = $1`, payout, status)
		write.Queue("update claims set timeline_sequence = timeline_sequence + 1, timeline_updated_at = now() where id = (select claim_id from payouts where id = $1)", payout)
		write.Queue(`with kept as (insert into events (id, partner, type, subject_type, subject_id, subject_version, occurred_at, data)
			select $3, partner, 'payout.' || $2, 'payout', id, version, now(), convert_to($4, 'utf8') from payouts where id = $1 returning id, partner)
			insert into event_outbox (partner, event_id) select partner, id from kept`, payout, status, event, fmt.Sprintf(`{"object":{"id":%q,"rest":%q}}`, payout, strings.Repeat("x", 600)))
		write.Queue(`insert into timeline_entries (id, partner, claim_id, sequence, kind, at, actor_kind, actor_name, summary, data, event_id)
			select gen_random_uuid(), c.partner, c.id, c.timeline_sequence, 'payout.' || $2, now(), 'system', 'parapet', 'The payout moved.', '{}', $3
			from claims c join payouts p on p.claim_id = c.id and p.partner = c.partner where p.id = $1`, payout, status, event)
		alsoWrite(write, event)
		return tx.SendBatch(ctx, write).Close()
	})
}
