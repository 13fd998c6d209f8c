package main

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/wire"
)

// The command replays an event as a partner and prints what it did to the partner's
// policies; the payout is reconciled by the rail's report.
func TestRehearseReplaysAnEvent(t *testing.T) {
	t.Parallel()
	w := newTestStack(t)
	quote := w.callAs(t, "acme", "POST", "/v1/quotes", `{"product": "quake-circle", "context": {"partner": "acme"}}`, 201)
	policy := w.callAs(t, "acme", "POST", "/v1/policies", `{"quote_id": "`+quote["id"].(string)+`"}`, 201)
	var out bytes.Buffer
	command := []string{"rehearse", "--server", w.info.BaseURL, "--token", w.tokenOf(t, "acme")}
	require.NoError(t, runCommand(t.Context(), append(command, "--event", "us1000chhc"), &out), out.String())
	require.Contains(t, out.String(), "us1000chhc of 2018-02-06 happened again")
	require.Regexp(t, `USD +[0-9]+ +[0-9]+ +[0-9,.]+ USD`, out.String())
	require.ErrorContains(t, runCommand(t.Context(), append(command, "--event", "us0"), io.Discard), "no such event")
	for _, args := range [][]string{{}, {"--event", "us1000chhc", "--location", "here"}} {
		require.ErrorAs(t, runCommand(t.Context(), append(command, args...), io.Discard), new(usageError))
	}

	claims := w.callAs(t, "acme", "GET", "/v1/policies/"+policy["id"].(string), "", 200)["claims"].([]any)
	claim := claims[0].(map[string]any)["id"].(string)
	w.callAs(t, "acme", "POST", "/v1/payout_methods", `{"claim_id": "`+claim+`", "type": "iban", "currency": "USD", "iban": {"iban": "`+demoIBAN+`"}, "beneficiary": {"name": "Lin Mei-hua", "country": "TW"}}`, 201)
	acme := &demoPartner{base: w.info.BaseURL + "/v1", token: w.tokenOf(t, "acme")}
	paid, err := acme.awaitPayout(t.Context(), claim)
	require.NoError(t, err)
	w.callAs(t, "acme", "POST", "/v1/sandbox/payouts/"+paid.Payouts[0].ID+"/settle", "", 202)
	var closed wire.Claim
	require.NoError(t, pollUntil(t.Context(), func() (bool, error) {
		return closed.Status == "closed", acme.getJSON(t.Context(), "/claims/"+claim, &closed)
	}))
	require.Equal(t, "reconciled", closed.Payouts[0].Status)
}

// The client shows what the checklist asks for by what it does over HTTP.
func TestChecklistNotesWhatAClientShows(t *testing.T) {
	t.Parallel()
	w := newTestStack(t)
	globex := w.tokenOf(t, "globex")
	shown := func() (items []string) {
		for _, each := range w.callAs(t, "globex", "GET", "/v1/sandbox/checklist", "", 200)["items"].([]any) {
			if check := each.(map[string]any); check["shown_at"] != nil {
				require.NotEmpty(t, check["evidence"])
				items = append(items, check["item"].(string))
			}
		}
		return items
	}
	require.Empty(t, shown())
	const quote = `{"product": "quake-circle", "context": {"partner": "globex"}}`
	for range 2 {
		w.sendRequest(t, globex, "POST", "/v1/quotes", quote, "Idempotency-Key: again")
	}
	w.callAs(t, "globex", "POST", "/v1/quotes", quote, 201)
	require.Equal(t, []string{"idempotency_replayed"}, shown())
	first := w.callAs(t, "globex", "GET", "/v1/quotes?limit=1", "", 200)
	w.callAs(t, "globex", "GET", "/v1/quotes", "", 200)
	w.callAs(t, "globex", "GET", "/v1/events", "", 200)
	require.Equal(t, []string{"idempotency_replayed"}, shown(), "one page is no list, and no delivery failed")
	w.callAs(t, "globex", "GET", "/v1/quotes?limit=1&cursor="+first["next_cursor"].(string), "", 200)
	require.Equal(t, []string{"idempotency_replayed", "list_read_to_end"}, shown())
	own := w.callAs(t, "acme", "GET", "/v1/sandbox/checklist", "", 200)
	require.Len(t, own["items"], 5)
}
