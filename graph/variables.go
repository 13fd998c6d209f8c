package graph

import (
	stdjson "encoding/json" //nolint:depguard // the type in which gqlgen takes a variable's number
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"parapet/graph/scalar"
	"parapet/model"
)

// reading holds the values of variables against the types that a document declares
// for them, as section 6.1.2 of the specification says. The library's own reading
// stops at the first mistake, says less of it, and takes an enum's words in any
// letters.
type reading struct {
	schema *ast.Schema
	faults []model.FieldError
}

// readVariables is what is wrong with the variables of an operation; nil when nothing is.
// The pointers lead into the request.
func readVariables(schema *ast.Schema, operation *ast.OperationDefinition, given map[string]any) error {
	r := &reading{schema: schema}
	for _, v := range operation.VariableDefinitions {
		value, present := given[v.Variable]
		at := ast.Path{ast.PathName("variables"), ast.PathName(v.Variable)}
		switch {
		case present:
			r.value(v.Type, value, at)
		case v.Type.NonNull && v.DefaultValue == nil:
			r.fault(at, "required", "It is missing: "+r.wanted(v.Type))
		}
	}
	if len(r.faults) == 0 {
		return nil
	}
	name := strings.ReplaceAll(strings.TrimPrefix(r.faults[0].Pointer, "/variables/"), "/", ".")
	one := "The variable $" + name + " is not right: " + strings.TrimSuffix(r.faults[0].Detail, ".")
	return model.Refuse(model.CodeValidationFailed, one, "%s variables or members of them are not right", r.faults...)
}

func (r *reading) fault(at ast.Path, code, detail string) {
	if len(r.faults) <= model.MaxFields {
		r.faults = append(r.faults, model.FieldError{Pointer: scalar.Pointer(at), Code: code, Detail: strings.ToUpper(detail[:1]) + detail[1:]})
	}
}

// value judges one value. Scalars of our own are read where they are used.
func (r *reading) value(of *ast.Type, v any, at ast.Path) {
	if v == nil {
		if of.NonNull {
			r.fault(at, "null", "It must not be null: "+r.wanted(of))
		}
		return
	}
	if of.Elem != nil {
		r.list(of.Elem, v, at)
		return
	}
	switch def := r.schema.Types[of.NamedType]; def.Kind {
	case ast.Enum:
		if word, is := v.(string); !is || def.EnumValues.ForName(word) == nil {
			r.fault(at, "enum", r.wanted(of))
		}
	case ast.InputObject:
		r.object(def, v, at)
	default:
		if fits := builtIn[def.Name]; fits != nil && !fits(v) {
			r.fault(at, "type", r.wanted(of))
		}
	}
}

// list judges the elements of a list; what is none stands for a list of one.
func (r *reading) list(of *ast.Type, v any, at ast.Path) {
	elements, is := v.([]any)
	if !is {
		r.value(of, v, at)
		return
	}
	for i, element := range elements {
		r.value(of, element, append(slices.Clip(at), ast.PathIndex(i)))
	}
}

func (r *reading) object(def *ast.Definition, v any, at ast.Path) {
	members, is := v.(map[string]any)
	if !is {
		r.fault(at, "type", "give an object.")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		within := append(slices.Clip(at), ast.PathName(name))
		if field := def.Fields.ForName(name); field != nil {
			r.value(field.Type, members[name], within)
		} else {
			r.fault(within, string(model.CodeUnknownField), "It does not exist; there are "+names(def.Fields)+".")
		}
	}
	for _, field := range def.Fields {
		if _, given := members[field.Name]; !given && field.Type.NonNull && field.DefaultValue == nil {
			r.fault(append(slices.Clip(at), ast.PathName(field.Name)), "required", "It is missing: "+r.wanted(field.Type))
		}
	}
}

func names(fields ast.FieldList) string {
	all := make([]string, len(fields))
	for i, field := range fields {
		all[i] = field.Name
	}
	return strings.Join(all, ", ")
}

// builtIn tell whether a value is one of the scalars that the specification knows.
var builtIn = map[string]func(any) bool{
	"String":  func(v any) bool { _, is := v.(string); return is },
	"Boolean": func(v any) bool { _, is := v.(bool); return is },
	"Int":     func(v any) bool { return integer(v, 32) },
	"ID":      func(v any) bool { _, is := v.(string); return is || integer(v, 64) },
	"Float": func(v any) bool {
		number, is := v.(stdjson.Number)
		_, err := number.Float64()
		return is && err == nil
	},
}

func integer(v any, bits int) bool {
	number, is := v.(stdjson.Number)
	_, err := strconv.ParseInt(number.String(), 10, bits)
	return is && err == nil
}

// wanted says what is right for a type.
func (r *reading) wanted(of *ast.Type) string {
	if of.Elem != nil {
		return "give a list."
	}
	switch def := r.schema.Types[of.NamedType]; {
	case def.Kind == ast.Enum:
		words := make([]string, len(def.EnumValues))
		for i, word := range def.EnumValues {
			words[i] = word.Name
		}
		return "give one of " + strings.Join(words, ", ") + "."
	case def.Kind == ast.InputObject:
		return "give an object."
	default:
		return map[string]string{
			"String": "give a string.", "Boolean": "give true or false.", "Int": "give a whole number of at most 32 bits.", "Float": "give a number.", "ID": "give an id.",
			"Long": "give a whole number.", "DateTime": "give an RFC 3339 time with its zone, such as 2018-02-06T15:50:42Z.", "Decimal": `give a decimal as text, such as "6.4".`,
			"Duration": "give an ISO 8601 duration, such as P365D.", "Metadata": "give an object.", "MetadataChange": "give an object.", "JSON": "give JSON.",
		}[def.Name]
	}
}
