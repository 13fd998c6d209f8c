package adjudication_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"parapet/model/hazard/occurrence"
	"parapet/model/modeltest"
)

// hits and workers are the size of BenchmarkDecideHits.
var (
	hits    = flag.Int("hits", 2_000, "policies that an earthquake pays in BenchmarkDecideHits")
	workers = flag.Int("slice-workers", 2, "workers of BenchmarkDecideHits that decide slices at the same time")
)

// BenchmarkDecideHits decides an earthquake that pays every policy of a book: a claim,
// its determination, an approval and a payout each. It reports the time and the bytes of
// write-ahead log of a hit.
func BenchmarkDecideHits(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		m := modeltest.New(b, modeltest.WithoutChecks())
		m.CopyPolicies(*hits)
		m.Observe(modeltest.Quake("bench", m.Now().Add(-time.Hour), modeltest.Epicentre, "6.9"))
		job := m.LastJob().(occurrence.EvaluateOccurrences)
		var before, written float64
		require.NoError(b, m.DB.Pool.QueryRow(b.Context(), "select pg_current_wal_insert_lsn() - '0/0'").Scan(&before))
		ours, postgres := ownCPU(b), postgresCPU(b, m)
		b.StartTimer()
		require.NoError(b, m.Service.Adjudication.Evaluate(b.Context(), job))
		decideConcurrently(b, m, *workers)
		b.StopTimer()
		require.NoError(b, m.DB.Pool.QueryRow(b.Context(), "select pg_current_wal_insert_lsn() - '0/0' - $1", before).Scan(&written))
		b.ReportMetric(float64((ownCPU(b)-ours).Microseconds())/float64(*hits), "own-CPU-us/hit")
		b.ReportMetric(float64((postgresCPU(b, m)-postgres).Microseconds())/float64(*hits), "Postgres-CPU-us/hit")
		b.ReportMetric(written/float64(*hits), "WAL-bytes/hit")
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(*hits)/float64(max(1, b.N)), "us/hit")
		claims := 0
		require.NoError(b, m.DB.Pool.QueryRow(b.Context(), "select count(*) from payouts").Scan(&claims))
		require.Equal(b, *hits, claims)
		b.StartTimer()
	}
}

// decideConcurrently decides all slices with so many workers at the same time.
func decideConcurrently(t testing.TB, m *modeltest.Bundle, workers int) {
	t.Helper()
	var group errgroup.Group
	for range workers {
		group.Go(func() error {
			for {
				if more, err := m.Service.Adjudication.DecideSlices(t.Context()); err != nil || !more {
					return err
				}
			}
		})
	}
	require.NoError(t, group.Wait())
}

// ownCPU returns the CPU time of this process.
func ownCPU(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// postgresCPU returns the CPU time of all processes of the server, to a hundredth of a
// second each.
func postgresCPU(b *testing.B, m *modeltest.Bundle) (total time.Duration) {
	b.Helper()
	var pids []int
	require.NoError(b, m.DB.Bun.NewRaw("select pid from pg_stat_activity").Scan(b.Context(), &pids))
	for _, pid := range pids {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if errors.Is(err, os.ErrNotExist) { // it ended
			continue
		}
		require.NoError(b, err)
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // proc(5): 14 and 15 are utime and stime, in ticks
		for _, ticks := range fields[11:13] {
			n, err := strconv.Atoi(ticks)
			require.NoError(b, err)
			total += time.Duration(n) * time.Second / 100
		}
	}
	return total
}
