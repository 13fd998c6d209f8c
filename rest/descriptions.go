package rest

import (
	"cmp"
	"embed"
	"fmt"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"go.yaml.in/yaml/v3"
)

// descriptions.yaml has the texts for this document alone; descriptions_graphql.yaml has
// those of the GraphQL schema.
//
//go:embed descriptions.yaml descriptions_graphql.yaml
var descriptionFiles embed.FS

// anySchema is the section of descriptions.yaml that all schemas share; schemaItself is
// the key of a schema's own description.
const anySchema, schemaItself = "Every", ""

// addDescriptions adds the description and the enum values to every schema and member.
// Domain types do not contain them, so that the domain is independent of the document.
func addDescriptions(schemas huma.Registry) error {
	says, err := readDescriptions("descriptions.yaml")
	if err != nil {
		return err
	}
	shared, err := readDescriptions("descriptions_graphql.yaml")
	if err != nil {
		return err
	}
	for name, schema := range schemas.Map() {
		if schema.Description == "" {
			schema.Description = cmp.Or(says[name][schemaItself], shared[name][schemaItself])
		}
		for member, property := range schema.Properties {
			if property.Description == "" {
				property.Description = cmp.Or(says[name][member], says[anySchema][member], shared[name][member])
			}
			setEnum(property, enumsBySchema[name][member])
		}
	}
	return nil
}

// readDescriptions reads the texts of a file by schema and member.
func readDescriptions(file string) (says map[string]map[string]string, err error) {
	text, err := descriptionFiles.ReadFile(file)
	if err == nil {
		err = yaml.Unmarshal(text, &says)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return says, nil
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
