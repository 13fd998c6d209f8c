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

	"parapet/internal/refusal"
	"parapet/model"
	"parapet/model/hazard"
	"parapet/model/modeltest"
	"parapet/model/wire"
	"parapet/rest"
)

// refusalRow is a row of the contract's list of codes: how it comes about, and all
// that the answer says.
type refusalRow struct {
	status    int
	code      model.Code
	ask       func(t *testing.T) *reply
	retryable bool
	headers   map[string]string // regular expressions
	resource  string            // resource_id, a regular expression
	pointers  []string          // of errors[], in order
	members   []string          // that only this code has
}

// elsewhere are the codes of queries and streams.
var elsewhere = []model.Code{
	refusal.CodeQueryTooCostly, refusal.CodeQueryNotTrusted, refusal.CodePersistedQueryNotFound, refusal.CodeOriginRefused, refusal.CodeReadTooSlowly,
}

const bearer = `^Bearer error="%s".*, resource_metadata="http://.+"$`

// contractErrors provokes every code there is.
func contractErrors(t *testing.T) {
	t.Helper()
	w := newRefusals(t)
	var covered []model.Code
	for _, row := range slices.Concat(w.requests(), w.tokens(), w.cover(), w.claims(), w.ours()) {
		covered = append(covered, row.code)
		t.Run(fmt.Sprint(row.status, "_", row.code), func(t *testing.T) {
			t.Parallel()
			answer := row.ask(t)
			require.Equal(t, row.status, answer.StatusCode, string(answer.Body))
			p := refused(t, answer)
			require.Equal(t, string(row.code), p.Code)
			require.Equal(t, row.retryable, p.Retryable)
			require.Regexp(t, "^"+row.resource+"$", p.ResourceID)
			require.Equal(t, row.retryable, answer.Header.Get("Retry-After") != "", "who may try again is told when")
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
	require.ElementsMatch(t, refusal.Codes(), append(covered, elsewhere...), "a code has one row here")
}

// refusals is a house where there is something to refuse.
type refusals struct {
	*house

	bound         *wire.Quote
	policy        *wire.Policy
	claim         *wire.Claim
	stale         *wire.Quote  // expired
	full, stopped *wire.Quote  // of a product without capacity, of a peril with a moratorium
	scheduled     *wire.Policy // whose cover begins later
	exhausted     *wire.Policy
	fullOfThings  *wire.Claim // which takes no more attachments
	weak, expired string      // a quake that pays nothing, a token
}

func newRefusals(t *testing.T) *refusals {
	t.Helper()
	w := &refusals{house: newHouse(t)}
	w.stale = record[wire.Quote](t, w.post(t, 201, "/v1/quotes", hualien))
	w.After(25 * time.Hour)
	w.bound, w.policy, w.claim = w.house.claim(t)
	starts := w.Now().Add(300 * 24 * time.Hour).Format(time.RFC3339)
	w.scheduled = w.Cover("quake-circle", modeltest.Context{"starts_at": starts})
	w.exhausted = w.Cover("quake-circle", nil)
	w.post(t, 201, "/v1/sandbox/observations", strings.Replace(w.quake(t, "strong"), `"6.4"`, `"7.4"`, 1))
	w.Work()
	w.weak = "weak"
	w.post(t, 201, "/v1/sandbox/observations", strings.Replace(w.quake(t, w.weak), `"6.4"`, `"5.9"`, 1))
	w.fullOfThings = w.OnlyClaim(w.exhausted)
	for range 50 {
		w.post(t, 201, "/v1/claims/"+w.fullOfThings.ID+"/attachments", body("/attachments"))
	}
	w.stop(t)
	var err error
	w.expired, err = w.issuer.Sign("at+jwt", map[string]any{"iss": w.issuerAddress, "aud": "parapet", "sub": "acme", "client_id": "acme", "partner": "acme", "iat": 1, "exp": 3600})
	require.NoError(t, err)
	return w
}

// stop leaves nothing to sell of two products.
func (w *refusals) stop(t *testing.T) {
	t.Helper()
	w.full, w.stopped = w.Quote("rain-excess", nil), w.Quote("cyclone-circle", nil)
	_, err := w.Service.SetCapacity(t.Context(), w.Operator, model.CapacityRequest{Product: w.full.Product, Currency: w.full.Cover.Limit.Currency, Amount: new(int64(0))})
	require.NoError(t, err)
	peril := hazard.StormFix
	_, err = w.Service.DeclareMoratorium(t.Context(), w.Operator, model.MoratoriumRequest{Kind: &peril, EndsAt: w.Now().Add(time.Hour), Reason: "A storm is named."})
	require.NoError(t, err)
}

// say is a request by a client.
func (w *refusals) say(client, method, path, body string, headers ...string) func(*testing.T) *reply {
	return func(t *testing.T) *reply {
		t.Helper()
		return w.as(t, client, nil, request{method, "/v1" + path, body, headers})
	}
}

// requests are those that no operation understands.
func (w *refusals) requests() []refusalRow {
	quote := func(body string, headers ...string) func(*testing.T) *reply {
		return w.say("acme", "POST", "/quotes", body, headers...)
	}
	return []refusalRow{
		{status: 400, code: model.CodeMalformedJSON, ask: quote(`{"product":`)},
		{status: 400, code: model.CodeUnknownField, ask: quote(`{"product":"quake-circle","context":{},"colour":1,"metadata":{}}`), pointers: []string{"/colour"}},
		{status: 400, code: model.CodeDuplicateField, ask: quote(`{"product":"a","context":{"partner":"acme","partner":"acme"}}`), pointers: []string{"/context/partner"}},
		{status: 400, code: model.CodeParameterInvalid, ask: w.say("acme", "GET", "/quotes?limit=101", ""), pointers: []string{"/limit"}},
		{status: 400, code: model.CodeCursorInvalid, ask: w.say("acme", "GET", "/quotes?cursor=made-up", ""), pointers: []string{"/cursor"}},
		{status: 400, code: model.CodeIdempotencyKeyInvalid, ask: quote(hualien, "Idempotency-Key: a b")},
		{status: 404, code: model.CodeNotFound, ask: w.say("globex", "GET", "/quotes/"+w.bound.ID, "")},
		{status: 405, code: model.CodeMethodNotAllowed, ask: w.say("acme", "DELETE", "/quotes/"+w.bound.ID, ""), headers: map[string]string{"Allow": "^GET, HEAD$"}},
		{status: 406, code: model.CodeNotAcceptable, ask: quote(hualien, "Accept: text/html")},
		{status: 413, code: model.CodeBodyTooLarge, ask: quote(strings.Repeat(" ", 1<<20+1))},
		{status: 415, code: model.CodeMediaTypeUnsupported, ask: quote(hualien, "Content-Type: text/plain")},
		{status: 412, code: model.CodeVersionMismatch, ask: w.say("acme", "POST", "/claims/"+w.claim.ID+"/messages", `{"body":"hello"}`, `If-Match: "x"`)},
		{
			status: 422, code: model.CodeValidationFailed, pointers: []string{"/context", "/metadata/a", "/partner_reference"},
			ask: quote(`{"product":"quake-circle","metadata":{"a":1},"partner_reference":null}`),
		},
	}
}

// tokens are about who asks.
func (w *refusals) tokens() []refusalRow {
	invalid := map[string]string{"WWW-Authenticate": fmt.Sprintf(bearer, "invalid_token")}
	read := func(token string) func(*testing.T) *reply {
		return w.say("acme", "GET", "/quotes", "", "Authorization: "+token)
	}
	return []refusalRow{
		{status: 401, code: model.CodeTokenMissing, ask: read(""), headers: invalid},
		{status: 401, code: model.CodeTokenInvalid, ask: read("Bearer forged"), headers: invalid},
		{status: 401, code: model.CodeTokenExpired, ask: read("Bearer " + w.expired), headers: invalid},
		{
			status: 403, code: model.CodeInsufficientScope, members: []string{"scope"},
			headers: map[string]string{"WWW-Authenticate": fmt.Sprintf(bearer, `insufficient_scope", scope="quotes:write`)},
			ask: func(t *testing.T) *reply {
				t.Helper()
				return w.as(t, "acme", []string{"quotes:read"}, request{"POST", "/v1/quotes", hualien, nil})
			},
		},
		{status: 403, code: model.CodePartnerMismatch, ask: w.say("globex", "POST", "/quotes", hualien), pointers: []string{"/context/partner"}},
		{status: 403, code: model.CodePartnerDisabled, ask: w.say("stranger", "GET", "/quotes", "")},
	}
}

// cover is what cannot be quoted or bound.
func (w *refusals) cover() []refusalRow {
	quote := func(body string, headers ...string) func(*testing.T) *reply {
		return w.say("acme", "POST", "/quotes", body, headers...)
	}
	bind := func(q *wire.Quote) func(*testing.T) *reply {
		return w.say("acme", "POST", "/policies", `{"quote_id":"`+q.ID+`"}`)
	}
	dear := strings.Replace(hualien, `}}}`, `},"radius_km":200,"steps":[{"threshold":"5.5","factor":"1.00"}]}}`, 1)
	referring := strings.TrimSuffix(hualien, "}") + `,"partner_reference":"taken"}`
	return []refusalRow{
		{status: 409, code: model.CodeQuoteAlreadyBound, ask: bind(w.bound), resource: w.policy.ID},
		{status: 409, code: model.CodeQuoteExpired, ask: bind(w.stale)},
		{status: 409, code: model.CodeCapacityExceeded, ask: bind(w.full)},
		{status: 409, code: model.CodeMoratoriumActive, ask: bind(w.stopped)},
		{status: 422, code: model.CodeProductUnknown, ask: quote(strings.Replace(hualien, "quake-circle", "flood", 1)), pointers: []string{"/product"}},
		{status: 422, code: model.CodeRiskUninsurable, ask: quote(dear)},
		{status: 422, code: model.CodeReferenceTaken, resource: "quo_.{26}", pointers: []string{"/partner_reference"}, ask: w.second(quote(referring), quote(referring))},
		{status: 422, code: model.CodeIdempotencyKeyReused, ask: w.second(quote(hualien, "Idempotency-Key: used"), quote(with(hualien, `"metadata":{}`), "Idempotency-Key: used"))},
		{status: 409, code: model.CodeIdempotencyInFlight, retryable: true, headers: map[string]string{"Retry-After": "^1$"}, ask: inFlight},
	}
}

// second is the answer to the second of two requests; the first must succeed.
func (w *refusals) second(first, second func(*testing.T) *reply) func(*testing.T) *reply {
	return func(t *testing.T) *reply {
		t.Helper()
		require.Equal(t, http.StatusCreated, first(t).StatusCode)
		return second(t)
	}
}

// inFlight sends a request again while the first is held up in its transaction.
func inFlight(t *testing.T) *reply {
	t.Helper()
	h := newHouse(t)
	quote := record[wire.Quote](t, h.post(t, 201, "/v1/quotes", hualien))
	bind := request{"POST", "/v1/policies", `{"quote_id":"` + quote.ID + `","partner_reference":"held"}`, []string{"Idempotency-Key: one"}}
	hold := h.HoldReference("held")
	var first *reply
	var running sync.WaitGroup
	running.Go(func() { first = h.as(t, "acme", nil, bind) })
	hold.AwaitWaiter()
	second := h.as(t, "acme", nil, bind)
	hold.Release()
	running.Wait()
	require.Equal(t, http.StatusCreated, first.StatusCode)
	require.Equal(t, "true", h.as(t, "acme", nil, bind).Header.Get("Idempotent-Replayed"))
	return second
}

// claims are what is not owed.
func (w *refusals) claims() []refusalRow {
	claim := func(p *wire.Policy, more string) func(*testing.T) *reply {
		return w.say("acme", "POST", "/claims", `{"policy_id":"`+p.ID+`"`+more+`}`)
	}
	return []refusalRow{
		{status: 409, code: model.CodeStateConflict, ask: w.say("acme", "POST", "/claims/"+w.fullOfThings.ID+"/attachments", body("/attachments"))},
		{
			status: 422, code: model.CodeTriggerNotMet, members: []string{"index", "threshold", "missed_by"},
			ask: claim(w.policy, `,"source_event":{"source":"usgs","id":"`+w.weak+`"}`),
		},
		{status: 422, code: model.CodeLimitExhausted, ask: claim(w.exhausted, ""), resource: w.exhausted.ID},
		{status: 422, code: model.CodePolicyNotInForce, ask: claim(w.scheduled, ""), resource: w.scheduled.ID},
	}
}

// ours are the refusals that are no fault of the request.
func (w *refusals) ours() []refusalRow {
	limits := map[string]string{
		"Retry-After": "^1$", "RateLimit": `^"default";r=0;t=1$`, "RateLimit-Policy": `^"default";q=1;w=1$`,
		"RateLimit-Limit": "^1$", "RateLimit-Remaining": "^0$", "RateLimit-Reset": "^1$",
	}
	clock := &watch{at: time.Unix(0, 0)}
	limited := w.another(rest.Config{Service: w.Service, Limiter: rest.NewLimiter(rest.RateLimit{PerSecond: 1, Burst: 1}, clock.now)})
	return []refusalRow{
		{status: 429, code: model.CodeRateLimited, retryable: true, headers: limits, ask: func(t *testing.T) *reply {
			t.Helper()
			limited(t)
			return limited(t)
		}},
		{status: 500, code: model.CodeInternal, ask: w.another(rest.Config{Service: new(model.Service)})},
		{status: 503, code: model.CodeUnavailable, retryable: true, headers: map[string]string{"Retry-After": "^2$"}, ask: func(t *testing.T) *reply {
			t.Helper()
			door, _, closing := overLine(t)
			closing()
			return request{"GET", "/v1/quotes", "", nil}.to(t, door)
		}},
	}
}

// another lists quotes at a door with another configuration.
func (w *refusals) another(config rest.Config) func(*testing.T) *reply {
	config.Authenticate = w.authenticate
	door, err := rest.New(config)
	return func(t *testing.T) *reply {
		t.Helper()
		require.NoError(t, err)
		token, err := w.issuer.Token("acme")
		require.NoError(t, err)
		return request{"GET", "/v1/quotes", "", []string{"Authorization: Bearer " + token}}.to(t, door)
	}
}
