package reconciliation_test

import (
	"context"
	"fmt"
	"slices"
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
	large := slices.Repeat([]reconciliation.ReportLine{line}, 10*store.SweepBatchSize)
	for i := range large {
		large[i].Key = fmt.Sprintf("unknown-%d", i)
	}
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

// An operator closes an exception while its line is matched again.
func TestMatchingKeepsTheAnswerOfAnOperator(t *testing.T) {
	t.Parallel()
	b, claim, _ := modeltest.NewPayoutInFlight(t, modeltest.WithoutChecks())
	line := modeltest.ReportLine(b, modeltest.OnlyPayout(t, b, claim), reconciliation.LineUnderway)
	line.Key = "unknown"
	modeltest.Reconcile(t, b, "report", line)
	modeltest.ExecSQL(t, b, `update rail_report_lines set match_result = null`)
	blocked := b.BlockRows("reconciliation_exceptions")
	matched := make(chan error, 1)
	go func() {
		matched <- b.Service.InTx(t.Context(), actor.System(), func(ctx context.Context, tx *store.Tx) error {
			_, err := reconciliation.MatchLines(ctx, tx, 1)
			return err
		})
	}()
	blocked.AwaitWaiter()
	blocked.Commit(`update reconciliation_exceptions set closed_at = now(), closed_by = 'ops', closed_reason = 'answered'`)
	require.NoError(t, <-matched)
	var closed int
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select count(*) from reconciliation_exceptions where closed_by = 'ops'").Scan(&closed))
	require.Equal(t, 1, closed)
}
