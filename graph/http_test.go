package graph_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"parapet/graph"
	"parapet/graph/guard"
)

const (
	jsonType     = "application/json"
	responseType = "application/graphql-response+json"
)

// plain is a request as HTTP sends it.
type plain struct {
	method, address, body string
	headers               []string // "Name: value"; an empty value removes the header
}

func (p plain) to(t *testing.T, d *fixture) (*httptest.ResponseRecorder, response) {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), p.method, "/graphql"+p.address, strings.NewReader(p.body))
	request.Header.Set("Authorization", "acme")
	request.Header.Set("Accept", responseType)
	if p.method == http.MethodPost {
		request.Header.Set("Content-Type", jsonType)
	}
	for _, header := range p.headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Del(name)
		if value != "" {
			request.Header.Set(name, value)
		}
	}
	recorder := httptest.NewRecorder()
	d.ServeHTTP(recorder, request)
	out := response{status: recorder.Code, body: recorder.Body.String()}
	require.NoError(t, json.Unmarshal(recorder.Body.Bytes(), &out, json.MatchCaseInsensitiveNames(true)), out.body)
	return recorder, out
}

// errorCode returns the code of the first error, empty without errors.
func (a response) errorCode() string {
	if len(a.Errors) == 0 {
		return ""
	}
	return a.Errors[0].Extensions.Code
}

// newHandlerWith returns a handler with another configuration.
func (d *fixture) newHandlerWith(t *testing.T, config graph.Config) *fixture {
	t.Helper()
	config.Service = d.Service
	handler, err := graph.New(config)
	require.NoError(t, err)
	return &fixture{Bundle: d.Bundle, handler: handler}
}

const kindly = `{"query":"{viewer{kind}}"}`

func TestRequestsAreReadStrictly(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	post, get := http.MethodPost, http.MethodGet
	attachment := strings.Repeat("a", 2<<20)
	for name, c := range map[string]struct {
		plain
		status int
		code   string
	}{
		"a query":                 {plain{post, "", kindly, nil}, 200, ""},
		"a query by GET":          {plain{get, "?query=%7Bviewer%7Bkind%7D%7D", "", nil}, 200, ""},
		"other members":           {plain{post, "", `{"query":"{viewer{kind}}","id":7}`, nil}, 200, ""},
		"null members":            {plain{post, "", `{"query":"{viewer{kind}}","variables":null,"operationName":null,"extensions":null}`, nil}, 200, ""},
		"charset":                 {plain{post, "", kindly, []string{"Content-Type: application/json; charset=UTF-8"}}, 200, ""},
		"text after it":           {plain{post, "", kindly + `{}`, nil}, 400, "malformed_json"},
		"no JSON":                 {plain{post, "", `{viewer`, nil}, 400, "malformed_json"},
		"nothing":                 {plain{post, "", ``, nil}, 400, "malformed_json"},
		"NUL, escaped":            {plain{post, "", `{"query":"{viewer{kind}}","variables":{"a":"\u0000"}}`, nil}, 400, "malformed_json"},
		"no UTF-8":                {plain{post, "", "{\"query\":\"{viewer{kind}}\",\"variables\":{\"a\":\"\xff\"}}", nil}, 400, "malformed_json"},
		"half a character":        {plain{post, "", `{"query":"{viewer{kind}}","variables":{"a":"\ud800"}}`, nil}, 400, "malformed_json"},
		"a member twice":          {plain{post, "", `{"query":"{viewer{kind}}","query":"{viewer{name}}"}`, nil}, 400, "duplicate_field"},
		"a variable twice":        {plain{post, "", `{"query":"{viewer{kind}}","variables":{"a":1,"a":2}}`, nil}, 400, "duplicate_field"},
		"deep variables":          {plain{post, "", `{"query":"{viewer{kind}}","variables":{"a":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}}`, nil}, 400, "malformed_json"},
		"many variables":          {plain{post, "", `{"query":"{viewer{kind}}","variables":{"a":[` + strings.Repeat("0,", 60_000) + `0]}}`, nil}, 400, "parameter_invalid"},
		"an array of requests":    {plain{post, "", "[" + kindly + "," + kindly + "]", nil}, 400, "parameter_invalid"},
		"a query that is none":    {plain{post, "", `{"query":7}`, nil}, 400, "parameter_invalid"},
		"variables in a string":   {plain{post, "", `{"query":"{viewer{kind}}","variables":"{}"}`, nil}, 400, "parameter_invalid"},
		"no query":                {plain{post, "", `{}`, nil}, 400, "parameter_invalid"},
		"no query by GET":         {plain{get, "", "", nil}, 400, "parameter_invalid"},
		"a parameter twice":       {plain{get, "?query=a&query=b", "", nil}, 400, "parameter_invalid"},
		"variables that are none": {plain{get, "?query=%7Bviewer%7Bkind%7D%7D&variables=a", "", nil}, 400, "parameter_invalid"},
		"a broken address":        {plain{get, "?query=%zz", "", nil}, 400, "parameter_invalid"},
		"no GraphQL":              {plain{post, "", `{"query":"{"}`, nil}, 400, "validation_failed"},
		"no such field":           {plain{post, "", `{"query":"{unknown}"}`, nil}, 400, "validation_failed"},
		"no such operation":       {plain{post, "", `{"query":"query a{viewer{kind}}","operationName":"b"}`, nil}, 400, "validation_failed"},
		"a variable is missing":   {plain{post, "", `{"query":"query q($id:ID!){quote(id:$id){id}}"}`, nil}, 400, "validation_failed"},
		"a large integer":         {plain{post, "", `{"query":"{claims(first:2147483648){nodes{id}}}"}`, nil}, 400, "validation_failed"},
		"a mutation by GET":       {plain{get, "?query=mutation%7BcreateQuote(input:%7B%7D)%7BclientMutationId%7D%7D", "", nil}, 400, "validation_failed"},
		"a body without its type": {plain{post, "", kindly, []string{"Content-Type: "}}, 415, "media_type_unsupported"},
		"a form":                  {plain{post, "", "query=%7Bviewer%7Bkind%7D%7D", []string{"Content-Type: application/x-www-form-urlencoded"}}, 415, "media_type_unsupported"},
		"another charset":         {plain{post, "", kindly, []string{"Content-Type: application/json; charset=latin1"}}, 415, "media_type_unsupported"},
		"packed":                  {plain{post, "", kindly, []string{"Content-Encoding: gzip"}}, 415, "media_type_unsupported"},
		"a picture is wanted":     {plain{post, "", kindly, []string{"Accept: image/png"}}, 406, "not_acceptable"},
		"PUT":                     {plain{http.MethodPut, "", kindly, nil}, 405, "method_not_allowed"},
		"DELETE":                  {plain{http.MethodDelete, "", "", nil}, 405, "method_not_allowed"},
		"long":                    {plain{post, "", `{"query":"{viewer{kind}}"}` + strings.Repeat(" ", 1<<20), nil}, 413, "body_too_large"},
		"long in a variable":      {plain{post, "", `{"query":"{viewer{kind}}","variables":{"a":"` + attachment + `"}}`, nil}, 413, "body_too_large"},
		"a long query":            {plain{post, "", `{"query":"{viewer{kind}} #` + attachment[:70<<10] + `"}`, nil}, 413, "body_too_large"},
		"3 MB of nested sets":     {plain{post, "", `{"query":"` + strings.Repeat("{a", 3<<19) + `"}`, nil}, 413, "body_too_large"},
		"7,000 fields":            {plain{post, "", `{"query":"{viewer{` + strings.Repeat("kind ", 7000) + `}}"}`, nil}, 400, "query_too_costly"},
		"without a token":         {plain{post, "", kindly, []string{"Authorization: "}}, 401, "token_invalid"},
		"7,000 without a token":   {plain{post, "", `{"query":"{viewer{` + strings.Repeat("kind ", 7000) + `}}"}`, []string{"Authorization: "}}, 401, "token_invalid"},
	} {
		recorder, out := c.to(t, d)
		require.Equal(t, c.status, recorder.Code, "%s: %s", name, out.body)
		require.Equal(t, c.code, out.errorCode(), "%s: %s", name, out.body)
		require.Equal(t, c.code == "", out.Data != nil, "%s: what failed before it ran has no data", name)
		require.Less(t, recorder.Body.Len(), 1000, "%s: a body is not sent back", name)
	}
	require.Empty(t, d.loggedCauses)
}

func TestCallerWithoutTokenIsAnsweredInItsMediaType(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	for _, media := range []string{jsonType, responseType} {
		recorder, out := plain{http.MethodPost, "", `{"query":"{viewer{kind}}"}`, []string{"Authorization: ", "Accept: " + media}}.to(t, d)
		require.Equal(t, http.StatusUnauthorized, recorder.Code, out.body)
		require.Equal(t, media+"; charset=utf-8", recorder.Header().Get("Content-Type"))
	}
}

func TestMutationByGetIsRefused(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	mutation := url.QueryEscape(`mutation{createQuote(input:{product:"quake-circle",context:{partner:"acme"}}){quote{id}}}`)
	recorder, out := plain{http.MethodGet, "?query=" + mutation, "", nil}.to(t, d)
	require.Equal(t, http.StatusMethodNotAllowed, recorder.Code, out.body)
	require.Equal(t, "POST", recorder.Header().Get("Allow"))
	require.Equal(t, "method_not_allowed", out.errorCode())
}

// A readable request is answered with 200 over application/json, and with its error's
// status over the newer type.
func TestMediaTypesDecideTheStatus(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	wrong := plain{http.MethodPost, "", `{"query":"{unknown}"}`, nil}
	for accept, want := range map[string]struct {
		media  string
		status int
	}{
		"":                             {jsonType, 200},
		"*/*":                          {jsonType, 200},
		"application/*":                {jsonType, 200},
		jsonType:                       {jsonType, 200},
		responseType:                   {responseType, 400},
		responseType + ", " + jsonType: {responseType, 400},
		jsonType + ", " + responseType + ";q=0.9":  {jsonType, 200},
		responseType + ";charset=utf-8, */*;q=0.1": {responseType, 400},
		"text/html, */*;q=0.8":                     {jsonType, 200},
	} {
		wrong.headers = []string{"Accept: " + accept}
		recorder, out := wrong.to(t, d)
		require.Equal(t, want.media+"; charset=utf-8", recorder.Header().Get("Content-Type"), accept)
		require.Equal(t, want.status, recorder.Code, accept)
		require.Equal(t, "validation_failed", out.errorCode())
	}
}

func TestResponsesReportTheirCost(t *testing.T) {
	t.Parallel()
	limits := guard.Standard()
	limits.Cost = 1
	d := newFixture(t)
	out := d.send(t, graphqlRequest{document: "{viewer{kind} again:viewer{name}}"})
	require.Contains(t, out.body, `"extensions":{"cost":{"requested":2,"limit":25000}}`)
	out = d.newHandlerWith(t, graph.Config{Limits: limits}).send(t, graphqlRequest{document: "{viewer{kind} again:viewer{name}}"})
	require.Equal(t, "query_too_costly", out.errorCode())
	require.Contains(t, out.body, `"extensions":{"cost":{"requested":2,"limit":1}}`)
}

func TestSchemaCanBeKeptSecret(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	require.Contains(t, d.send(t, graphqlRequest{document: "{viewer{kindd}}"}).body, "Did you mean")
	require.Empty(t, d.send(t, graphqlRequest{document: "{__schema{types{name}}}"}).Errors)
	d = d.newHandlerWith(t, graph.Config{HideSchema: true})
	require.NotContains(t, d.send(t, graphqlRequest{document: "{viewer{kindd}}"}).body, "Did you mean")
	require.Empty(t, d.send(t, graphqlRequest{document: "{__typename}"}).Errors)
	for _, document := range []string{"{__schema{types{name}}}", `{...A} fragment A on Query{a:__type(name:"Quote"){name}}`} {
		out := d.send(t, graphqlRequest{document: document})
		require.Equal(t, "validation_failed", out.errorCode())
		require.Nil(t, out.Data)
	}
}

// A response is complete in one part: deferred fields would be lost.
func TestDeferIsNotSupported(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	for _, document := range []string{
		`{ policies { nodes { id ... @defer { quote { id } } } } }`,
		`{ policies { nodes { id ...a @defer(if: false) } } } fragment a on Policy { quote { id } }`,
	} {
		require.Equal(t, "validation_failed", d.send(t, graphqlRequest{document: document}).errorCode(), document)
	}
	require.NotContains(t, d.send(t, graphqlRequest{document: `{ __schema { directives { name } } }`}).body, "defer")
}
