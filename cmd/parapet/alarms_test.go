package main

import (
	"log/slog"
	"os"
	"regexp"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
)

// scrape is every sample of the vitals by its name and labels.
func scrape(t *testing.T, v *vitals) map[string]float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(v)
	families, err := registry.Gather()
	require.NoError(t, err)
	samples := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := family.GetName()
			for _, label := range metric.GetLabel() {
				name += " " + label.GetName() + "=" + label.GetValue()
			}
			samples[name] = metric.GetGauge().GetValue()
		}
	}
	return samples
}

func TestEveryAlarmIsAboutAFigureThatThereIs(t *testing.T) {
	t.Parallel()
	described := make(chan *prometheus.Desc, 100)
	(&vitals{}).Describe(described)
	close(described)
	known := map[string]bool{}
	for desc := range described {
		known[regexp.MustCompile(`fqName: "([^"]+)"`).FindStringSubmatch(desc.String())[1]] = true
	}
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	alarms := regexp.MustCompile(`(?m)^\| [^|]*parapet_[a-z_]+[^|]*\|`).FindAllString(string(readme), -1)
	require.Greater(t, len(alarms), 8)
	for _, alarm := range alarms {
		for _, name := range regexp.MustCompile(`parapet_[a-z_]+`).FindAllString(alarm, -1) {
			require.True(t, known[name], "%s pages nobody", name)
		}
	}
}

func TestJobsThatFailedForGoodAndASilentDatabaseAreSeen(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.Unchecked())
	pool, err := pgxpool.New(t.Context(), b.URL)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	v := &vitals{service: b.Service, river: pool, log: slog.New(slog.DiscardHandler)}
	_, err = pool.Exec(t.Context(), `insert into river.river_job (kind, queue, state, args, max_attempts, finalized_at, scheduled_at)
		values ('release_payout', 'payouts', 'discarded', '{}', 1, now(), now() - interval '1 hour'), ('sweep', 'sweeps', 'available', '{}', 1, null, now() - interval '1 hour')`)
	require.NoError(t, err)
	samples := scrape(t, v)
	require.Equal(t, 1.0, samples["parapet_vitals_up"])
	require.Equal(t, 1.0, samples["parapet_jobs kind=release_payout queue=payouts state=discarded"])
	require.GreaterOrEqual(t, samples["parapet_jobs_oldest_due_seconds kind=sweep queue=sweeps state=available"], 3600.0)
	b.DB.Pool.Close()
	require.Equal(t, map[string]float64{"parapet_vitals_up": 0}, scrape(t, v))
}
