package reconciliation_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
	"parapet/model/money"
	"parapet/model/payouts/reconciliation"
)

func TestReportIsReadBeforeAnyTransactionBegins(t *testing.T) {
	t.Parallel()
	b, claim, payout := modeltest.NewPayoutWithAnswer(t, modeltest.Accepted)
	read := 0
	done, err := b.Service.Reconciliation.Reconcile(t.Context(), b.Operator, reconciliation.Report{Rail: modeltest.RailName, Name: "slow"}, func(each func(reconciliation.ReportLine) error) error {
		read++
		var open int
		require.NoError(t, b.DB.Pool.QueryRow(t.Context(),
			"select count(*) from pg_stat_activity where datname = current_database() and xact_start is not null and pid <> pg_backend_pid() and backend_type = 'client backend'").Scan(&open))
		require.Zero(t, open, "a rail that answers slowly holds no transaction open")
		other := reconciliation.ReportLine{Key: "unknown", Amount: money.New(1, "USD"), Status: "underway"}
		modeltest.Reconcile(t, b, "another report is taken meanwhile", other)
		return each(modeltest.ReportLine(b, payout, "settled"))
	})
	require.NoError(t, err)
	require.Equal(t, 1, read)
	require.Equal(t, map[string]int{"reconciled": 1}, done.Results)
	require.Equal(t, "reconciled", modeltest.OnlyPayout(t, b, claim).Status)
}

// TestReportBeyondMemoryIsSavedWhole reports more than is kept in memory.
func TestReportBeyondMemoryIsSavedWhole(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	const lines = 8_000
	long := strings.Repeat("x", 250)
	at := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	read := func(each func(reconciliation.ReportLine) error) error {
		for i := range lines {
			err := each(reconciliation.ReportLine{
				Key: fmt.Sprintf("key %d", i), Reference: fmt.Sprintf("%d-%s", i, long[:200]),
				Amount: money.New(int64(i), "USD"), Account: "iban ····3000", Status: "underway", Code: long, At: at,
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	in := reconciliation.Report{Rail: modeltest.RailName, Name: "long", Lines: new(lines), Sums: map[string]int64{"USD": lines * (lines - 1) / 2}}
	done, err := b.Service.Reconciliation.Reconcile(t.Context(), b.Operator, in, read)
	require.NoError(t, err)
	require.Equal(t, map[string]int{"unknown": lines}, done.Results)
	var saved, sum int64
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), `select count(*), sum(amount) from rail_report_lines where key = format('key %s', number - 1)
		and reference = format('%s-%s', number - 1, repeat('x', 200)) and amount = number - 1 and account = 'iban ····3000' and reported_at = $1 and code = repeat('x', 250) and currency = 'USD'`, at).Scan(&saved, &sum))
	require.EqualValues(t, lines, saved)
	require.Equal(t, in.Sums["USD"], sum)
	again, err := b.Service.Reconciliation.Reconcile(t.Context(), b.Operator, in, read)
	require.NoError(t, err)
	require.True(t, again.AlreadyImported)
}
