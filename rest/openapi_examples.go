package rest

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
)

// examplesJSON are real requests and responses by operationId, recorded by TestGolden.
//
//go:embed examples.json
var examplesJSON []byte

// addExamples adds the examples of requests and responses to every operation and webhook.
// A slot (request or a status) has one example, or several named ones.
func addExamples(doc *huma.OpenAPI) error {
	var examples map[string]map[string]any
	if err := json.Unmarshal(examplesJSON, &examples); err != nil {
		return fmt.Errorf("examples.json: %w", err)
	}
	for _, item := range doc.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Patch, item.Delete} {
			if op == nil {
				continue
			}
			seen := examples[op.OperationID]
			if op.RequestBody != nil {
				for _, media := range op.RequestBody.Content {
					setExample(media, seen, "request")
				}
			}
			for status, response := range op.Responses {
				if media := response.Content[jsonType]; media != nil {
					setExample(media, seen, status)
				}
			}
		}
	}
	return nil
}

// setExample sets the example of a slot: the one with its name, or all whose names begin
// with it.
func setExample(media *huma.MediaType, seen map[string]any, slot string) {
	for at, example := range seen {
		name, named := strings.CutPrefix(at, slot+" ")
		if !named {
			continue
		}
		if media.Examples == nil {
			media.Examples = map[string]*huma.Example{}
		}
		media.Examples[strings.ReplaceAll(name, " ", "_")] = &huma.Example{Summary: name, Value: example}
	}
	if media.Examples == nil {
		media.Example = seen[slot]
	}
}
