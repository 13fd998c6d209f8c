package rest

import (
	_ "embed"
	"fmt"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
)

// examplesJSON are real requests and answers by operationId, written down by
// TestExamples.
//
//go:embed examples.json
var examplesJSON []byte

// illustrate gives every operation the examples of its body and its answers.
func illustrate(doc *huma.OpenAPI) error {
	var examples map[string]map[string]any
	if err := json.Unmarshal(examplesJSON, &examples); err != nil {
		return fmt.Errorf("examples.json: %w", err)
	}
	for _, item := range doc.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post} {
			if op == nil {
				continue
			}
			seen := examples[op.OperationID]
			if op.RequestBody != nil {
				op.RequestBody.Content[jsonType].Example = seen["request"]
			}
			for status, response := range op.Responses {
				if media := response.Content[jsonType]; media != nil {
					media.Example = seen[status]
				}
			}
		}
	}
	return nil
}
