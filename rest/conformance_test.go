package rest_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// committedDocument is the OpenAPI document in the repository, prepared for validation.
var committedDocument = sync.OnceValues(func() (documentChecker, error) {
	var doc map[string]any
	text, err := os.ReadFile("openapi.yaml")
	if err != nil {
		return documentChecker{}, err
	}
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return documentChecker{}, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	return documentChecker{doc: doc, paths: doc["paths"].(map[string]any), compiler: compiler}, compiler.AddResource("openapi.json", doc)
})

type documentChecker struct {
	doc, paths map[string]any
	compiler   *jsonschema.Compiler
}

var compilerMutex sync.Mutex // a compiler is not safe for concurrent use

// undeclaredHeaders are the headers of HTTP itself, which the document need not declare.
var undeclaredHeaders = map[string]bool{
	"Content-Type": true, "Content-Length": true, "X-Content-Type-Options": true, "Cache-Control": true,
	"Connection": true, "Content-Security-Policy": true,
}

// requireConforms compares a response with the document's entry for its address, method
// and status: the status and every header are declared, the body matches its schema, and
// a problem's code is listed. An address or method that the document does not have is
// answered with a problem.
func requireConforms(t *testing.T, r request, answer *reply) {
	t.Helper()
	document, err := committedDocument()
	require.NoError(t, err)
	what := fmt.Sprintf("%s %s answers %d", r.method, r.path, answer.StatusCode)
	path := document.findPath(r.path)
	operation, at := document.findOperation(path, r.method)
	if operation == nil {
		if strings.HasPrefix(answer.Header.Get("Content-Type"), "application/problem+json") {
			document.requireSchema(t, what, "#/components/schemas/Problem", answer.Body)
		}
		require.True(t, path == "" || answer.StatusCode == http.StatusMethodNotAllowed, "%s, of which the document says nothing", what)
		return
	}
	status := fmt.Sprint(answer.StatusCode)
	response, at := document.resolveRef(operation["responses"].(map[string]any)[status], at+"/responses/"+status)
	require.NotNil(t, response, "%s: the document does not declare it", what)
	headers, _ := response["headers"].(map[string]any)
	document.requireHeaders(t, what, headers, answer.Header)
	media, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";")
	content, _ := response["content"].(map[string]any)
	if _, file := content["*/*"]; file || media == "" || r.method == http.MethodHead {
		require.True(t, file || len(answer.Body) == 0, what)
		return
	}
	require.Contains(t, content, media, what)
	value := document.requireSchema(t, what, at+"/content/"+escapePointer(media)+"/schema", answer.Body)
	requireRecordForm(t, what, value)
	if examples, listed := content[media].(map[string]any)["examples"]; listed && media == "application/problem+json" {
		require.Contains(t, examples, value.(map[string]any)["code"], "%s: the document does not list the code", what)
	}
}

// requireHeaders checks that every header is declared, and that every required header is
// present.
func (j documentChecker) requireHeaders(t *testing.T, what string, declared map[string]any, given http.Header) {
	t.Helper()
	names := map[string]bool{}
	for name, header := range declared {
		names[http.CanonicalHeaderKey(name)] = true
		if says, _ := j.resolveRef(header, ""); says["required"] == true {
			require.NotEmpty(t, given.Get(name), "%s without %s", what, name)
		}
	}
	for name := range given {
		require.True(t, names[name] || undeclaredHeaders[name], "%s: the document does not declare the header %s", what, name)
	}
}

// requireSchema validates a JSON text against a schema of the document and returns it.
func (j documentChecker) requireSchema(t *testing.T, what, pointer string, text []byte) any {
	t.Helper()
	compilerMutex.Lock()
	schema, err := j.compiler.Compile("openapi.json" + pointer)
	compilerMutex.Unlock()
	require.NoError(t, err)
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err, what)
	require.NoError(t, schema.Validate(value), what)
	return value
}

// findOperation returns the document's operation of a method and address; HEAD is GET.
func (j documentChecker) findOperation(path, method string) (operation map[string]any, at string) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	method = strings.ToLower(method)
	item, _ := j.paths[path].(map[string]any)
	operation, _ = item[method].(map[string]any)
	return operation, "#/paths/" + escapePointer(path) + "/" + method
}

// resolveRef returns the node itself, or the node that it refers to, and its location.
func (j documentChecker) resolveRef(node any, at string) (map[string]any, string) {
	found, _ := node.(map[string]any)
	reference, refers := found["$ref"].(string)
	if !refers {
		return found, at
	}
	found = j.doc
	for name := range strings.SplitSeq(strings.TrimPrefix(reference, "#/"), "/") {
		found, _ = found[name].(map[string]any)
	}
	return found, reference
}

func escapePointer(token string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(token)
}

// findPath returns the document's path of a request; empty if there is none.
func (j documentChecker) findPath(called string) string {
	called, _, _ = strings.Cut(called, "?")
	_, called, _ = strings.Cut(called, "/v1/")
	segments := strings.Split("/"+called, "/")
	for path := range j.paths {
		parts := strings.Split(path, "/")
		matches := len(parts) == len(segments)
		for i := 0; matches && i < len(parts); i++ {
			matches = parts[i] == segments[i] || strings.HasPrefix(parts[i], "{") && segments[i] != ""
		}
		if matches {
			return path
		}
	}
	return ""
}
