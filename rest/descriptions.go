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

// anySchema is the section of descriptions.yaml that all schemas share; schemaItself is
// the key of a schema's own description.
const anySchema, schemaItself = "Every", ""

// addDescriptions adds the description and the enum values to every schema and member.
// Domain types do not contain them, so that the domain is independent of the document.
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

// setEnum sets the possible values of a member, or of its elements.
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
