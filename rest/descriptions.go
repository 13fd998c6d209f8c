package rest

import (
	_ "embed"
	"fmt"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"go.yaml.in/yaml/v3"
)

//go:embed descriptions.yaml
var descriptionsYAML []byte

// anySchema is the part of the words that all schemas share, and whole the word for
// a schema itself.
const anySchema, schemaItself = "Every", ""

// addDescriptions gives every schema and member its sentence and its words. A type of
// the domain says both in Go only, so that it need not know this document.
func addDescriptions(schemas huma.Registry) error {
	var says map[string]map[string]string
	if err := yaml.Unmarshal(descriptionsYAML, &says); err != nil {
		return fmt.Errorf("descriptions.yaml: %w", err)
	}
	for name, schema := range schemas.Map() {
		if schema.Description == "" {
			schema.Description = says[name][schemaItself]
		}
		for member, property := range schema.Properties {
			if property.Description == "" {
				property.Description = says[name][member]
			}
			if property.Description == "" {
				property.Description = says[anySchema][member]
			}
			setEnum(property, enumsBySchema[name][member])
		}
	}
	return nil
}

// setEnum says which words a member, or each of its elements, can be.
func setEnum(property *huma.Schema, words []any) {
	if len(words) == 0 {
		return
	}
	if property.Items != nil {
		property = property.Items
	}
	property.Enum = words
	if property.Nullable {
		property.Enum = append(slices.Clone(words), nil)
	}
}
