package jobs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"
	"go.jetify.com/typeid"
	"golang.org/x/sync/errgroup"

	"parapet/jobs/rail"
	"parapet/model"
	"parapet/model/modeltest"
	"parapet/model/money"
)

// BenchmarkRelease releases payouts one by one through the simulator and by a bare
// loop of the same statements (see bareRelease), in turns, so that what else the
// machine does burdens both; then slices through a rail of files. Statements are
// prepared, and the tables have statistics, before anything is measured.
func BenchmarkRelease(b *testing.B) {
	const warm, turns, turn, sliced, callers = 160, 8, 75, 8 * sliceSize, 8
	s := openWith(b, atOnce, modeltest.Unchecked())
	files, _ := s.files()
	fleet := s.fleet(2*warm + 2*turns*turn + sliceSize + sliced)
	next := func(n int) (jobs []model.ReleasePayout) {
		jobs, fleet = fleet[:n], fleet[n:]
		return jobs
	}
	atOnceBy := func(jobs []model.ReleasePayout, do func(model.ReleasePayout) error) time.Duration {
		began := time.Now()
		var all errgroup.Group
		all.SetLimit(callers)
		for _, job := range jobs {
			all.Go(func() error { return do(job) })
		}
		require.NoError(b, all.Wait())
		return time.Since(began)
	}
	bareRelease := func(job model.ReleasePayout) error { return s.bareRelease(b.Context(), job) }
	atOnceBy(next(warm), s.release)
	atOnceBy(next(warm), bareRelease)
	s.exec("analyze") // as autovacuum does
	var ours, bare time.Duration
	for range turns {
		ours += atOnceBy(next(turn), s.release)
		bare += atOnceBy(next(turn), bareRelease)
	}
	s.releaseSlices(b, files, next(sliceSize))
	inSlices := s.releaseSlices(b, files, next(sliced))
	require.Equal(b, 2*warm+2*turns*turn+sliceSize+sliced, s.count("payouts where status = 'released'"))
	for _, broken := range []string{"inv_sets_balance", "inv_ledger_tells_payouts", "inv_timelines", "inv_states_are_told"} {
		require.Zero(b, s.count(broken), broken)
	}
	for b.Loop() {
	}
	single := turns * turn / ours.Seconds()
	b.ReportMetric(single, "payouts/s")
	b.ReportMetric(turns*turn/bare.Seconds(), "bare/s")
	b.ReportMetric(bare.Seconds()/ours.Seconds(), "of-bare")
	b.ReportMetric(inSlices, "sliced/s")
	b.ReportMetric(inSlices/single, "of-single")
}

// releaseSlices releases a fleet in slices, four at a time, and returns how many
// payouts went out in a second. A slice takes whatever is due, so that an earlier fleet
// may have taken some of this one along: what went out is counted.
func (s *shop) releaseSlices(b *testing.B, by rail.Rail, fleet []model.ReleasePayout) float64 {
	b.Helper()
	worker := &releasePayout{service: s.Service, rail: by, log: s.logger()}
	before := s.count("payouts where status = 'released'")
	began := time.Now()
	var all errgroup.Group
	for part := range slices.Chunk(fleet, len(fleet)/4) {
		all.Go(func() error {
			for _, job := range part { // those that went out with others find nothing to do
				if err := worker.Work(b.Context(), &river.Job[model.ReleasePayout]{Args: job}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(b, all.Wait())
	took := time.Since(began)
	return float64(s.count("payouts where status = 'released'")-before) / took.Seconds()
}

// bareRelease is a release as somebody would write it who has nothing but these
// tables, and as they must be for the same promises: an intent that is committed
// before the call, an outcome after it, nothing sent while releases are stopped, the
// claim locked before its payout, and with each move its event and outbox row, its
// sentence in the story and, for the outcome, its postings. It reads what it sends
// and what it decides by, in as few round trips as pgx makes easy; it judges nothing.
func (s *shop) bareRelease(ctx context.Context, job model.ReleasePayout) error {
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

// bareMove is one transaction of bareRelease.
func (s *shop) bareMove(ctx context.Context, payout uuid.UUID, status string, alsoRead func(*pgx.Batch), alsoWrite func(*pgx.Batch, uuid.UUID)) error {
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
		write.Queue("update claims set timeline_sequence = timeline_sequence + 1, told_at = now() where id = (select claim_id from payouts where id = $1)", payout)
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
