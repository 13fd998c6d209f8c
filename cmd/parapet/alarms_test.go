package main

import (
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"

	"parapet/model/claims/adjudication"
	"parapet/model/events/webhooks"
	"parapet/model/hazard"
	"parapet/model/hazard/occurrence"
	"parapet/model/modeltest"
	"parapet/model/money"
	"parapet/model/payouts/reconciliation"
)

// collectSamples returns every sample of the database metrics, by name and labels.
func collectSamples(t *testing.T, h *healthCollector) map[string]float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(h)
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

// runbookAlarm is a section of the runbook: a Prometheus expression and its text.
type runbookAlarm struct {
	text, name, operator string
	labels               []string // as scrape spells them
	bound                float64
	section              string
}

// readAlarms returns the alarms of the runbook.
func readAlarms(t *testing.T) (all []runbookAlarm) {
	t.Helper()
	runbook, err := os.ReadFile("../../RUNBOOK.md")
	require.NoError(t, err)
	form := regexp.MustCompile("(?s)^`((parapet_[a-z_]+)(?:\\{(.*?)\\})? (==|>) ([0-9]+))`\n(.*)$")
	for _, section := range strings.Split(string(runbook), "\n## ")[1:] {
		if !strings.HasPrefix(section, "`") {
			continue // a section that no alarm starts
		}
		parts := form.FindStringSubmatch(section)
		require.NotNil(t, parts, section)
		a := runbookAlarm{text: parts[1], name: parts[2], operator: parts[4], section: parts[6]}
		for _, label := range regexp.MustCompile(`([a-z]+)="([^"]*)"`).FindAllStringSubmatch(parts[3], -1) {
			a.labels = append(a.labels, label[1]+"="+label[2])
		}
		a.bound, err = strconv.ParseFloat(parts[5], 64)
		require.NoError(t, err)
		all = append(all, a)
	}
	require.Greater(t, len(all), 15)
	return all
}

// firesOn reports whether a sample makes the alarm fire.
func (a runbookAlarm) firesOn(samples map[string]float64) bool {
	for sample, value := range samples {
		words := strings.Split(sample, " ")
		missing := slices.ContainsFunc(a.labels, func(label string) bool { return !slices.Contains(words[1:], label) })
		if words[0] == a.name && !missing && (a.operator == ">" && value > a.bound || a.operator == "==" && value == a.bound) {
			return true
		}
	}
	return false
}

func TestEveryAlarmHasARunbookEntry(t *testing.T) {
	t.Parallel()
	for _, a := range readAlarms(t) {
		for _, part := range []string{"\n**Means** ", "\n**Look** ", "\n**Do** "} {
			require.Contains(t, a.section, part, a.text)
		}
		require.Contains(t, a.section, "**Look** at `/console/", "%s has no address to a page of the console", a.text)
		for _, command := range regexp.MustCompile("`parapet ops ([a-z-]+)([^`]*)").FindAllStringSubmatch(a.section, -1) {
			v, known := operatorVerbs()[command[1]]
			require.True(t, known, command[0])
			for _, flag := range regexp.MustCompile(` --([a-z-]+)`).FindAllStringSubmatch(command[2], -1) {
				known := flag[1] == "select" || slices.ContainsFunc(v.inputMembers(), func(m *ast.FieldDefinition) bool { return kebabCase(m.Name) == flag[1] })
				require.True(t, known, command[0])
			}
		}
	}
}

// breakEverything returns a database on which every alarm has a cause.
func breakEverything(t *testing.T, b *modeltest.Bundle) {
	t.Helper()
	policy := b.QuoteAndBind("quake-circle", nil)
	b.Observe(modeltest.Quake("us1", b.Now(), hazard.Point{Latitude: 24.174, Longitude: 121.653}, "6.4"))
	b.RunJobs()
	_, _, err := b.Service.Adjudication.Open(t.Context(), b.Acme, adjudication.ClaimRequest{PolicyID: policy.ID, Description: new("The roof came down.")})
	require.NoError(t, err)
	b.Quote("rain-excess", nil)
	url := "https://example.com/hooks"
	_, err = b.Service.Webhooks.CreateEndpoint(t.Context(), b.Acme, webhooks.EndpointRequest{URL: &url})
	require.NoError(t, err)
	require.NoError(t, b.Service.Occurrences.SavePoll(t.Context(), occurrence.FeedPoll{Source: "usgs", URL: "https://example.com/feed?key=sesame", Failures: 6}, time.Minute))
	require.NoError(t, b.Service.Occurrences.SavePoll(t.Context(), occurrence.FeedPoll{Source: "usgs", URL: "https://example.com/feed"}, time.Minute))
	_, err = b.Service.Reconciliation.Reconcile(t.Context(), b.Operator, reconciliation.Report{Rail: modeltest.RailName}, func(each func(reconciliation.ReportLine) error) error {
		return each(reconciliation.ReportLine{Reference: "unknown", Amount: money.New(1, "USD"), Status: reconciliation.LineSettled})
	})
	require.NoError(t, err)
	const forged = `insert into payouts select (jsonb_populate_record(p, jsonb_build_object('id', gen_random_uuid(), 'claim_sequence', null, 'debt_digest', left(md5(random()::text), 16), 'installment', %d) || '%s'::jsonb)).*
		from payouts p where installment = 1`
	for part, as := range []string{
		`{"status": "pending", "blocked_reason": null}`, `{"status": "reconciling", "blocked_reason": null}`, `{"blocked_reason": "rail_mismatch"}`, `{"blocked_reason": "approval_required"}`,
		`{"status": "released", "blocked_reason": null, "provider": "scripted", "released_at": "2026-01-01T00:00:00Z"}`,
	} {
		_, err := b.DB.Pool.Exec(t.Context(), fmt.Sprintf(forged, part+2, as))
		require.NoError(t, err)
	}
	_, err = b.DB.Pool.Exec(t.Context(), `insert into deliveries (id, partner, created_at, updated_at, endpoint_id, event_id, sequence, subject_id, status, attempts_in_round, attempts)
			select gen_random_uuid(), partner, now(), now(), id, gen_random_uuid(), 1, gen_random_uuid(), 'failed', 10, '[]' from webhook_endpoints;
		update webhook_progress set failures = 10;
		insert into matching_slices (occurrence_id, version, number, candidates, policies, attempts, due_at)
			select occurrence_id, version, n, 1, array[gen_random_uuid()], attempts, now() + due from (select * from matchings limit 1) m,
			(values (8, 0, interval '0'), (9, 3, interval '10 years')) v (n, attempts, due);
		insert into reconciliation_exceptions (id, created_at, kind, rail) values (gen_random_uuid(), now(), 'contradiction', 'scripted');
		insert into payment_orders (key, end_to_end_id, rail, payout_id, amount, currency, payee, set_aside_at) values ('k', 'k', 'iso20022', 'pay', 1, 'USD', 'iban ····3000', now());
		update claims set status = 'deferred', next_review_at = now(), reason_codes = array['source_preliminary'], opened_at = now() - interval '15 days' where status = 'approved';
		insert into river.river_job (kind, queue, state, args, max_attempts, finalized_at, scheduled_at)
			values ('release_payout', 'payouts', 'discarded', '{}', 1, now(), now() - interval '1 hour'), ('sweep', 'sweeps', 'available', '{}', 1, null, now() - interval '1 hour')`)
	require.NoError(t, err)
	require.NoError(t, b.Service.Controls.CheckInvariants(t.Context())) // it finds the forged rows and stops releases
	_, err = b.DB.Pool.Exec(t.Context(), `do $$ declare partition text; begin
			for partition in select name from partition_ranges where parent = 'timeline_entries' and not is_default loop
				execute 'alter table timeline_entries detach partition ' || partition;
			end loop;
		end $$;
		insert into timeline_entries select * from timeline_entries_before`)
	require.NoError(t, err)
	require.NoError(t, b.Service.ShiftClock(t.Context(), 25*time.Hour)) // not AdvanceClock: the events must wait for the relay
}

func TestEveryAlarmFiresOnlyForItsCause(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	pool, err := pgxpool.New(t.Context(), b.URL)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	h := &healthCollector{service: b.Service, riverPool: pool, log: slog.New(slog.DiscardHandler)}
	require.NoError(t, b.Service.Controls.CheckInvariants(t.Context()))
	all := readAlarms(t)
	quiet := collectSamples(t, h)
	for _, a := range all {
		require.False(t, a.firesOn(quiet), "%s on a quiet server", a.text)
	}
	breakEverything(t, b)
	loud := collectSamples(t, h)
	require.Contains(t, loud, "parapet_feed_failures source=usgs url=https://example.com/feed", "a name without the key")
	b.DB.Pool.Close()
	silent := collectSamples(t, h)
	require.Equal(t, map[string]float64{"parapet_db_stats_up": 0}, silent)
	for _, a := range all {
		require.True(t, a.firesOn(loud) || a.firesOn(silent), "%s: %v", a.text, loud)
	}
}
