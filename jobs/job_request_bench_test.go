package jobs

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun"

	"parapet/internal/meter"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/payouts"
)

// movedRequests is how many requests of jobs BenchmarkJobRequest moves at a time.
const movedRequests = 100

// BenchmarkJobRequest compares two ways for a transaction to ask for a job: Queue.Insert,
// which inserts it into the queue, and a narrow row of an outbox, of which many are moved
// into the queue in a transaction of its own.
//
// Reported of each: microseconds of the writer's transaction, and for each job
// microseconds of processor, those of Postgres, and bytes of write-ahead log, the moves
// included.
func BenchmarkJobRequest(b *testing.B) {
	s := newFixtureWith(b, noWait, modeltest.WithoutChecks())
	queue, err := NewQueue(s.pool)
	require.NoError(b, err)
	s.execSQL("create table job_requests (id bigint generated always as identity primary key, partner text not null, kind text not null, args text not null)")
	job := payouts.ReleasePayout{Partner: "acme", ID: "pay_01kajw6p5qfn1t7zbjy0yse3hv"}
	insert := func(ctx context.Context, conn bun.Conn) error { return queue.Insert(ctx, conn, []store.Job{job}) }
	request := func(ctx context.Context, conn bun.Conn) error {
		_, err := conn.ExecContext(ctx, "insert into job_requests (partner, kind, args) values (?, ?, ?)", job.Partner, job.Kind(), job.ID)
		return err
	}
	b.Run("Inserted", func(b *testing.B) { s.measureRequests(b, insert, nil) })
	b.Run("Requested", func(b *testing.B) {
		s.measureRequests(b, request, func(ctx context.Context, conn bun.Conn) error {
			var ids []string
			err := conn.NewRaw(`delete from job_requests where id in (select id from job_requests order by id limit ? for update skip locked) returning args`, movedRequests).Scan(ctx, &ids)
			require.NoError(b, err)
			moved := make([]store.Job, len(ids))
			for i, id := range ids {
				moved[i] = payouts.ReleasePayout{Partner: job.Partner, ID: id}
			}
			return queue.Insert(ctx, conn, moved)
		})
	})
}

// measureRequests runs write in a transaction of its own b.N times, and move after every
// movedRequests times.
func (s *fixture) measureRequests(b *testing.B, write, move func(context.Context, bun.Conn) error) {
	b.Helper()
	used := meter.Start(b, s.pool, os.Getpid())
	var writing time.Duration
	jobs := 0
	for b.Loop() {
		began := time.Now()
		require.NoError(b, s.asking(write))
		writing += time.Since(began)
		if jobs++; move != nil && jobs%movedRequests == 0 {
			require.NoError(b, s.asking(move))
		}
	}
	b.ReportMetric(float64(writing.Microseconds())/float64(jobs), "writer-µs/job")
	used.Stop().Report(b, "", jobs, "job")
}
