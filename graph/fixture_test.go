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
	"parapet/internal/refusal"
	"parapet/internal/visit"
	"parapet/model"
	"parapet/model/modeltest"
)

// door is the handler on a database of the test's own, behind a front that takes
// the actor's name for a token.
type door struct {
	*modeltest.Bundle

	handler http.Handler
	mu      sync.Mutex
	blamed  []error
}

func open(t testing.TB, with ...modeltest.Option) *door {
	t.Helper()
	d := &door{Bundle: modeltest.New(t, with...)}
	handler, err := graph.New(graph.Config{Service: d.Service})
	require.NoError(t, err)
	d.handler = handler
	return d
}

func (d *door) admit(token string) (model.Actor, error) {
	switch token {
	case "acme":
		return d.Acme, nil
	case "globex":
		return d.Globex, nil
	case "operator":
		return d.Operator, nil
	case "source":
		return d.Source, nil
	case "nobody":
		return model.Actor{Kind: model.ActorPartner, Partner: "acme", Client: "nobody"}, nil
	}
	return model.Actor{}, model.Fail(model.CodeTokenInvalid, "The access token is not valid.")
}

// ServeHTTP is the front.
func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.handler.ServeHTTP(w, r.WithContext(visit.With(r.Context(), &visit.Visit{
		RequestID: "req-1",
		Admit:     func(context.Context) (model.Actor, error) { return d.admit(r.Header.Get("Authorization")) },
		AdmitBy:   func(_ context.Context, by string) (model.Actor, error) { return d.admit(by) },
		Lasting:   context.WithCancel,
		Shown: func(_ context.Context, err error) *model.Error {
			return refusal.Shown(err, func() bool { return false })
		},
		Hint: func(e *model.Error) {
			if e.RetryAfter > 0 {
				w.Header().Set("Retry-After", strconv.Itoa(int(e.RetryAfter.Seconds())))
			}
		},
		Replayed: func() { w.Header().Set("Idempotent-Replayed", "true") },
		Hurry:    func() func() { return func() {} },
		Receive: func(limit int64) (io.Reader, error) {
			if r.ContentLength > limit {
				return nil, model.Fail(model.CodeBodyTooLarge, "A body has at most %d MiB here.", limit>>20)
			}
			return r.Body, nil
		},
		GiveUpBody: func() {},
		CutOff: func(cause error) error {
			return model.Fail(model.CodeMalformedJSON, "The body ended before its end.").Because(cause)
		},
		Blame: func(cause error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.blamed = append(d.blamed, cause)
		},
	})))
}

// ask is one request; headers are "Name: value".
type ask struct {
	as        string // acme without one
	document  string
	variables map[string]any
	headers   []string
}

// answer is what came back.
type answer struct {
	status int
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
			Errors     []model.FieldError
		}
	}
}

func (d *door) ask(t *testing.T, in ask) answer {
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
	out := answer{status: recorder.Code, body: recorder.Body.String()}
	require.NoError(t, json.Unmarshal(recorder.Body.Bytes(), &out, json.MatchCaseInsensitiveNames(true)), out.body)
	placed(t, in.document, out)
	return out
}

// data asks for what must be answered without an error.
func (d *door) data(t *testing.T, document string, variables map[string]any) map[string]any {
	t.Helper()
	return d.dataAs(t, "", document, variables)
}

func (d *door) dataAs(t *testing.T, as, document string, variables map[string]any) map[string]any {
	t.Helper()
	got := d.ask(t, ask{as: as, document: document, variables: variables})
	require.Empty(t, got.Errors, got.body)
	var data map[string]any
	require.NoError(t, json.Unmarshal(got.Data, &data))
	return data
}

// committed is the schema, read once.
var committed = sync.OnceValue(func() *ast.Schema { return generated.NewExecutableSchema(generated.Config{}).Schema() })

// placed holds every pointer of an answer to a place that the schema has: whatever
// a test is about, its refusals lead to where the mistake is.
func placed(t *testing.T, document string, out answer) {
	t.Helper()
	tree, err := parser.ParseQuery(&ast.Source{Input: document})
	if err != nil || len(tree.Operations) != 1 {
		return
	}
	roots := map[string]*ast.FieldDefinition{}
	for _, selection := range tree.Operations[0].SelectionSet {
		if field, is := selection.(*ast.Field); is {
			on := map[ast.Operation]*ast.Definition{ast.Query: committed().Query, ast.Mutation: committed().Mutation, ast.Subscription: committed().Subscription}
			roots[field.Alias] = on[tree.Operations[0].Operation].Fields.ForName(field.Name)
		}
	}
	for _, e := range out.Errors {
		if len(e.Path) != 1 {
			continue
		}
		for _, fault := range e.Extensions.Errors {
			require.True(t, leads(roots[e.Path[0].(string)], fault.Pointer), "%s leads nowhere: %s", fault.Pointer, out.body)
		}
	}
}

// leads tells whether a pointer is one into the arguments of a field.
func leads(field *ast.FieldDefinition, pointer string) bool {
	names := strings.Split(pointer, "/")[1:]
	if field == nil || len(names) == 0 || field.Arguments.ForName(names[0]) == nil {
		return false
	}
	of := field.Arguments.ForName(names[0]).Type
	for _, name := range names[1:] {
		def := committed().Types[of.Name()]
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
