package rest_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"parapet/internal/errormap"
	"parapet/model"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/underwriting/capacity"
	"parapet/model/wire"
	"parapet/rest"
)

// errorRow is a row of the contract's list of codes: its cause and the whole response.
type errorRow struct {
	status     int
	code       apperr.Code
	send       func(t *testing.T) *reply
	retryable  bool
	headers    map[string]string // regular expressions
	resourceID string            // resource_id, a regular expression
	pointers   []string          // of errors[], in order
	members    []string          // that only this code has
}

// graphqlOnlyCodes are the codes of queries, of mutations that move money, and of streams.
var graphqlOnlyCodes = []apperr.Code{
	apperr.CodeInsufficientUserAuthentication,
	errormap.CodeQueryTooCostly, errormap.CodeQueryNotTrusted, errormap.CodePersistedQueryNotFound, errormap.CodeOriginRefused, errormap.CodeReadTooSlowly,
}

const challengePattern = `^Bearer error="%s".*, resource_metadata="http://.+"$`

// contractErrors causes every error code.
func contractErrors(t *testing.T) {
	t.Helper()
	w := newErrorFixture(t)
	var covered []apperr.Code
	for _, row := range slices.Concat(w.requestErrors(), w.tokenErrors(), w.coverErrors(), w.claimErrors(), w.serverErrors()) {
		covered = append(covered, row.code)
		t.Run(fmt.Sprint(row.status, "_", row.code), func(t *testing.T) {
			t.Parallel()
			answer := row.send(t)
			require.Equal(t, row.status, answer.StatusCode, string(answer.Body))
			p := requireProblem(t, answer)
			require.Equal(t, string(row.code), p.Code)
			require.Equal(t, row.retryable, p.Retryable)
			require.Regexp(t, "^"+row.resourceID+"$", p.ResourceID)
			require.Equal(t, row.retryable, answer.Header.Get("Retry-After") != "", "a retryable error says when")
			for name, pattern := range row.headers {
				require.Regexp(t, pattern, answer.Header.Get(name), name)
			}
			var pointers []string
			for _, field := range p.Errors {
				require.NotEmpty(t, field.Code)
				require.NotEmpty(t, field.Detail)
				pointers = append(pointers, field.Pointer)
			}
			require.Equal(t, row.pointers, pointers)
			var whole map[string]any
			require.NoError(t, json.Unmarshal(answer.Body, &whole))
			for _, member := range row.members {
				require.Contains(t, whole, member)
			}
		})
	}
	require.ElementsMatch(t, errormap.Codes(), append(covered, graphqlOnlyCodes...), "a code has one row here")
}

// errorFixture is a server with records for which operations fail.
type errorFixture struct {
	*testServer

	boundQuote                     *wire.Quote
	policy                         *wire.Policy
	claim                          *wire.Claim
	expiredQuote                   *wire.Quote  // expired
	capacityQuote, moratoriumQuote *wire.Quote  // of a product without capacity, of a peril with a moratorium
	scheduled                      *wire.Policy // its cover begins later
	exhausted                      *wire.Policy
	claimWithMaxAttachments        *wire.Claim // it accepts no more attachments
	weakEventID, expiredToken      string      // an earthquake that pays nothing, and a token
}

func newErrorFixture(t *testing.T) *errorFixture {
	t.Helper()
	w := &errorFixture{testServer: newTestServer(t)}
	w.expiredQuote = decodeRecord[wire.Quote](t, w.post(t, 201, "/v1/quotes", quoteBody))
	w.AdvanceClock(25 * time.Hour)
	w.boundQuote, w.policy, w.claim = w.createClaim(t)
	starts := w.Now().Add(300 * 24 * time.Hour).Format(time.RFC3339)
	w.scheduled = w.QuoteAndBind("quake-circle", modeltest.Context{"starts_at": starts})
	w.exhausted = w.QuoteAndBind("quake-circle", nil)
	w.post(t, 201, "/v1/sandbox/observations", strings.Replace(w.earthquakeBody(t, "strong"), `"6.4"`, `"7.4"`, 1))
	w.RunJobs()
	w.weakEventID = "weak"
	w.post(t, 201, "/v1/sandbox/observations", strings.Replace(w.earthquakeBody(t, w.weakEventID), `"6.4"`, `"5.9"`, 1))
	w.claimWithMaxAttachments = w.OnlyClaim(w.exhausted)
	for range 50 {
		w.post(t, 201, "/v1/claims/"+w.claimWithMaxAttachments.ID+"/attachments", requestBody("/attachments"))
	}
	w.blockSales(t)
	var err error
	w.expiredToken, err = w.issuer.Sign("at+jwt", map[string]any{"iss": w.issuerAddress, "aud": "parapet", "sub": "acme", "client_id": "acme", "partner": "acme", "iat": 1, "exp": 3600})
	require.NoError(t, err)
	return w
}

// blockSales prevents sales of two products.
func (w *errorFixture) blockSales(t *testing.T) {
	t.Helper()
	w.capacityQuote, w.moratoriumQuote = w.Quote("rain-excess", nil), w.Quote("cyclone-circle", nil)
	_, err := w.Service.Capacity.Set(t.Context(), w.Operator, capacity.Request{Product: w.capacityQuote.Product, Currency: w.capacityQuote.Cover.Limit.Currency, Amount: new(int64(0))})
	require.NoError(t, err)
	peril := trigger.Windstorm
	_, err = w.Service.Capacity.DeclareMoratorium(t.Context(), w.Operator, capacity.MoratoriumRequest{Kind: &peril, EndsAt: w.Now().Add(time.Hour), Reason: "A storm is named."})
	require.NoError(t, err)
}

// sender is a request by a client.
func (w *errorFixture) sender(client, method, path, body string, headers ...string) func(*testing.T) *reply {
	return func(t *testing.T) *reply {
		t.Helper()
		return w.sendAs(t, client, nil, request{method, "/v1" + path, body, headers})
	}
}

// requestErrors are the errors of requests that cannot be parsed.
func (w *errorFixture) requestErrors() []errorRow {
	quote := func(body string, headers ...string) func(*testing.T) *reply {
		return w.sender("acme", "POST", "/quotes", body, headers...)
	}
	return []errorRow{
		{status: 400, code: apperr.CodeMalformedJSON, send: quote(`{"product":`)},
		{status: 400, code: apperr.CodeUnknownField, send: quote(`{"product":"quake-circle","context":{},"colour":1,"metadata":{}}`), pointers: []string{"/colour"}},
		{status: 400, code: apperr.CodeDuplicateField, send: quote(`{"product":"a","context":{"partner":"acme","partner":"acme"}}`), pointers: []string{"/context/partner"}},
		{status: 400, code: apperr.CodeParameterInvalid, send: w.sender("acme", "GET", "/quotes?limit=101", ""), pointers: []string{"/limit"}},
		{status: 400, code: apperr.CodeCursorInvalid, send: w.sender("acme", "GET", "/quotes?cursor=made-up", ""), pointers: []string{"/cursor"}},
		{status: 400, code: apperr.CodeIdempotencyKeyInvalid, send: quote(quoteBody, "Idempotency-Key: a b")},
		{status: 404, code: apperr.CodeNotFound, send: w.sender("globex", "GET", "/quotes/"+w.boundQuote.ID, "")},
		{status: 405, code: apperr.CodeMethodNotAllowed, send: w.sender("acme", "DELETE", "/quotes/"+w.boundQuote.ID, ""), headers: map[string]string{"Allow": "^GET, HEAD$"}},
		{status: 406, code: apperr.CodeNotAcceptable, send: quote(quoteBody, "Accept: text/html")},
		{status: 413, code: apperr.CodeBodyTooLarge, send: quote(strings.Repeat(" ", 1<<20+1))},
		{status: 415, code: apperr.CodeMediaTypeUnsupported, send: quote(quoteBody, "Content-Type: text/plain")},
		{status: 412, code: apperr.CodeVersionMismatch, send: w.sender("acme", "POST", "/claims/"+w.claim.ID+"/messages", `{"body":"hello"}`, `If-Match: "x"`)},
		{
			status: 422, code: apperr.CodeValidationFailed, pointers: []string{"/context", "/metadata/a", "/partner_reference"},
			send: quote(`{"product":"quake-circle","metadata":{"a":1},"partner_reference":null}`),
		},
	}
}

// tokenErrors are the errors of authentication and authorization.
func (w *errorFixture) tokenErrors() []errorRow {
	invalid := map[string]string{"WWW-Authenticate": fmt.Sprintf(challengePattern, "invalid_token")}
	read := func(token string) func(*testing.T) *reply {
		return w.sender("acme", "GET", "/quotes", "", "Authorization: "+token)
	}
	return []errorRow{
		{status: 401, code: apperr.CodeTokenMissing, send: read(""), headers: map[string]string{"WWW-Authenticate": `^Bearer resource_metadata="http://[^"]+"$`}},
		{status: 401, code: apperr.CodeTokenInvalid, send: read("Bearer forged"), headers: invalid},
		{status: 401, code: apperr.CodeTokenExpired, send: read("Bearer " + w.expiredToken), headers: invalid},
		{
			status: 403, code: apperr.CodeInsufficientScope, members: []string{"scope"},
			headers: map[string]string{"WWW-Authenticate": fmt.Sprintf(challengePattern, `insufficient_scope", scope="quotes:write`)},
			send: func(t *testing.T) *reply {
				t.Helper()
				return w.sendAs(t, "acme", []string{"quotes:read"}, request{"POST", "/v1/quotes", quoteBody, nil})
			},
		},
		{status: 403, code: apperr.CodePartnerMismatch, send: w.sender("globex", "POST", "/quotes", quoteBody), pointers: []string{"/context/partner"}},
		{status: 403, code: apperr.CodePartnerDisabled, send: w.sender("stranger", "GET", "/quotes", "")},
	}
}

// coverErrors are the errors of quoting and binding.
func (w *errorFixture) coverErrors() []errorRow {
	quote := func(body string, headers ...string) func(*testing.T) *reply {
		return w.sender("acme", "POST", "/quotes", body, headers...)
	}
	bind := func(q *wire.Quote) func(*testing.T) *reply {
		return w.sender("acme", "POST", "/policies", `{"quote_id":"`+q.ID+`"}`)
	}
	dear := strings.Replace(quoteBody, `}}}`, `},"radius_km":200,"steps":[{"threshold":"5.5","factor":"1.00"}]}}`, 1)
	referring := strings.TrimSuffix(quoteBody, "}") + `,"partner_reference":"taken"}`
	return []errorRow{
		{status: 409, code: apperr.CodeQuoteAlreadyBound, send: bind(w.boundQuote), resourceID: w.policy.ID},
		{status: 409, code: apperr.CodeQuoteExpired, send: bind(w.expiredQuote)},
		{status: 409, code: apperr.CodeCapacityExceeded, send: bind(w.capacityQuote)},
		{status: 409, code: apperr.CodeMoratoriumActive, send: bind(w.moratoriumQuote)},
		{status: 422, code: apperr.CodeProductUnknown, send: quote(strings.Replace(quoteBody, "quake-circle", "flood", 1)), pointers: []string{"/product"}},
		{status: 422, code: apperr.CodeRiskUninsurable, send: quote(dear)},
		{status: 422, code: apperr.CodeReferenceTaken, resourceID: "quo_.{26}", pointers: []string{"/partner_reference"}, send: w.sendBoth(quote(referring), quote(referring))},
		{status: 422, code: apperr.CodeIdempotencyKeyReused, send: w.sendBoth(quote(quoteBody, "Idempotency-Key: used"), quote(addMembers(quoteBody, `"metadata":{}`), "Idempotency-Key: used"))},
		{status: 409, code: apperr.CodeIdempotencyInFlight, retryable: true, headers: map[string]string{"Retry-After": "^1$"}, send: sendWhileInFlight},
	}
}

// sendBoth sends two requests and returns the response to the second; the first must
// succeed.
func (w *errorFixture) sendBoth(first, second func(*testing.T) *reply) func(*testing.T) *reply {
	return func(t *testing.T) *reply {
		t.Helper()
		require.Equal(t, http.StatusCreated, first(t).StatusCode)
		return second(t)
	}
}

// sendWhileInFlight sends a request again while the first one waits in its transaction.
func sendWhileInFlight(t *testing.T) *reply {
	t.Helper()
	h := newTestServer(t)
	quote := decodeRecord[wire.Quote](t, h.post(t, 201, "/v1/quotes", quoteBody))
	bind := request{"POST", "/v1/policies", `{"quote_id":"` + quote.ID + `","partner_reference":"held"}`, []string{"Idempotency-Key: one"}}
	hold := h.BlockReference("held")
	var first *reply
	var running sync.WaitGroup
	running.Go(func() { first = h.sendAs(t, "acme", nil, bind) })
	hold.AwaitWaiter()
	second := h.sendAs(t, "acme", nil, bind)
	hold.Release()
	running.Wait()
	require.Equal(t, http.StatusCreated, first.StatusCode)
	require.Equal(t, "true", h.sendAs(t, "acme", nil, bind).Header.Get("Idempotent-Replayed"))
	return second
}

// claimErrors are the errors of claims.
func (w *errorFixture) claimErrors() []errorRow {
	claim := func(p *wire.Policy, more string) func(*testing.T) *reply {
		return w.sender("acme", "POST", "/claims", `{"policy_id":"`+p.ID+`"`+more+`}`)
	}
	return []errorRow{
		{status: 409, code: apperr.CodeStateConflict, send: w.sender("acme", "POST", "/claims/"+w.claimWithMaxAttachments.ID+"/attachments", requestBody("/attachments"))},
		{
			status: 422, code: apperr.CodeTriggerNotMet, members: []string{"index", "threshold", "missed_by"},
			send: claim(w.policy, `,"source_event":{"source":"usgs","id":"`+w.weakEventID+`"}`),
		},
		{status: 422, code: apperr.CodeLimitExhausted, send: claim(w.exhausted, ""), resourceID: w.exhausted.ID},
		{status: 422, code: apperr.CodePolicyNotInForce, send: claim(w.scheduled, ""), resourceID: w.scheduled.ID},
	}
}

// serverErrors are the errors that the request does not cause.
func (w *errorFixture) serverErrors() []errorRow {
	limits := map[string]string{
		"Retry-After": "^1$", "RateLimit": `^"default";r=0;t=1$`, "RateLimit-Policy": `^"default";q=1;w=1$`,
		"RateLimit-Limit": "^1$", "RateLimit-Remaining": "^0$", "RateLimit-Reset": "^1$",
	}
	clock := &testClock{at: time.Unix(0, 0)}
	limited := w.senderTo(rest.Config{Service: w.Service, Limiter: rest.NewLimiter(rest.RateLimit{PerSecond: 1, Burst: 1}, clock.now)})
	return []errorRow{
		{status: 429, code: apperr.CodeRateLimited, retryable: true, headers: limits, send: func(t *testing.T) *reply {
			t.Helper()
			limited(t)
			return limited(t)
		}},
		{status: 500, code: apperr.CodeInternal, send: w.senderTo(rest.Config{Service: new(model.Service)})},
		{status: 503, code: apperr.CodeUnavailable, retryable: true, headers: map[string]string{"Retry-After": "^2$"}, send: func(t *testing.T) *reply {
			t.Helper()
			handler, _, closing := newHandlerOverProxy(t)
			closing()
			return request{"GET", "/v1/quotes", "", nil}.sendTo(t, handler)
		}},
	}
}

// senderTo lists quotes on a server with another configuration.
func (w *errorFixture) senderTo(config rest.Config) func(*testing.T) *reply {
	config.Authenticate = w.authenticate
	handler, err := rest.New(config)
	return func(t *testing.T) *reply {
		t.Helper()
		require.NoError(t, err)
		token, err := w.issuer.Token("acme")
		require.NoError(t, err)
		return request{"GET", "/v1/quotes", "", []string{"Authorization: Bearer " + token}}.sendTo(t, handler)
	}
}
