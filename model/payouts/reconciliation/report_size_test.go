package reconciliation_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/payouts/reconciliation"
)

// A slice of a large report looks for the exceptions of its own lines. Postgres made the plan
// of the statement while the table was small, and keeps it.
func TestSliceReadsNoExceptionsOfOtherLines(t *testing.T) {
	t.Parallel()
	const waiting, most = 10, 100
	b, claim, _ := modeltest.NewPayoutInFlight(t, modeltest.WithoutChecks())
	line := modeltest.ReportLine(b, modeltest.OnlyPayout(t, b, claim), reconciliation.LineUnderway)
	reported := 0
	unknown := func(n int) (lines []reconciliation.ReportLine) {
		for range n {
			reported++
			line.Key = fmt.Sprintf("unknown-%d", reported)
			lines = append(lines, line)
		}
		return lines
	}
	large := unknown(10 * store.SweepBatchSize)
	require.Equal(t, map[string]int{"unknown": len(large)}, modeltest.Reconcile(t, b, "large", large...).Results)
	modeltest.ExecSQL(t, b, `update rail_report_lines set match_result = null where number > $1`, len(large)-waiting)
	require.NoError(t, b.Service.InTx(t.Context(), actor.System(), func(ctx context.Context, tx *store.Tx) error {
		read := modeltest.CountRowsRead(ctx, t, tx, "reconciliation_exceptions", func() {
			more, err := reconciliation.MatchLines(ctx, tx, store.SweepBatchSize)
			require.NoError(t, err)
			require.False(t, more)
		})
		require.GreaterOrEqual(t, read, waiting, "it closes those of its own lines")
		require.Less(t, read, most)
		return nil
	}))
}
