package graph_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"

	"parapet/graph"
	"parapet/graph/generated"
	"parapet/internal/errormap"
	"parapet/internal/gateway"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
)

// fixture is the handler on a database of its own, behind a front that accepts the
// actor's name as token.
type fixture struct {
	*modeltest.Bundle

	handler      http.Handler
	mu           sync.Mutex
	loggedCauses []error
}

func newFixture(t testing.TB, with ...modeltest.Option) *fixture {
	t.Helper()
	d := &fixture{Bundle: modeltest.New(t, with...)}
	handler, err := graph.New(graph.Config{Service: d.Service})
	require.NoError(t, err)
	d.handler = handler
	return d
}

func (d *fixture) authenticateAs(token string) (actor.Actor, error) {
	switch token {
	case "acme":
		return d.Acme, nil
	case "globex":
		return d.Globex, nil
	case "operator":
		return d.Operator, nil
	case "source":
		return d.Source, nil
	case "unscoped":
		return actor.Actor{Kind: actor.KindPartner, Partner: "acme", Client: "unscoped"}, nil
	}
	return actor.Actor{}, apperr.Fail(apperr.CodeTokenInvalid, "The access token is not valid.")
}

// ServeHTTP is the front.
func (d *fixture) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.handler.ServeHTTP(w, r.WithContext(gateway.NewContext(r.Context(), &gateway.Request{
		RequestID:        "req-1",
		Authenticate:     func(context.Context) (actor.Actor, error) { return d.authenticateAs(r.Header.Get("Authorization")) },
		AuthenticateWith: func(_ context.Context, by string) (actor.Actor, error) { return d.authenticateAs(by) },
		WithoutDeadline:  context.WithCancel,
		PublicError: func(_ context.Context, err error) *apperr.Error {
			return errormap.PublicError(err, func() bool { return false })
		},
		SetErrorHeaders: func(e *apperr.Error) {
			if e.Code == apperr.CodeInsufficientUserAuthentication {
				w.Header().Set("WWW-Authenticate", string(e.Code))
			}
			if e.RetryAfter > 0 {
				w.Header().Set("Retry-After", strconv.Itoa(int(e.RetryAfter.Seconds())))
			}
		},
		MarkReplayed:  func() { w.Header().Set("Idempotent-Replayed", "true") },
		LimitBodyTime: func() func() { return func() {} },
		OpenBody: func(limit int64) (io.Reader, error) {
			if r.ContentLength > limit {
				return nil, apperr.Fail(apperr.CodeBodyTooLarge, "Send a body of at most %d MiB to this address.", limit>>20)
			}
			return r.Body, nil
		},
		GiveUpBody: func() {},
		IncompleteBody: func(cause error) error {
			return apperr.Fail(apperr.CodeMalformedJSON, "The body is incomplete.").WithCause(cause)
		},
		LogCause: func(cause error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.loggedCauses = append(d.loggedCauses, cause)
		},
	})))
}

// graphqlRequest is one request; headers are "Name: value".
type graphqlRequest struct {
	as        string // acme without one
	document  string
	variables map[string]any
	headers   []string
}

// response is a decoded response.
type response struct {
	status int
	header http.Header
	body   string
	Data   jsontext.Value
	Errors []struct {
		Message    string
		Path       []any
		Extensions struct {
			Code       string
			Status     int
			Retryable  bool
			RequestID  string `json:"request_id"`
			ResourceID string `json:"resource_id"`
			Errors     []apperr.FieldError
		}
	}
}

func (d *fixture) send(t *testing.T, in graphqlRequest) response {
	t.Helper()
	body, err := json.Marshal(map[string]any{"query": in.document, "variables": in.variables})
	require.NoError(t, err)
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/graphql", strings.NewReader(string(body)))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", in.as)
	if in.as == "" {
		request.Header.Set("Authorization", "acme")
	}
	for _, header := range in.headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Add(name, value)
	}
	recorder := httptest.NewRecorder()
	d.ServeHTTP(recorder, request)
	out := response{status: recorder.Code, header: recorder.Header(), body: recorder.Body.String()}
	require.NoError(t, json.Unmarshal(recorder.Body.Bytes(), &out, json.MatchCaseInsensitiveNames(true)), out.body)
	requireValidPointers(t, in.document, out)
	return out
}

// queryData returns the data of a query that must succeed.
func (d *fixture) queryData(t *testing.T, document string, variables map[string]any) map[string]any {
	t.Helper()
	return d.queryDataAs(t, "", document, variables)
}

func (d *fixture) queryDataAs(t *testing.T, as, document string, variables map[string]any) map[string]any {
	t.Helper()
	got := d.send(t, graphqlRequest{as: as, document: document, variables: variables})
	require.Empty(t, got.Errors, got.body)
	var data map[string]any
	require.NoError(t, json.Unmarshal(got.Data, &data))
	return data
}

// committedSchema returns the schema, which is read once.
var committedSchema = sync.OnceValue(func() *ast.Schema { return generated.NewExecutableSchema(generated.Config{}).Schema() })

// requireValidPointers checks that every pointer of a response exists in the schema, so
// that every error names the place of the mistake.
func requireValidPointers(t *testing.T, document string, out response) {
	t.Helper()
	tree, err := parser.ParseQuery(&ast.Source{Input: document})
	if err != nil || len(tree.Operations) != 1 {
		return
	}
	roots := map[string]*ast.FieldDefinition{}
	for _, selection := range tree.Operations[0].SelectionSet {
		if field, is := selection.(*ast.Field); is {
			on := map[ast.Operation]*ast.Definition{ast.Query: committedSchema().Query, ast.Mutation: committedSchema().Mutation, ast.Subscription: committedSchema().Subscription}
			roots[field.Alias] = on[tree.Operations[0].Operation].Fields.ForName(field.Name)
		}
	}
	for _, e := range out.Errors {
		if len(e.Path) != 1 {
			continue
		}
		for _, fault := range e.Extensions.Errors {
			require.True(t, isArgumentPointer(roots[e.Path[0].(string)], fault.Pointer), "%s leads nowhere: %s", fault.Pointer, out.body)
		}
	}
}

// isArgumentPointer reports whether a pointer leads into the arguments of a field.
func isArgumentPointer(field *ast.FieldDefinition, pointer string) bool {
	names := strings.Split(pointer, "/")[1:]
	if field == nil || len(names) == 0 || field.Arguments.ForName(names[0]) == nil {
		return false
	}
	of := field.Arguments.ForName(names[0]).Type
	for _, name := range names[1:] {
		def := committedSchema().Types[of.Name()]
		if _, err := strconv.Atoi(name); err == nil && of.Elem != nil {
			of = of.Elem
			continue
		}
		if def.Kind == ast.Scalar { // an object of the caller's
			return def.Name == "JSON" || strings.HasPrefix(def.Name, "Metadata") || def.Name == "String" && names[1] == "document"
		}
		member := def.Fields.ForName(name)
		if member == nil || of.Elem != nil {
			return false
		}
		of = member.Type
	}
	return true
}
