package adjudication_test

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"parapet/internal/meter"
	"parapet/model/hazard/occurrence"
	"parapet/model/modeltest"
)

// hits and workers are the size of BenchmarkDecideHits.
var (
	hits    = flag.Int("hits", 2_000, "policies that an earthquake pays in BenchmarkDecideHits")
	workers = flag.Int("slice-workers", 2, "workers of BenchmarkDecideHits that decide slices at the same time")
)

// BenchmarkDecideHits decides an earthquake that pays every policy of a book: a claim,
// its determination, an approval and a payout each. It reports what a hit costs.
func BenchmarkDecideHits(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		m := modeltest.New(b, modeltest.WithoutChecks())
		m.CopyPolicies(*hits)
		m.Observe(modeltest.Quake("bench", m.Now().Add(-time.Hour), modeltest.Epicentre, "6.9"))
		job := m.LastJob().(occurrence.EvaluateOccurrences)
		used := meter.Start(b, m.DB.Pool, os.Getpid())
		b.StartTimer()
		require.NoError(b, m.Service.Adjudication.Evaluate(b.Context(), job))
		decideConcurrently(b, m, *workers)
		b.StopTimer()
		usage := used.Stop()
		b.ReportMetric(usage.PerSecond(*hits), "hits/s")
		usage.Report(b, "", *hits, "hit")
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
