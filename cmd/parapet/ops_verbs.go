package main

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/vektah/gqlparser/v2/ast"

	"parapet/graph/generated"
)

// operatorVerb is one operation for operators, taken from the GraphQL schema. There is no
// second list, so the shell always offers the same operations as the schema.
type operatorVerb struct {
	field   *ast.FieldDefinition
	keyword string // query or mutation
	schema  *ast.Schema
}

// operatorVerbs returns all operator mutations and all queries by name.
func operatorVerbs() map[string]operatorVerb {
	schema := generated.NewExecutableSchema(generated.Config{}).Schema()
	all := map[string]operatorVerb{}
	for keyword, root := range map[string]*ast.Definition{"query": schema.Query, "mutation": schema.Mutation} {
		for _, field := range root.Fields {
			said := strings.Join(strings.Fields(field.Description), " ")
			operators := strings.Contains(strings.ToLower(said), "scope operator") || strings.Contains(said, "of an operator")
			if !strings.HasPrefix(field.Name, "__") && (operators || keyword == "query") {
				all[kebabCase(field.Name)] = operatorVerb{field, keyword, schema}
			}
		}
	}
	return all
}

// kebabCase converts a GraphQL name to shell form: decide-claim.
func kebabCase(name string) string {
	var out strings.Builder
	for i, r := range name {
		if r >= 'A' && r <= 'Z' {
			if i > 0 {
				out.WriteByte('-')
			}
			r += 'a' - 'A'
		}
		out.WriteRune(r)
	}
	return out.String()
}

// inputMembers returns the arguments of a verb, or the members of its input.
func (v operatorVerb) inputMembers() []*ast.FieldDefinition {
	if input := v.field.Arguments.ForName("input"); input != nil {
		return v.schema.Types[input.Type.Name()].Fields
	}
	var all []*ast.FieldDefinition
	for _, argument := range v.field.Arguments {
		all = append(all, &ast.FieldDefinition{Name: argument.Name, Type: argument.Type, Description: argument.Description, DefaultValue: argument.DefaultValue})
	}
	return all
}

// missingFlags returns the missing required flags.
func (v operatorVerb) missingFlags(given map[string]any) (flags []string) {
	for _, member := range v.inputMembers() {
		if _, is := given[member.Name]; !is && member.Type.NonNull && member.DefaultValue == nil {
			flags = append(flags, "--"+kebabCase(member.Name))
		}
	}
	return flags
}

// typeHelp describes the values of a type: those of an enum, the members of an input.
func (v operatorVerb) typeHelp(of *ast.Type) string {
	def := v.schema.Types[of.Name()]
	var parts []string
	if def.Kind == ast.InputObject {
		for _, member := range def.Fields {
			parts = append(parts, `"`+member.Name+`": `+member.Type.String())
		}
		return of.String() + ", as JSON: {" + strings.Join(parts, ", ") + "}"
	}
	for _, word := range def.EnumValues {
		parts = append(parts, strings.ReplaceAll(strings.ToLower(word.Name), "_", "-"))
	}
	if len(parts) == 0 {
		return of.String()
	}
	return of.String() + ": " + strings.Join(parts, ", ")
}

// parseValue parses a flag by its schema type. Non-scalars are JSON; a list of scalars
// may also be comma-separated.
func (v operatorVerb) parseValue(of *ast.Type, text string) (any, error) {
	def := v.schema.Types[of.Name()]
	switch {
	case of.Elem != nil && !strings.HasPrefix(strings.TrimSpace(text), "[") && def.Kind != ast.InputObject:
		var list []any
		for part := range strings.SplitSeq(text, ",") {
			value, err := v.parseValue(of.Elem, strings.TrimSpace(part))
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		return list, nil
	case of.Elem == nil && def.Kind == ast.Enum:
		return strings.ToUpper(strings.ReplaceAll(text, "-", "_")), nil
	case of.Elem == nil && (def.Name == "String" || def.Name == "ID" || def.Kind == ast.Scalar && def.Name != "Int" && def.Name != "Long" &&
		def.Name != "Boolean" && def.Name != "Float" && def.Name != "JSON" && def.Name != "Metadata"):
		return text, nil
	}
	value := jsontext.Value(text)
	if !value.IsValid() {
		return nil, fmt.Errorf("write it as JSON, as GraphQL's %s", of)
	}
	return value, nil
}
