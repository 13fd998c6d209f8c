package graph_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"parapet/graph"
	"parapet/model/modeltest"
)

const progressFields = `occurrenceId version status settled candidates decided claimsOpened hasMore lines { partner currency candidates decided claimsOpened
	owed { amount currency } pending { amount } blocked { amount } released { amount } }`

// bindForProgress binds a policy of acme that can be paid and one of globex, and reports
// an earthquake. It returns the id of its occurrence.
func (d *fixture) bindForProgress(t *testing.T) string {
	t.Helper()
	place := modeltest.Context{"location": map[string]any{"latitude": hualien.Latitude, "longitude": hualien.Longitude}}
	policy := d.QuoteAndBind("quake-circle", place)
	d.RecordPayoutMethod(modeltest.PolicyIBANMethod(policy.ID))
	d.ActingAs(d.Globex).QuoteAndBind("quake-circle", place)
	d.RunJobs()
	d.AdvanceClock(time.Hour)
	d.Observe(modeltest.Quake("us1", d.Now().Add(-time.Minute), hualien, "7.1"))
	nodes := d.queryData(t, `{ occurrences { nodes { id } } }`, nil)["occurrences"].(map[string]any)["nodes"].([]any)
	return nodes[0].(map[string]any)["id"].(string)
}

// progressLine is the decoded line of a partner with one policy, whose payout is blocked
// or released.
func progressLine(partner string, blocked, released int) map[string]any {
	amount := func(n int) map[string]any { return map[string]any{"amount": float64(n)} }
	return map[string]any{
		"partner": partner, "currency": "USD", "candidates": 1.0, "decided": 1.0, "claimsOpened": 1.0,
		"owed": map[string]any{"amount": float64(blocked + released), "currency": "USD"}, "pending": amount(0), "blocked": amount(blocked), "released": amount(released),
	}
}

func TestOccurrenceShowsWhatIsOwedByProduct(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	document := fmt.Sprintf(`{ occurrence(id: %q) { owedByProduct { partner product currency claimsOpened owed { amount } pending { amount } blocked { amount } released { amount } } } }`, d.bindForProgress(t))
	read := func(as string) []any {
		return dig(t, d.queryDataAs(t, as, document, nil), "occurrence", "owedByProduct").([]any)
	}
	require.Empty(t, read("operator"))
	d.RunJobs()
	amount := func(n int) map[string]any { return map[string]any{"amount": float64(n)} }
	line := func(partner string, blocked, released int) map[string]any {
		return map[string]any{"partner": partner, "product": "quake-circle", "currency": "USD", "claimsOpened": float64(1), "owed": amount(blocked + released), "pending": amount(0), "blocked": amount(blocked), "released": amount(released)}
	}
	acme, globex := line("acme", 0, 10_000_000), line("globex", 10_000_000, 0)
	require.Equal(t, []any{acme, globex}, read("operator"))
	require.Equal(t, []any{globex}, read("globex"))
}

func TestProgressOfOccurrenceForPartnerAndOperator(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	id := d.bindForProgress(t)
	document := fmt.Sprintf(`{ occurrence(id: %q) { progress { %s } } occurrences { nodes { progress { decided } } } }`, id, progressFields)
	read := func(as string) map[string]any {
		data := d.queryDataAs(t, as, document, nil)
		progress := data["occurrence"].(map[string]any)["progress"].(map[string]any)
		listed := data["occurrences"].(map[string]any)["nodes"].([]any)[0].(map[string]any)["progress"].(map[string]any)
		require.Equal(t, progress["decided"], listed["decided"])
		return progress
	}
	require.Equal(t, "WAITING", read("acme")["status"])
	d.RunJobs()
	acme, globex := progressLine("acme", 0, 10_000_000), progressLine("globex", 10_000_000, 0)
	for as, lines := range map[string][]any{"acme": {acme}, "globex": {globex}, "operator": {acme, globex}} {
		n := float64(len(lines))
		require.Eventually(t, func() bool { return read(as)["status"] == "COMPLETE" }, 30*time.Second, 100*time.Millisecond, "a read that was slow is kept for a second")
		require.Equal(t, map[string]any{
			"occurrenceId": id, "version": 1.0, "status": "COMPLETE", "settled": true, "hasMore": false,
			"candidates": n, "decided": n, "claimsOpened": n, "lines": lines,
		}, read(as), as)
	}
}

func TestProgressSubscriptionEndsWhenSettled(t *testing.T) {
	t.Parallel()
	s := newServedFixture(t, graph.Streams{})
	id := s.bindForProgress(t)
	document := fmt.Sprintf(`subscription { occurrenceProgress(occurrenceId: %q) { %s } }`, id, progressFields)
	stream := s.openEventStream(t, "acme", document)
	read := func() (progress map[string]any, complete bool) {
		event, complete := stream.nextEvent()
		if complete {
			return nil, true
		}
		require.Empty(t, event.Errors)
		var data map[string]map[string]any
		require.NoError(t, json.Unmarshal(event.Data, &data))
		return data["occurrenceProgress"], false
	}
	first, _ := read()
	require.Equal(t, "WAITING", first["status"])
	s.RunJobs()
	last := first
	for next, complete := read(); !complete; next, complete = read() {
		last = next
	}
	require.Equal(t, []any{progressLine("acme", 0, 10_000_000)}, last["lines"])
	require.Equal(t, true, last["settled"])

	refused, complete := s.openEventStream(t, "acme", `subscription { occurrenceProgress(occurrenceId: "occ_x") { settled } }`).nextEvent()
	require.False(t, complete)
	require.Equal(t, "not_found", refused.errorCode())
}
