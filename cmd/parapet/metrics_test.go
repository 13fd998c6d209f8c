package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMetricsShowRequestsJobsAndHealthStats(t *testing.T) {
	t.Parallel()
	w := newTestStack(t)
	request, err := http.NewRequestWithContext(t.Context(), "MADE-UP", w.info.BaseURL+"/v1/quotes", nil)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())

	var text string
	require.Eventually(t, func() bool { // a job is counted shortly after its effect is visible
		text = w.readMetrics(t)
		return strings.Contains(text, `parapet_job_duration_seconds_count{kind="evaluate_occurrences",outcome="done"} `)
	}, 30*time.Second, 50*time.Millisecond, "the job that matched is counted")
	for _, line := range []string{
		"parapet_db_stats_up 1\n",
		`parapet_request_duration_seconds_count{method="POST",route="/quotes",status="201"} `,
		`parapet_request_duration_seconds_count{method="other",`,
		`parapet_payouts_unsettled{currency="USD",reason="payout_method_missing",status="blocked"} 1`,
		`parapet_money_unsettled_minor_units{currency="USD",reason="payout_method_missing",status="blocked"} 2e+06`,
		"parapet_deliveries_failed 0\n", "parapet_invariant_violations 0\n", "parapet_releases_stopped_seconds 0\n", "parapet_bank_orders_set_aside 0\n", "parapet_invariants_unchecked_seconds ", "parapet_event_sequencing_lag_seconds ", "go_goroutines ",
	} {
		require.Contains(t, text, line)
	}
	require.NotContains(t, text, "MADE-UP")
}

// readMetrics returns the metrics that Prometheus would read.
func (w *testStack) readMetrics(t *testing.T) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.info.MetricsURL, nil)
	require.NoError(t, err)
	scraped, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { require.NoError(t, scraped.Body.Close()) }()
	text, err := io.ReadAll(scraped.Body)
	require.NoError(t, err)
	return string(text)
}
