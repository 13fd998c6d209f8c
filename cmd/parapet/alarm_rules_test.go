package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
)

var updateAlarms = flag.Bool("update", false, "write the Prometheus rules and the Grafana dashboard from the alarms of RUNBOOK.md")

// criticalAlarms wake somebody at night: money may be lost, or nothing works.
var criticalAlarms = []string{
	"parapet_db_stats_up", "parapet_invariant_violations", "parapet_releases_stopped_seconds", "parapet_bank_orders_set_aside",
	`parapet_payouts_unsettled{reason="rail_mismatch"}`, `parapet_reconciliation_exceptions_open{kind="contradiction"}`,
}

// TestAlarmFilesFollowTheRunbook compares the committed files with what the runbook makes.
func TestAlarmFilesFollowTheRunbook(t *testing.T) {
	t.Parallel()
	alarms := readAlarms(t)
	for name, text := range map[string]string{"prometheus/rules.yaml": writeRules(alarms), "grafana/parapet.json": writeDashboard(t, alarms)} {
		file := filepath.Join("../../internal/deploy", name)
		if *updateAlarms {
			require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		}
		committed, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, text, string(committed), "%s is not what RUNBOOK.md makes: run make generate", name)
	}
}

func TestAlarmRulesHaveTheBoundsOfTheRunbook(t *testing.T) {
	t.Parallel()
	rules := writeRules(readAlarms(t))
	for _, a := range readAlarms(t) {
		require.Contains(t, rules, strconv.Quote(a.figure()+strings.TrimPrefix(a.text, a.selector())), "the expression of %s", a.alertName())
	}
}

// selector returns the figure without the bound.
func (a runbookAlarm) selector() string {
	selector, _, _ := strings.Cut(a.text, " "+a.operator+" ")
	return selector
}

// figure is the alarm's figure of all processes, which show the same: the highest, or the
// lowest where a low one is the alarm.
func (a runbookAlarm) figure() string {
	if a.operator == "==" {
		return "min(" + a.selector() + ")"
	}
	return "max without (instance, pod) (" + a.selector() + ")"
}

// alertName is the name of the metric and of its labels' values in camel case.
func (a runbookAlarm) alertName() string {
	name := strings.TrimSuffix(strings.TrimPrefix(a.name, "parapet_"), "_seconds")
	for _, label := range a.labels {
		_, value, _ := strings.Cut(label, "=")
		name += "_" + value
	}
	if a.operator == "==" {
		name = strings.TrimSuffix(name, "_up") + "_down"
	}
	var camel strings.Builder
	for _, part := range strings.Split("parapet_"+name, "_") {
		camel.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return camel.String()
}

// paragraph returns a paragraph of the alarm's section without markup.
func (a runbookAlarm) paragraph(which string) string {
	_, text, _ := strings.Cut(a.section, "\n**"+which+"** ")
	text, _, _ = strings.Cut(text, "\n\n")
	text = strings.Join(strings.Fields(strings.ReplaceAll(text, "`", "")), " ")
	return strings.ToUpper(text[:1]) + text[1:]
}

func (a runbookAlarm) severity() string {
	if slices.Contains(criticalAlarms, a.selector()) {
		return "critical"
	}
	return "warning"
}

// anchor is the section's address on the page that GitHub makes of the runbook.
func (a runbookAlarm) anchor() string {
	return "RUNBOOK.md#" + strings.ReplaceAll(regexp.MustCompile(`[^a-z0-9_ -]`).ReplaceAllString(strings.ToLower(a.text), ""), " ", "-")
}

func writeRules(alarms []runbookAlarm) string {
	var out strings.Builder
	out.WriteString("# Written by make generate from the alarms of RUNBOOK.md. Severity critical wakes somebody.\ngroups:\n  - name: parapet\n    rules:\n")
	rule := func(name, expression, severity, summary, description, runbook string) {
		_, _ = fmt.Fprintf(&out, "      - alert: %s\n        expr: %q\n        for: 1m\n        labels: {severity: %s}\n        annotations:\n          summary: %q\n          description: %q\n          runbook: %q\n",
			name, expression, severity, summary, description, runbook)
	}
	rule("ParapetAbsent", "absent(parapet_db_stats_up)", "critical", "No process of Parapet is scraped.", "Start the processes, or correct the addresses that Prometheus scrapes (PARAPET_METRICS_LISTEN).", alarms[0].anchor())
	for _, a := range alarms {
		rule(a.alertName(), a.figure()+" "+a.operator+" "+strconv.FormatFloat(a.bound, 'f', -1, 64), a.severity(), a.paragraph("Means"), a.paragraph("Do"), a.anchor())
	}
	return out.String()
}

// newPanel returns a graph of the dashboard, the n-th of three in a row.
func newPanel(n int, title, description, expression, legend, unit string, thresholds []any) map[string]any {
	source := map[string]any{"type": "prometheus", "uid": "${source}"}
	return map[string]any{
		"id": n + 1, "type": "timeseries", "title": title, "description": description, "datasource": source,
		"gridPos": map[string]any{"h": 7, "w": 8, "x": n % 3 * 8, "y": n / 3 * 7},
		"targets": []any{map[string]any{"refId": "A", "expr": expression, "legendFormat": legend, "datasource": source}},
		"fieldConfig": map[string]any{
			"defaults": map[string]any{
				"unit": unit, "min": 0, "thresholds": map[string]any{"mode": "absolute", "steps": thresholds},
				"custom": map[string]any{"thresholdsStyle": map[string]any{"mode": "line"}, "fillOpacity": 10},
			},
			"overrides": []any{},
		},
		"options": map[string]any{"legend": map[string]any{"displayMode": "list", "placement": "bottom", "showLegend": true}, "tooltip": map[string]any{"mode": "multi", "sort": "desc"}},
	}
}

// newThresholds returns a color and the one from a bound on.
func newThresholds(below, above string, bound float64) []any {
	return []any{map[string]any{"color": below, "value": nil}, map[string]any{"color": above, "value": bound}}
}

func writeDashboard(t *testing.T, alarms []runbookAlarm) string {
	t.Helper()
	var panels []any
	add := func(title, description, expression, legend, unit string, thresholds ...any) {
		if len(thresholds) == 0 {
			thresholds = newThresholds("green", "green", 0)
		}
		panels = append(panels, newPanel(len(panels), title, description, expression, legend, unit, thresholds))
	}
	add("Requests by status", "Requests a second.", `sum by (status) (rate(parapet_request_duration_seconds_count[5m]))`, "{{status}}", "reqps")
	add("Slow requests", "The time within which 99 of 100 requests are answered.", `histogram_quantile(0.99, sum by (le, route) (rate(parapet_request_duration_seconds_bucket[5m])))`, "{{route}}", "s")
	add("Job attempts", "Attempts a second, by kind and outcome.", `sum by (kind, outcome) (rate(parapet_job_duration_seconds_count[5m]))`, "{{kind}} {{outcome}}", "ops")
	add("Rail calls", "Calls of the payment rail a second, by outcome.", `sum by (outcome) (rate(parapet_rail_calls_total[5m]))`, "{{outcome}}", "ops")
	add("Callers that wait", "Open subscriptions, sockets and requests with wait, by process.", "parapet_waiters", "{{instance}}", "short")
	add("Memory", "Resident memory by process.", "process_resident_memory_bytes{job=~\".*parapet.*\"}", "{{instance}}", "bytes")
	for _, a := range alarms {
		unit := "short"
		if strings.HasSuffix(a.name, "_seconds") {
			unit = "s"
		}
		thresholds := newThresholds("green", "red", a.bound)
		if a.operator == "==" {
			thresholds = newThresholds("red", "green", a.bound+1)
		}
		add(a.selector(), a.paragraph("Means"), a.figure(), "", unit, thresholds...)
	}
	text, err := json.Marshal(map[string]any{
		"uid": "parapet", "title": "Parapet", "description": "Written by make generate from the alarms of RUNBOOK.md. A red line is the bound of an alarm.",
		"tags": []any{"parapet"}, "schemaVersion": 39, "editable": true, "refresh": "30s", "time": map[string]any{"from": "now-6h", "to": "now"}, "panels": panels,
		"templating": map[string]any{"list": []any{map[string]any{"name": "source", "label": "Data source", "type": "datasource", "query": "prometheus"}}},
	}, json.Deterministic(true), jsontext.WithIndent("  "))
	require.NoError(t, err)
	return string(text) + "\n"
}
