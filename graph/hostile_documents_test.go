package graph_test

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/actor"
)

// costsLittle sends each body, expects an error with its code, and prints its costs: the
// memory must be within the contract's limit.
func (d *fixture) costsLittle(t *testing.T, code string, bodies map[string]string) {
	t.Helper()
	t.Logf("%-40s %9s %9s %9s", "body", "bytes", "memory", "time")
	for name, body := range bodies {
		sent := plain{http.MethodPost, "", body, nil}
		memory, took := ^uint64(0), time.Hour
		for range 5 { // the minimum of several: other tests allocate meanwhile
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := time.Now()
			_, answered := sent.to(t, d)
			took = min(took, time.Since(began))
			runtime.ReadMemStats(&after)
			memory = min(memory, after.TotalAlloc-before.TotalAlloc)
			require.Equal(t, 400, answered.status, name)
			require.Equal(t, code, answered.errorCode(), name)
		}
		require.LessOrEqual(t, memory, uint64(10<<20), name)
		t.Logf("%-40s %9d %7dKB %9v", name, len(body), memory>>10, took)
	}
}

// An array of requests is rejected before any document in it is read.
func TestRefusedBatchesCostLittle(t *testing.T) {
	t.Parallel()
	newFixture(t).costsLittle(t, "parameter_invalid", map[string]string{
		"2 requests":                  "[" + kindly + "," + kindly + "]",
		"10,000 requests":             "[" + strings.Repeat(kindly+",", 9_999) + kindly + "]",
		"1 MiB of requests":           "[" + strings.Repeat(kindly+",", 1<<20/(len(kindly)+1)-1) + kindly + "]",
		"1,000 requests of 60 fields": "[" + strings.Repeat(`{"query":"{`+strings.Repeat("a:viewer{kind} ", 60)+`}"},`, 999) + kindly + "]",
		"arrays in arrays":            strings.Repeat("[", 60) + strings.Repeat(kindly+",", 9_999) + kindly + strings.Repeat("]", 60),
	})
}

// fieldNamesOf returns the text of an object with n different members.
func fieldNamesOf(n int) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, `"n%d":1,`, i)
	}
	return all.String()
}

func TestRefusedVariablesCostLittle(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	filtered := func(filter string) string {
		return `{"query":"query($f:PolicyFilter){policies(filter:$f){totalCount}}","variables":{"f":` + filter + `}}`
	}
	supposed := func(of string) string {
		return `{"query":"query($o:WhatIfInput!){exposure(occurrence:$o){occurredAt}}","variables":{"o":` + of + `}}`
	}
	d.costsLittle(t, "malformed_json", map[string]string{
		"100,000 lists in lists":    filtered(strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)),
		"10,000 objects in objects": filtered(strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000)),
	})
	d.costsLittle(t, "duplicate_field", map[string]string{
		"a name twice among 20,000": filtered("{" + fieldNamesOf(20_000) + `"n1":1}`),
	})
	d.costsLittle(t, "parameter_invalid", map[string]string{
		"50,000 members": filtered("{" + fieldNamesOf(50_000) + `"last":1}`),
		"50,000 ids":     `{"query":"query($i:[ID!]!){nodes(ids:$i){id}}","variables":{"i":[` + strings.Repeat("1,", 49_999) + `1]}}`,
	})
	d.costsLittle(t, "validation_failed", map[string]string{
		"20,000 unknown members":     filtered("{" + fieldNamesOf(20_000) + `"last":1}`),
		"900,000 digits":             `{"query":"query($n:Int){policies(first:$n){totalCount}}","variables":{"n":` + strings.Repeat("9", 900_000) + `}}`,
		"3,500 places that are none": supposed(`{"storm":{"fixes":[` + strings.Repeat(`{"location":{"latitude":"x","longitude":1},"windKn":"1"},`, 3_499) + `{}]}}`),
		"an operation without end":   `{"query":"{viewer{kind}}","operationName":"` + strings.Repeat("x", 1_000_000) + `"}`,
	})
}

// The largest batch of observations goes into one request.
func TestBatchOfThousandObservationsIsAccepted(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.Operator.Scopes = append(d.Operator.Scopes, actor.ScopeObservationsWrite)
	const record = `mutation($in: RecordObservationsInput!) { recordObservations(input: $in) { results { result errors { pointer } } } }`
	observations := make([]map[string]any, 1000)
	for i := range observations {
		observations[i] = map[string]any{
			"source": "usgs", "sourceEventId": fmt.Sprint("us", i), "kind": "EARTHQUAKE", "stage": "FINAL", "revision": 1,
			"occurredAt": d.Now().Add(-time.Hour).Format(time.RFC3339), "location": map[string]any{"latitude": 24.1, "longitude": 121.6},
			"measures": []any{map[string]any{"name": "magnitude", "value": "5.5", "unit": "mw"}, map[string]any{"name": "depth", "value": "10", "unit": "km"}},
			"aliases":  []any{fmt.Sprint("tw", i), fmt.Sprint("at", i)},
		}
	}
	got := d.queryDataAs(t, "operator", record, map[string]any{"in": map[string]any{"observations": observations}})
	require.Len(t, dig(t, got, "recordObservations", "results"), 1000)
	require.Equal(t, "CREATED", dig(t, got, "recordObservations", "results", 999, "result"))
}
