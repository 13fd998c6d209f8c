package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
)

// EndpointRow is one row of the contract's table, with a body that works for acme.
type endpointRow struct {
	method, path, scope string
	status              int
	body                string
}

// testStack is a running stack with a policy of acme whose claim was approved.
type testStack struct {
	*stack

	quote, unboundQuote, policy, claim string
}

// endpointRows are the thirteen endpoints of the public contract.
func (w *testStack) endpointRows() []endpointRow {
	file := base64.StdEncoding.EncodeToString([]byte("plain words"))
	return []endpointRow{
		{"POST", "/quotes", "quotes:write", 201, `{"product": "quake-circle", "context": {"partner": "acme"}}`},
		{"GET", "/quotes/" + w.quote, "quotes:read", 200, ""},
		{"POST", "/policies", "policies:write", 201, fmt.Sprintf(`{"quote_id": %q}`, w.unboundQuote)},
		{"GET", "/policies/" + w.policy, "policies:read", 200, ""},
		{"POST", "/claims", "claims:write", 201, fmt.Sprintf(`{"policy_id": %q, "description": "the lobby is flooded"}`, w.policy)},
		{"GET", "/claims/" + w.claim, "claims:read", 200, ""},
		{"GET", "/claims/" + w.claim + "/timeline", "claims:read", 200, ""},
		{"POST", "/claims/" + w.claim + "/attachments", "claims:write", 201, fmt.Sprintf(`{"file_name": "note.txt", "content_type": "text/plain", "content_base64": %q}`, file)},
		{"GET", "/claims/" + w.claim + "/attachments", "claims:read", 200, ""},
		{"POST", "/claims/" + w.claim + "/messages", "claims:write", 201, `{"body": "When will it be paid?"}`},
		{"GET", "/claims/" + w.claim + "/messages", "claims:read", 200, ""},
		{"POST", "/payout_methods", "payout_methods:write", 201, fmt.Sprintf(`{"claim_id": %q, "type": "iban", "currency": "USD",
			"beneficiary": {"name": "Hualien Hotel Ltd", "country": "TW"}, "iban": {"iban": %q}}`, w.claim, demoIBAN)},
		{"GET", "/claims/" + w.claim + "/payout-methods", "claims:read", 200, ""},
	}
}

func TestEveryEndpoint(t *testing.T) {
	t.Parallel()
	w := newTestStack(t)
	for i, base := range []string{"/v1", "/parametric/v1"} {
		if i > 0 { // a quote can be bound once
			w.unboundQuote = w.callAs(t, "acme", "POST", base+"/quotes", w.endpointRows()[0].body, 201)["id"].(string)
		}
		for _, e := range w.endpointRows() {
			w.requireAccessChecks(t, base, e)
			record := w.callAs(t, "acme", e.method, base+e.path, e.body, e.status)
			require.NotEmpty(t, record["object"], "%s %s", e.method, e.path)
		}
	}
	paid := w.waitForClaim(t, func(claim map[string]any) bool { return payoutOf(claim)["status"] == "released" })
	require.Equal(t, map[string]any{"amount": 2_000_000.0, "currency": "USD"}, payoutOf(paid)["amount"])
}

// requireAccessChecks calls an endpoint without a token, without its scope, and as
// another partner.
func (w *testStack) requireAccessChecks(t *testing.T, base string, e endpointRow) {
	t.Helper()
	status, _ := w.sendRequest(t, "", e.method, base+e.path, e.body)
	require.Equal(t, 401, status, "%s %s", e.method, e.path)

	var others []string
	for _, scope := range w.seedClients()[0].Scopes {
		if scope != e.scope {
			others = append(others, scope)
		}
	}
	token, err := w.issuer.Token("acme", others...)
	require.NoError(t, err)
	answer, problem := w.sendRequest(t, token, e.method, base+e.path, e.body)
	require.Equal(t, 403, answer, "%s %s", e.method, e.path)
	require.Equal(t, "insufficient_scope", problem["code"])
	require.Contains(t, problem["detail"], e.scope)

	if e.path == "/quotes" {
		foreign := w.callAs(t, "globex", e.method, base+e.path, e.body, 403)
		require.Equal(t, "partner_mismatch", foreign["code"])
		return
	}
	foreign := w.callAs(t, "globex", e.method, base+e.path, e.body, 404)
	require.Equal(t, "not_found", foreign["code"])
}

func newTestStack(t *testing.T) *testStack {
	t.Helper()
	s, err := startStack(t.Context(), devOptions{listen: "127.0.0.1:0", dataDir: modeltest.DataFolder(t), quiet: true})
	require.NoError(t, err)
	t.Cleanup(s.stopAll)
	w := &testStack{stack: s}
	quote := `{"product": "quake-circle", "context": {"partner": "acme"}}`
	w.quote = w.callAs(t, "acme", "POST", "/v1/quotes", quote, 201)["id"].(string)
	w.unboundQuote = w.callAs(t, "acme", "POST", "/v1/quotes", quote, 201)["id"].(string)
	w.policy = w.callAs(t, "acme", "POST", "/v1/policies", fmt.Sprintf(`{"quote_id": %q}`, w.quote), 201)["id"].(string)
	w.callAs(t, "source", "POST", "/v1/observations", quakeNow("6.4"), 201)
	require.Eventually(t, func() bool {
		policy := w.callAs(t, "acme", "GET", "/v1/policies/"+w.policy, "", 200)
		claims, _ := policy["claims"].([]any)
		if len(claims) == 0 {
			return false
		}
		w.claim = claims[0].(map[string]any)["id"].(string)
		return true
	}, time.Minute, 50*time.Millisecond)
	return w
}

func quakeNow(magnitude string) string {
	return fmt.Sprintf(`{"source": "usgs", "source_event_id": "test-%s", "kind": "earthquake", "occurred_at": %q, "stage": "final",
		"location": {"latitude": 24.1737, "longitude": 121.653},
		"measures": {"magnitude": {"value": %q, "unit": "mw"}, "depth": {"value": "10.64", "unit": "km"}}}`,
		magnitude, time.Now().UTC().Format(time.RFC3339Nano), magnitude)
}

// waitForClaim reads the claim until a condition is true.
func (w *testStack) waitForClaim(t *testing.T, wanted func(map[string]any) bool) map[string]any {
	t.Helper()
	var claim map[string]any
	require.Eventually(t, func() bool {
		claim = w.callAs(t, "acme", "GET", "/v1/claims/"+w.claim, "", 200)
		return wanted(claim)
	}, time.Minute, 50*time.Millisecond)
	return claim
}

func payoutOf(claim map[string]any) map[string]any {
	payouts, _ := claim["payouts"].([]any)
	if len(payouts) == 0 {
		return nil
	}
	return payouts[0].(map[string]any)
}

// callAs sends a request as a seeded client; the response must have the status.
func (w *testStack) callAs(t *testing.T, client, method, path, body string, status int) map[string]any {
	t.Helper()
	for _, c := range w.info.Clients {
		if c.Name == client {
			answer, record := w.sendRequest(t, c.Token, method, path, body)
			require.Equal(t, status, answer, "%s %s as %s: %v", method, path, client, record)
			return record
		}
	}
	t.Fatalf("there is no client %s", client)
	return nil
}

func (w *testStack) sendRequest(t *testing.T, token, method, path, body string, headers ...string) (status int, record map[string]any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, w.info.BaseURL+path, strings.NewReader(body))
	require.NoError(t, err)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.NoError(t, json.NewDecoder(bytes.NewReader(text)).Decode(&record), "%s", text)
	return answer.StatusCode, record
}
