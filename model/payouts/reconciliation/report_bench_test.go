package reconciliation_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
	"parapet/model/payouts"
	"parapet/model/payouts/reconciliation"
)

// BenchmarkReconcile imports and matches a report of 100,000 lines: half of them name a
// payout in flight, the others are unknown and become exceptions.
func BenchmarkReconcile(b *testing.B) {
	d, claim, _ := modeltest.NewPayoutInFlight(b, modeltest.WithoutChecks())
	named := modeltest.ReportLine(d, modeltest.OnlyPayout(b, d, claim), reconciliation.LineUnderway)
	const lines = 100_000
	for n := 0; b.Loop(); n++ {
		var peak uint64
		read := func(each func(reconciliation.ReportLine) error) error {
			for i := range lines {
				l := named
				l.Reference = fmt.Sprintf("r-%d-%d", n, i)
				if i%2 == 0 {
					l.Key = "other-" + l.Reference
				}
				if err := each(l); err != nil {
					return err
				}
				if i%10_000 == 0 {
					var m runtime.MemStats
					runtime.ReadMemStats(&m)
					peak = max(peak, m.HeapAlloc)
				}
			}
			return nil
		}
		done, err := d.Service.Reconciliation.Reconcile(b.Context(), d.Operator, reconciliation.Report{Rail: modeltest.RailName, Name: fmt.Sprint(n)}, read)
		require.NoError(b, err)
		require.Equal(b, map[payouts.LineResult]int{"underway": lines / 2, "unknown": lines / 2}, done.Results)
		b.ReportMetric(float64(peak)/(1<<20), "MiB-heap")
	}
}
