package main

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/vektah/gqlparser/v2/ast"

	"parapet/graph/generated"
)

// operatorVerb is one operation of operators, as the GraphQL schema has it. There is no
// second list: what the schema says today can be done from a shell today.
type operatorVerb struct {
	field   *ast.FieldDefinition
	keyword string // query or mutation
	schema  *ast.Schema
}

// operatorVerbs are what operators can do, and everything that can be read, by name.
func operatorVerbs() map[string]operatorVerb {
	schema := generated.NewExecutableSchema(generated.Config{}).Schema()
	all := map[string]operatorVerb{}
	for keyword, root := range map[string]*ast.Definition{"query": schema.Query, "mutation": schema.Mutation} {
		for _, field := range root.Fields {
			said := strings.Join(strings.Fields(field.Description), " ")
			operators := strings.Contains(said, "Scope operator") || strings.Contains(said, "of an operator")
			if !strings.HasPrefix(field.Name, "__") && (operators || keyword == "query") {
				all[kebabCase(field.Name)] = operatorVerb{field, keyword, schema}
			}
		}
	}
	return all
}

// kebabCase spells a name of GraphQL as a shell does: decide-claim.
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

// inputMembers are what a verb takes: its arguments, or those of its one input.
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

// missingFlags are the flags without which the verb does nothing.
func (v operatorVerb) missingFlags(given map[string]any) (flags []string) {
	for _, member := range v.inputMembers() {
		if _, is := given[member.Name]; !is && member.Type.NonNull && member.DefaultValue == nil {
			flags = append(flags, "--"+kebabCase(member.Name))
		}
	}
	return flags
}

// typeHelp tells what to write for a type: the words of an enum, the members of an input.
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

// parseValue reads a flag as what the schema takes there. What is no scalar is JSON; a
// list of scalars may also be written with commas.
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
