package rest_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/rest"
)

// newHandler returns a handler without a database: enough for every request that is
// answered before the domain reads or writes.
func newHandler(t *testing.T, change func(*rest.Config)) http.Handler {
	t.Helper()
	config := rest.Config{Service: &model.Service{Store: new(store.Store)}, Authenticate: authenticateTestToken, Development: true}
	if change != nil {
		change(&config)
	}
	handler, err := rest.New(config)
	require.NoError(t, err)
	return handler
}

// authenticateTestToken reads the actor from the token: "partner" has all scopes,
// "unscoped" none, and any other text is not a token.
func authenticateTestToken(_ context.Context, bearer string) (actor.Actor, error) {
	caller := actor.Actor{Kind: actor.KindPartner, Partner: "acme", Client: "acme-client", Name: "acme-client"}
	switch bearer {
	case "partner":
		caller.Scopes = actor.PartnerScopes()
		return caller, nil
	case "unscoped":
		return caller, nil
	case "expired":
		return actor.Actor{}, apperr.Fail(apperr.CodeTokenExpired, "The access token has expired.")
	default:
		return actor.Actor{}, apperr.Fail(apperr.CodeTokenInvalid, "The access token is not valid.")
	}
}

// request is one request; headers are "Name: value".
type request struct {
	method, path, body string
	headers            []string
}

// sendTo calls a handler and checks the response against the committed document.
func (r request) sendTo(t *testing.T, handler http.Handler) *reply {
	t.Helper()
	in := httptest.NewRequestWithContext(t.Context(), r.method, r.path, strings.NewReader(r.body))
	in.Header.Set("Authorization", "Bearer partner")
	in.Header.Set("Content-Type", "application/json")
	for _, header := range r.headers {
		name, value, _ := strings.Cut(header, ": ")
		in.Header.Del(name)
		if value != "" {
			in.Header.Set(name, value)
		}
	}
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, in)
	answer := &reply{recorder.Code, recorder.Header(), recorder.Body.Bytes()}
	requireConforms(t, r, answer)
	return answer
}

// reply is a complete response.
type reply struct {
	StatusCode int
	Header     http.Header
	Body       []byte
}

// problem is an error as clients see it.
type problem struct {
	Type, Title, Detail, Instance, Code string
	Status                              int
	Retryable                           bool
	RequestID                           string `json:"request_id"`
	ResourceID                          string `json:"resource_id"`
	Errors                              []struct{ Pointer, Code, Detail string }
}

func requireProblem(t *testing.T, response *reply) problem {
	t.Helper()
	require.Equal(t, "application/problem+json", response.Header.Get("Content-Type"))
	var p problem
	require.NoError(t, json.Unmarshal(response.Body, &p, json.MatchCaseInsensitiveNames(true)))
	require.Equal(t, response.StatusCode, p.Status)
	require.Equal(t, response.Header.Get("X-Request-Id"), p.RequestID)
	require.Equal(t, "/docs/errors/"+p.Code, p.Type)
	require.NotEmpty(t, p.Title)
	require.NotEmpty(t, p.Detail)
	return p
}

func TestRequestsAreRejectedBeforeTheDomain(t *testing.T) {
	t.Parallel()
	handler := newHandler(t, nil)
	const metadata = `, resource_metadata="http://example.com/.well-known/oauth-protected-resource"`
	quote := `{"product":"quake-circle","context":{}}`
	for name, c := range map[string]struct {
		request
		status int
		code   apperr.Code
		header string // "Name: value" of the response
	}{
		"no token":          {request{"GET", "/v1/quotes/x", "", []string{"Authorization: "}}, 401, apperr.CodeTokenMissing, `Www-Authenticate: Bearer ` + strings.TrimPrefix(metadata, ", ")},
		"token before body": {request{"POST", "/v1/quotes", "{", []string{"Authorization: Bearer other"}}, 401, apperr.CodeTokenInvalid, `Www-Authenticate: Bearer error="invalid_token"` + metadata},
		"expired":           {request{"GET", "/v1/quotes/x", "", []string{"Authorization: Bearer expired"}}, 401, apperr.CodeTokenExpired, `Www-Authenticate: Bearer error="invalid_token"` + metadata},
		"scope":             {request{"POST", "/v1/quotes", quote, []string{"Authorization: Bearer unscoped"}}, 403, apperr.CodeInsufficientScope, `Www-Authenticate: Bearer error="insufficient_scope", scope="quotes:write"` + metadata},
		"unknown address":   {request{"GET", "/v1/nothing", "", []string{"Authorization: "}}, 404, apperr.CodeNotFound, ""},
		"trailing slash":    {request{"GET", "/v1/quotes/x/", "", nil}, 404, apperr.CodeNotFound, ""},
		"unclean":           {request{"GET", "/v1//quotes/x", "", nil}, 404, apperr.CodeNotFound, ""},
		"climbing":          {request{"GET", "/v1/claims/%2e%2e/quotes", "", nil}, 404, apperr.CodeNotFound, ""},
		"method":            {request{"DELETE", "/v1/quotes", "", []string{"Authorization: "}}, 405, apperr.CodeMethodNotAllowed, "Allow: GET, HEAD, POST"},
		"method of reading": {request{"PUT", "/parametric/v1/quotes/x", "", nil}, 405, apperr.CodeMethodNotAllowed, "Allow: GET, HEAD"},
		"accept":            {request{"POST", "/v1/quotes", quote, []string{"Accept: text/html"}}, 406, apperr.CodeNotAcceptable, ""},
		"accept refused":    {request{"POST", "/v1/quotes", quote, []string{"Accept: application/json;q=0, */*"}}, 406, apperr.CodeNotAcceptable, ""},
		"no type":           {request{"POST", "/v1/quotes", quote, []string{"Content-Type: "}}, 415, apperr.CodeMediaTypeUnsupported, ""},
		"form":              {request{"POST", "/v1/quotes", quote, []string{"Content-Type: text/plain"}}, 415, apperr.CodeMediaTypeUnsupported, ""},
		"charset":           {request{"POST", "/v1/quotes", quote, []string{"Content-Type: application/json; charset=latin1"}}, 415, apperr.CodeMediaTypeUnsupported, ""},
		"compressed":        {request{"POST", "/v1/quotes", quote, []string{"Content-Encoding: gzip"}}, 415, apperr.CodeMediaTypeUnsupported, ""},
		"large":             {request{"POST", "/v1/quotes", strings.Repeat(" ", 1<<20+1), nil}, 413, apperr.CodeBodyTooLarge, ""},
		"large file":        {request{"POST", "/v1/claims/x/attachments", strings.Repeat(" ", 15<<20+1), nil}, 413, apperr.CodeBodyTooLarge, ""},
		"empty":             {request{"POST", "/v1/quotes", "", nil}, 400, apperr.CodeMalformedJSON, ""},
		"key with spaces":   {request{"POST", "/v1/quotes", quote, []string{"Idempotency-Key: a b"}}, 400, apperr.CodeIdempotencyKeyInvalid, ""},
		"long key":          {request{"POST", "/v1/quotes", quote, []string{"Idempotency-Key: " + strings.Repeat("k", 256)}}, 400, apperr.CodeIdempotencyKeyInvalid, ""},
		"limit":             {request{"GET", "/v1/claims/x/timeline?limit=101", "", nil}, 400, apperr.CodeParameterInvalid, ""},
		"limit of nothing":  {request{"GET", "/v1/claims/x/messages?limit=0", "", nil}, 400, apperr.CodeParameterInvalid, ""},
		"limit twice":       {request{"GET", "/v1/claims/x/messages?limit=1&limit=2", "", nil}, 400, apperr.CodeParameterInvalid, ""},
		"parameter":         {request{"GET", "/v1/quotes/x?expand=all", "", nil}, 400, apperr.CodeParameterInvalid, ""},
		"filter nowhere":    {request{"GET", "/v1/quotes/x?status=bound", "", nil}, 400, apperr.CodeParameterInvalid, ""},
		"filter of others":  {request{"GET", "/v1/quotes?policy_id=x", "", nil}, 400, apperr.CodeParameterInvalid, ""},
		"empty filter":      {request{"GET", "/v1/quotes?status=", "", nil}, 400, apperr.CodeParameterInvalid, ""},
		"NUL in a filter":   {request{"GET", "/v1/quotes?product=%00", "", nil}, 400, apperr.CodeParameterInvalid, ""},
		"not UTF-8":         {request{"GET", "/v1/claims?policy_id=%FF", "", nil}, 400, apperr.CodeParameterInvalid, ""},
		"no time":           {request{"GET", "/v1/quotes?created_from=2018-02-06", "", nil}, 400, apperr.CodeParameterInvalid, ""},
		"time before time":  {request{"GET", "/v1/quotes?created_to=0001-01-01T00:00:00%2B10:00", "", nil}, 400, apperr.CodeParameterInvalid, ""},
		"version of none":   {request{"POST", "/v1/quotes", quote, []string{`If-Match: "x"`}}, 412, apperr.CodeVersionMismatch, ""},
		"query":             {request{"GET", "/v1/quotes/x?limit=%zz", "", nil}, 400, apperr.CodeParameterInvalid, ""},
		"panic":             {request{"POST", "/v1/quotes", quote, nil}, 500, apperr.CodeInternal, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			response := c.sendTo(t, handler)
			p := requireProblem(t, response)
			require.Equal(t, string(c.code), p.Code)
			require.Equal(t, c.status, p.Status)
			require.Equal(t, strings.SplitN(c.path, "?", 2)[0], p.Instance)
			if header, value, found := strings.Cut(c.header, ": "); found {
				require.Equal(t, value, response.Header.Get(header))
			}
		})
	}
}

func TestAcceptedForms(t *testing.T) {
	t.Parallel()
	handler := newHandler(t, nil)
	for _, accept := range []string{"", "*/*", "application/*", "application/json", "text/html, application/json;q=0.1", "text/html, */*;q=0.8"} {
		response := request{"GET", "/v1/quotes/x", "", []string{"Accept: " + accept, "Authorization: Bearer unscoped"}}.sendTo(t, handler)
		require.Equal(t, http.StatusForbidden, response.StatusCode, accept)
	}
}

func TestRequestID(t *testing.T) {
	t.Parallel()
	handler := newHandler(t, nil)
	for given, kept := range map[string]bool{
		"abc-123": true, strings.Repeat("x", 128): true,
		"": false, strings.Repeat("x", 129): false, "a b": false, "ä": false,
	} {
		response := request{"GET", "/healthz", "", []string{"X-Request-Id: " + given, "Authorization: "}}.sendTo(t, handler)
		require.Equal(t, http.StatusOK, response.StatusCode)
		require.JSONEq(t, `{"status":"ok"}`, string(response.Body))
		require.Equal(t, kept, given == response.Header.Get("X-Request-Id"), given)
		require.NotEmpty(t, response.Header.Get("X-Request-Id"))
	}
}

func TestReadiness(t *testing.T) {
	t.Parallel()
	handler := newHandler(t, func(c *rest.Config) {
		c.CheckReady = func(context.Context) error { return io.ErrUnexpectedEOF }
	})
	response := request{"GET", "/readyz", "", []string{"Authorization: "}}.sendTo(t, handler)
	require.Equal(t, "2", response.Header.Get("Retry-After"))
	p := requireProblem(t, response)
	require.Equal(t, http.StatusServiceUnavailable, p.Status)
	require.NotContains(t, p.Detail, "EOF")
}

func productionHandler(c *rest.Config) { c.Development = false }

func TestBothBasePathsReturnTheSame(t *testing.T) {
	t.Parallel()
	handler := newHandler(t, func(c *rest.Config) { c.Family = "cover" })
	for _, base := range []string{"/v1", "/cover/v1"} {
		path := base + "/claims/a%2Fb/messages"
		response := request{"GET", path, "", []string{"Authorization: Bearer unscoped"}}.sendTo(t, handler)
		require.Equal(t, "no-store", response.Header.Get("Cache-Control"))
		p := requireProblem(t, response)
		require.Equal(t, string(apperr.CodeInsufficientScope), p.Code)
		require.Equal(t, path, p.Instance)
	}
	response := request{"GET", "/parametric/v1/openapi.json", "", nil}.sendTo(t, handler)
	require.Equal(t, http.StatusNotFound, requireProblem(t, response).Status)
}
