package rest_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// committed is the OpenAPI document in the repository, ready to judge answers.
var committed = sync.OnceValues(func() (judge, error) {
	var doc map[string]any
	text, err := os.ReadFile("openapi.yaml")
	if err != nil {
		return judge{}, err
	}
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return judge{}, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	return judge{paths: doc["paths"].(map[string]any), compiler: compiler}, compiler.AddResource("openapi.json", doc)
})

type judge struct {
	paths    map[string]any
	compiler *jsonschema.Compiler
}

var compiling sync.Mutex // a compiler is not for several goroutines

// conforms holds an answer against what the document says of its address,
// method and status.
func conforms(t *testing.T, r request, answer *reply) {
	t.Helper()
	document, err := committed()
	require.NoError(t, err)
	path := document.template(r.path)
	require.NotEmpty(t, path, "%s is not in the document", r.path)
	media, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";")
	pointer := fmt.Sprintf("/paths/%s/%s/responses/%d", escape(path), strings.ToLower(r.method), answer.StatusCode)
	if media == "application/problem+json" {
		pointer = "/components/schemas/Problem"
	} else {
		pointer += "/content/" + escape(media) + "/schema"
	}
	compiling.Lock()
	schema, err := document.compiler.Compile("openapi.json#" + pointer)
	compiling.Unlock()
	require.NoError(t, err)
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(answer.Body))
	require.NoError(t, err)
	require.NoError(t, schema.Validate(value), "%s %s", r.method, r.path)
}

func escape(token string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(token)
}

// template finds the path of the document that a request went to.
func (j judge) template(called string) string {
	called, _, _ = strings.Cut(called[strings.Index(called, "/v1/")+3:], "?")
	segments := strings.Split(called, "/")
	for path := range j.paths {
		parts := strings.Split(path, "/")
		matches := len(parts) == len(segments)
		for i := 0; matches && i < len(parts); i++ {
			matches = parts[i] == segments[i] || strings.HasPrefix(parts[i], "{")
		}
		if matches {
			return path
		}
	}
	return ""
}
