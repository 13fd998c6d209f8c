package jobs

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.jetify.com/typeid"
	"golang.org/x/sync/errgroup"

	"parapet/jobs/rail"
	"parapet/model"
	"parapet/model/modeltest"
	"parapet/model/money"
)

// BenchmarkRelease releases payouts one by one through the simulator, then as many
// by a bare loop of the same statements, then slices through a rail of files.
func BenchmarkRelease(b *testing.B) {
	const warm, single, sliced, callers = 60, 200, 4 * sliceSize, 8
	s := openWith(b, atOnce, modeltest.Unchecked())
	files, _ := s.files()
	fleet := s.fleet(2*warm + 2*single + sliced)
	atOnceBy := func(jobs []model.ReleasePayout, do func(model.ReleasePayout) error) float64 {
		next := make(chan model.ReleasePayout, len(jobs))
		for _, job := range jobs {
			next <- job
		}
		close(next)
		began := time.Now()
		var all sync.WaitGroup
		for range callers {
			all.Go(func() {
				for job := range next {
					if err := do(job); err != nil {
						b.Error(err)
					}
				}
			})
		}
		all.Wait()
		return float64(len(jobs)) / time.Since(began).Seconds()
	}
	release := func(job model.ReleasePayout) error { return s.release(job) }
	bareRelease := func(job model.ReleasePayout) error { return s.bareRelease(b.Context(), job) }
	atOnceBy(fleet[:warm], release) // statements are prepared once a connection
	atOnceBy(fleet[warm:2*warm], bareRelease)
	rest := fleet[2*warm:]
	ours, bare := atOnceBy(rest[:single], release), atOnceBy(rest[single:2*single], bareRelease)
	inSlices := s.releaseSlices(b, files, rest[2*single:])
	require.Equal(b, len(fleet), s.count("payouts where status = 'released'"))
	for b.Loop() {
	}
	b.ReportMetric(ours, "payouts/s")
	b.ReportMetric(bare, "bare/s")
	b.ReportMetric(ours/bare, "of-bare")
	b.ReportMetric(inSlices, "sliced/s")
	b.ReportMetric(inSlices/ours, "of-single")
}

// releaseSlices releases a fleet in slices, two at a time as the workers of two
// processors do, and returns how many payouts went out in a second.
func (s *shop) releaseSlices(b *testing.B, by rail.Rail, fleet []model.ReleasePayout) float64 {
	b.Helper()
	began := time.Now()
	var both errgroup.Group
	for half := range slices.Chunk(fleet, len(fleet)/2) {
		both.Go(func() error {
			for _, job := range half { // those that went out with others find nothing to do
				if err := s.releaseBy(by, nil, job); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(b, both.Wait())
	return float64(len(fleet)) / time.Since(began).Seconds()
}

// bareRelease is a release without the domain: the same rows are locked, changed
// and written, in two transactions around the same call.
func (s *shop) bareRelease(ctx context.Context, job model.ReleasePayout) error {
	parsed, err := typeid.FromString(job.ID)
	if err != nil {
		return err
	}
	payout := uuid.UUID(parsed.UUIDBytes()).String()
	part := func(status string, attempt string) error {
		return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
			var claim, id string
			if err := tx.QueryRow(ctx, `select c.id::text from claims c where (c.id, c.partner) in
				(select claim_id, partner from payouts where id = $1::text::uuid) for no key update`, payout).Scan(&claim); err != nil {
				return err
			}
			if err := tx.QueryRow(ctx, "select id::text from payouts where id = $1::text::uuid for no key update", payout).Scan(&id); err != nil {
				return err
			}
			batch := &pgx.Batch{}
			batch.Queue("select * from payout_methods where id = (select payout_method_id from payouts where id = $1::text::uuid)", id)
			batch.Queue("select key, min(started_at) from payout_attempts where payout_id = $1::text::uuid group by key", id)
			batch.Queue(attempt, id)
			batch.Queue("update payouts set status = $2, version = version + 1, attempts = 1, updated_at = now(), released_at = case when $2 = 'released' then now() end, next_attempt_at = null where id = $1::text::uuid", id, status)
			batch.Queue("update claims set timeline_sequence = timeline_sequence + 1, told_at = now() where id = $1::text::uuid", claim)
			batch.Queue(`with kept as (insert into events (id, partner, type, subject_type, subject_id, subject_version, occurred_at, data)
				select gen_random_uuid(), partner, 'payout.' || $2, 'payout', id, version, now(), convert_to($3, 'utf8') from payouts where id = $1::text::uuid returning id, partner)
				insert into event_outbox (partner, event_id) select partner, id from kept`, id, status, `{"object":{"id":"`+job.ID+strings.Repeat("x", 600)+`"}}`)
			batch.Queue(`insert into timeline_entries (id, partner, claim_id, sequence, kind, at, actor_kind, actor_name, summary, data, event_id)
				select gen_random_uuid(), partner, id, timeline_sequence, 'payout.' || $2, now(), 'system', 'parapet', 'The payout moved.', '{}', gen_random_uuid() from claims where id = $1::text::uuid`, claim, status)
			return tx.SendBatch(ctx, batch).Close()
		})
	}
	err = part("releasing", `insert into payout_attempts (payout_id, partner, number, key, rail, started_at) values ($1::text::uuid, 'acme', 1, 'bare', 'bare', now())`)
	if err != nil {
		return err
	}
	s.rail.Send(ctx, rail.Instruction{Key: job.ID + ".1", PayoutID: job.ID, Amount: money.New(2_000_000, "USD"), Payee: rail.Payee{Number: numberFor(rail.Accept)}})
	return part("released", `update payout_attempts set ended_at = now(), outcome = 'accepted' where payout_id = $1::text::uuid and ended_at is null`)
}
