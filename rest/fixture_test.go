package rest_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"parapet/internal/auth"
	"parapet/internal/devissuer"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/seal"
	"parapet/model/modeltest"
	"parapet/model/wire"
	"parapet/rest"
)

func TestMain(m *testing.M) { os.Exit(modeltest.Main(m)) }

// testServer is the whole API: real tokens of a real issuer, and the domain on a real
// database.
type testServer struct {
	*modeltest.Bundle

	handler       http.Handler
	issuer        *devissuer.Issuer
	issuerAddress string
	authenticate  func(context.Context, string) (actor.Actor, error)
}

func newTestServer(t *testing.T) *testServer {
	t.Helper()
	h := &testServer{Bundle: modeltest.New(t, modeltest.WithShippedProducts())}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.issuer.Handler().ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	var err error
	var scopes []string
	for _, scope := range actor.PartnerScopes() {
		scopes = append(scopes, string(scope))
	}
	h.issuer, err = devissuer.New(devissuer.Options{Issuer: server.URL, Audience: "parapet", Clients: []devissuer.Client{
		{ID: "acme", Scopes: scopes, Partner: "acme"},
		{ID: "globex", Scopes: scopes, Partner: "globex"},
		{ID: "stranger", Scopes: scopes, Partner: "stranger"}, // it was never registered
		{ID: "operator", Scopes: []string{"operator"}},
		{ID: "source", Scopes: []string{"observations:write"}, Sources: []string{"usgs"}},
	}})
	require.NoError(t, err)
	verifier, err := auth.New(auth.Config{Issuers: []string{server.URL}, Audience: "parapet"})
	require.NoError(t, err)
	h.issuerAddress, h.authenticate = server.URL, verifier.Verify
	h.handler, err = rest.New(rest.Config{Service: h.Service, Authenticate: verifier.Verify, Development: true})
	require.NoError(t, err)
	return h
}

// sendAs sends a request with a token of the client, with the given scopes or all of its
// scopes.
func (h *testServer) sendAs(t *testing.T, client string, scopes []string, r request) *reply {
	t.Helper()
	token, err := h.issuer.Token(client, scopes...)
	require.NoError(t, err)
	r.headers = append([]string{"Authorization: Bearer " + token}, r.headers...)
	return r.sendTo(t, h.handler)
}

// post sends a POST as acme and expects the status.
func (h *testServer) post(t *testing.T, status int, path, body string, headers ...string) *reply {
	t.Helper()
	return h.expectStatus(t, status, request{http.MethodPost, path, body, headers})
}

// get sends a GET as acme and expects 200.
func (h *testServer) get(t *testing.T, path string) *reply {
	t.Helper()
	return h.expectStatus(t, http.StatusOK, request{http.MethodGet, path, "", nil})
}

func (h *testServer) expectStatus(t *testing.T, status int, r request) *reply {
	t.Helper()
	response := h.sendAs(t, "acme", nil, r)
	if response.StatusCode != status {
		require.Equal(t, status, response.StatusCode, string(response.Body))
	}
	return response
}

// decodeRecord decodes a response as a v1 record.
func decodeRecord[T any](t *testing.T, response *reply) *T {
	t.Helper()
	require.Equal(t, "application/json", response.Header.Get("Content-Type"))
	into := new(T)
	require.NoError(t, json.Unmarshal(response.Body, into, json.RejectUnknownMembers(true)))
	return into
}

const (
	quoteBody   = `{"product":"quake-circle","context":{"partner":"acme","location":{"latitude":23.98,"longitude":121.61}}}`
	ibanMembers = `"type":"iban","beneficiary":{"name":"Lin Mei-hua","country":"TW"},"currency":"USD","iban":{"iban":"DE89 3704 0044 0532 0130 00"}}`
)

// earthquakeBody is an observation of the M 6.4 of 2018, at the given instant.
func (h *testServer) earthquakeBody(t *testing.T, id string) string {
	t.Helper()
	at, err := h.Now().MarshalText()
	require.NoError(t, err)
	return `{"source":"usgs","source_event_id":"` + id + `","kind":"earthquake","occurred_at":"` + string(at) + `","stage":"final",
		"location":{"latitude":24.1737,"longitude":121.653},"measures":{"magnitude":{"value":"6.4","unit":"mw"},"depth":{"value":"10.6","unit":"km"}}}`
}

// createClaim creates a quote, a policy and a claim over HTTP.
func (h *testServer) createClaim(t *testing.T) (*wire.Quote, *wire.Policy, *wire.Claim) {
	t.Helper()
	quote := decodeRecord[wire.Quote](t, h.post(t, 201, "/v1/quotes", quoteBody))
	policy := decodeRecord[wire.Policy](t, h.post(t, 201, "/v1/policies", `{"quote_id":"`+quote.ID+`"}`))
	h.post(t, 201, "/v1/sandbox/observations", h.earthquakeBody(t, "rehearsal"))
	h.RunJobs()
	policy = decodeRecord[wire.Policy](t, h.get(t, "/v1/policies/"+policy.ID))
	require.Len(t, policy.Claims, 1)
	return quote, policy, decodeRecord[wire.Claim](t, h.get(t, "/v1/claims/"+policy.Claims[0].ID))
}

// testKeys are the keys of modeltest's services.
func testKeys() seal.Keys {
	return seal.Keys{
		Seal:        []seal.Key{{ID: "test", Secret: []byte("0123456789abcdef0123456789abcdef")}},
		Fingerprint: []byte("fingerprint-key-of-the-tests-0123"),
	}
}

// releasePayouts pays every payout that has an account. The rail of the tests answers, so
// that the simulator's transfers are inserted here.
func (h *testServer) releasePayouts(t *testing.T) {
	t.Helper()
	h.RunJobs()
	_, err := h.DB.Pool.Exec(t.Context(), `insert into simulator_transfers (key, transfer) select key, '{"outcome":"accepted"}'::json from payout_attempts group by key`)
	require.NoError(t, err)
}

// deliverTestEvent delivers an event to an endpoint.
func (h *testServer) deliverTestEvent(t *testing.T) *wire.Delivery {
	t.Helper()
	endpoint := decodeRecord[wire.WebhookEndpoint](t, h.post(t, 201, "/v1/webhook_endpoints", `{"url":"https://hooks.example.com"}`))
	h.Relay()
	return decodeRecord[wire.Delivery](t, h.post(t, 202, "/v1/webhook_endpoints/"+endpoint.ID+"/test", ""))
}
