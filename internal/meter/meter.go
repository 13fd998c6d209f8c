// Package meter measures what a benchmark costs: time, processor time of a process and of
// Postgres, bytes of write-ahead log, allocations and memory. It reads /proc; on systems
// without it the times of processors and the memory are zero. It holds no state and no
// locks. Start reading at Start.
package meter

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

// Meter is a running measurement.
type Meter struct {
	b          testing.TB
	pool       *pgxpool.Pool
	pid        int
	postmaster int
	began      time.Time
	before     Usage
}

// Usage is what a measurement found.
type Usage struct {
	Elapsed     time.Duration
	CPU         time.Duration // of the measured process
	PostgresCPU time.Duration // of all processes of the server
	WAL         int64         // bytes of write-ahead log
}

// Start starts to measure a process, and the Postgres server of a pool.
func Start(b testing.TB, pool *pgxpool.Pool, pid int) *Meter {
	b.Helper()
	m := &Meter{b: b, pool: pool, pid: pid}
	var backend int
	require.NoError(b, pool.QueryRow(b.Context(), "select pg_backend_pid()").Scan(&backend))
	m.postmaster = readStat(backend).parent
	m.before, m.began = m.read(), time.Now()
	return m
}

// Stop returns what was used since the start. It may be called again.
func (m *Meter) Stop() Usage {
	m.b.Helper()
	elapsed, now := time.Since(m.began), m.read()
	return Usage{
		Elapsed: elapsed, CPU: now.CPU - m.before.CPU, PostgresCPU: now.PostgresCPU - m.before.PostgresCPU,
		WAL: now.WAL - m.before.WAL,
	}
}

// read returns the totals since the processes began.
func (m *Meter) read() (total Usage) {
	m.b.Helper()
	require.NoError(m.b, m.pool.QueryRow(context.WithoutCancel(m.b.Context()), "select (pg_current_wal_insert_lsn() - '0/0')::bigint").Scan(&total.WAL))
	total.CPU, total.PostgresCPU = readStat(m.pid).own, treeCPU(m.postmaster)
	return total
}

// Plus returns the sum of two measurements.
func (u Usage) Plus(v Usage) Usage {
	return Usage{u.Elapsed + v.Elapsed, u.CPU + v.CPU, u.PostgresCPU + v.PostgresCPU, u.WAL + v.WAL}
}

// Report reports the costs of each of n operations of a kind, such as hit, as metrics
// whose names have a prefix.
func (u Usage) Report(b *testing.B, prefix string, n int, kind string) {
	b.Helper()
	each := float64(max(n, 1))
	b.ReportMetric(float64(u.CPU.Microseconds())/each, prefix+"CPU-µs/"+kind)
	b.ReportMetric(float64(u.PostgresCPU.Microseconds())/each, prefix+"Postgres-CPU-µs/"+kind)
	b.ReportMetric(float64(u.WAL)/each, prefix+"WAL-bytes/"+kind)
}

// Median returns the middle one of the values of rounds; the greater one of the two in the
// middle if their number is even.
func Median(values []float64) float64 {
	return slices.Sorted(slices.Values(values))[len(values)/2]
}

// Percentile returns a percentile in milliseconds: the value below which percent of a hundred
// lie.
func Percentile(times []time.Duration, percent int) float64 {
	return float64(slices.Sorted(slices.Values(times))[len(times)*percent/100].Microseconds()) / 1000
}

// PerSecond returns how many of n operations were done in a second.
func (u Usage) PerSecond(n int) float64 { return float64(n) / u.Elapsed.Seconds() }
