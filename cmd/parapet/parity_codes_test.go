package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"parapet/internal/errormap"
	"parapet/model/kernel/apperr"
)

const (
	usedKey = "used" // used for another request, in each API
	busyKey = "busy" // used by a request that still runs, in each API
)

// lateParityRows are requests that fail because of the state that prepareLateParity
// creates.
var lateParityRows = []parityRow{
	{name: "a quote that expired", path: "/policies", mutation: "bindPolicy", code: "quote_expired", body: `{"quote_id": "STALE"}`},
	{
		name: "an account for a claim that is over", path: "/payout_methods", mutation: "recordPayoutMethod", code: "state_conflict", enums: []string{"type"},
		body: `{"claim_id": "OVER", ` + parityMethod + `, "iban": {"iban": "` + demoIBAN + `"}}`,
	},
	{name: "a limit that is used up", path: "/claims", mutation: "openClaim", code: "limit_exhausted", client: "globex", body: `{"policy_id": "EMPTY"}`},
	{name: "a key of another request", path: "/quotes", mutation: "createQuote", code: "idempotency_key_reused", key: usedKey, body: `{"product": "quake-circle", "context": {"partner": "acme", "radius_km": 40}}`},
	{name: "a key of a request that runs", path: "/quotes", mutation: "createQuote", code: "idempotency_in_flight", key: busyKey, body: `{"product": "quake-circle", "context": {"partner": "acme"}}`},
	{name: "a key that is none", path: "/quotes", mutation: "createQuote", code: "idempotency_key_invalid", key: "a b", body: `{"product": "quake-circle", "context": {"partner": "acme"}}`},
}

// codesOfOneAPI are the codes that no row covers, with the reason.
var codesOfOneAPI = map[apperr.Code]string{
	apperr.CodeVersionMismatch:                "REST takes If-Match for a partner's writes; over GraphQL operators' mutations take a version, and REST has none of those",
	apperr.CodeUnknownField:                   "REST's alone: what the schema does not know is validation_failed over GraphQL",
	apperr.CodeInsufficientUserAuthentication: "GraphQL's alone: the operations that move money by hand are not in REST",
	errormap.CodeQueryTooCostly:               "GraphQL's alone: a request over REST cannot ask for more than its page",
	errormap.CodeQueryNotTrusted:              "GraphQL's alone: REST has no documents",
	errormap.CodePersistedQueryNotFound:       "GraphQL's alone: REST has no documents",
	errormap.CodeOriginRefused:                "GraphQL's alone: REST has no WebSocket",
	errormap.CodeReadTooSlowly:                "GraphQL's alone: REST has no subscriptions",

	apperr.CodeTokenMissing:     sharedErrorNote,
	apperr.CodeTokenInvalid:     sharedErrorNote,
	apperr.CodeMalformedJSON:    sharedErrorNote,
	apperr.CodeDuplicateField:   sharedErrorNote,
	apperr.CodeBodyTooLarge:     sharedErrorNote,
	apperr.CodeCursorInvalid:    sharedErrorNote,
	apperr.CodeParameterInvalid: sharedErrorNote,

	apperr.CodeMethodNotAllowed:     "about the form of a request, which is each door's own",
	apperr.CodeNotAcceptable:        "about the form of a request, which is each door's own",
	apperr.CodeMediaTypeUnsupported: "about the form of a request, which is each door's own",

	apperr.CodeRateLimited: "for a server with a limit",
	apperr.CodeUnavailable: "for a server without its database",
	apperr.CodeInternal:    "nothing that a caller sends leads to it",
}

const sharedErrorNote = "TestRESTAndGraphQLReturnTheSameErrors has it"

// prepareLateParity creates the state that makes lateParityRows fail.
func (w *testStack) prepareLateParity(t *testing.T, db *pgx.Conn) *strings.Replacer {
	t.Helper()
	quote := func(client string) string {
		return w.callAs(t, client, "POST", "/v1/quotes", fmt.Sprintf(`{"product": "quake-circle", "context": {"partner": %q}}`, client), 201)["id"].(string)
	}
	stale := quote("acme") // the newest quote
	_, err := db.Exec(t.Context(), "update quotes set expires_at = created_at + interval '1 millisecond' where id = (select id from quotes order by id desc limit 1)")
	require.NoError(t, err)
	over := w.callAs(t, "acme", "POST", "/v1/claims", fmt.Sprintf(`{"policy_id": %q}`, w.policy), 201)["id"].(string)
	w.runMutation(t, fmt.Sprintf(`withdrawClaim(input: {claimId: %q}) { claim { id } }`, over))
	empty := w.callAs(t, "globex", "POST", "/v1/policies", fmt.Sprintf(`{"quote_id": %q}`, quote("globex")), 201)["id"].(string)
	w.callAs(t, "globex", "POST", "/v1/sandbox/observations", quakeNow("7.4"), 201)
	require.Eventually(t, func() bool {
		left := w.callAs(t, "globex", "GET", "/v1/policies/"+empty, "", 200)["limit_remaining"].(map[string]any)
		return left["amount"] == 0.0
	}, time.Minute, 50*time.Millisecond)
	return strings.NewReplacer("STALE", stale, "OVER", over, "EMPTY", empty)
}

// runMutation runs a mutation as an operator; it must succeed.
func (w *testStack) runMutation(t *testing.T, mutation string) {
	t.Helper()
	status, answer := w.sendRequest(t, w.tokenOf(t, "operator"), "POST", "/graphql", fmt.Sprintf(`{"query": %q}`, "mutation { "+mutation+" }"))
	require.Equal(t, http.StatusOK, status, answer)
	require.Nil(t, answer["errors"])
}

// runLateParity runs the rows that need prepared state, after which other rows would
// fail.
func (w *testStack) runLateParity(t *testing.T) {
	t.Helper()
	db, err := pgx.Connect(t.Context(), w.info.DatabaseURL)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close(t.Context())) }()
	own := w.prepareLateParity(t, db)
	over, acme := [2]*strings.Replacer{own, own}, w.tokenOf(t, "acme")
	first := parityRow{name: "a key's first request", path: "/quotes", mutation: "createQuote", payloadField: "quote", selection: quoteSelection, key: usedKey, body: `{"product": "quake-circle", "context": {"partner": "acme"}}`}
	w.runParity(t, first, acme, over)
	for _, operation := range []string{"POST /quotes", "mutation createQuote"} { // the rows of a transaction in progress
		_, err := db.Exec(t.Context(), "select pg_advisory_lock(hashtextextended($1, 0))", "idempotency/partner/acme/"+operation+"/"+busyKey)
		require.NoError(t, err)
	}
	played := map[apperr.Code]bool{}
	for _, p := range parityRows {
		played[apperr.Code(p.code)] = true
	}
	play := func(p parityRow, token string) {
		w.runParity(t, p, token, over)
		played[apperr.Code(p.code)] = true
	}
	for _, p := range lateParityRows {
		play(p, w.tokenOf(t, p.clientName()))
	}
	expired, err := w.issuer.Sign("at+jwt", map[string]any{"iss": w.info.Issuer, "aud": w.settings.Audience, "sub": "acme", "client_id": "acme", "partner": "acme", "iat": 1, "exp": 3600})
	require.NoError(t, err)
	again := first
	again.name, again.code, again.key = "a token that expired", "token_expired", ""
	play(again, expired)
	w.runMutation(t, `disablePartner(input: {slug: "globex", reason: "It asked for it."}) { partner { slug } }`)
	again.name, again.code = "a partner that is disabled", "partner_disabled"
	require.Eventually(t, func() bool { // a server reads it again within seconds
		status, _ := w.sendRequest(t, w.tokenOf(t, "globex"), "GET", "/v1/quotes", "")
		return status == http.StatusForbidden
	}, time.Minute, 50*time.Millisecond)
	play(again, w.tokenOf(t, "globex"))
	for _, code := range errormap.Codes() {
		require.NotEqual(t, played[code], codesOfOneAPI[code] != "", "%s is played, or it is said why not", code)
	}
}
