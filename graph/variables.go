package graph

import (
	stdjson "encoding/json" //nolint:depguard // the type in which gqlgen takes a variable's number
	"strconv"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"parapet/graph/scalar"
	"parapet/internal/upload"
	"parapet/model"
	"parapet/model/money"
)

// reading holds the values of variables against the types that a document declares
// for them, as section 6.1.2 of the specification says. The library's own reading
// stops at the first mistake, says less of it, and takes an enum's words in any
// letters.
type reading struct {
	schema *ast.Schema
	at     ast.Path // of the value that is judged
	faults []model.FieldError
}

// readVariables is what is wrong with the variables of an operation; nil when
// nothing is. The pointers lead into the request.
func readVariables(schema *ast.Schema, operation *ast.OperationDefinition, given map[string]any) error {
	r := &reading{schema: schema, at: ast.Path{ast.PathName("variables")}}
	for _, v := range operation.VariableDefinitions {
		value, present := given[v.Variable]
		if present || v.DefaultValue == nil {
			r.inside(ast.PathName(v.Variable), v.Type, value, present)
		}
	}
	if len(r.faults) == 0 {
		return nil
	}
	name := strings.ReplaceAll(strings.TrimPrefix(r.faults[0].Pointer, "/variables/"), "/", ".")
	one := "The variable $" + name + " is not right: " + strings.TrimSuffix(r.faults[0].Detail, ".")
	return model.Refuse(model.CodeValidationFailed, one, "%s variables or members of them are not right", r.faults...)
}

// fault notes what is wrong with the value that is judged.
func (r *reading) fault(code, detail string) {
	r.faults = append(r.faults, model.FieldError{Pointer: scalar.Pointer(r.at), Code: code, Detail: strings.ToUpper(detail[:1]) + detail[1:]})
}

// enough tells whether more is wrong already than an answer names.
func (r *reading) enough() bool { return len(r.faults) > model.MaxFields }

// inside judges what stands, or should, one step further in.
func (r *reading) inside(step ast.PathElement, of *ast.Type, v any, given bool) {
	r.at = append(r.at, step)
	switch {
	case r.enough():
	case given:
		r.value(of, v)
	case of.NonNull:
		r.fault("required", "It is missing: "+r.wanted(of))
	}
	r.at = r.at[:len(r.at)-1]
}

// value judges one value. Scalars of our own are read where they are used.
func (r *reading) value(of *ast.Type, v any) {
	def := r.schema.Types[of.Name()]
	switch {
	case v == nil && of.NonNull:
		r.fault("null", "It must not be null: "+r.wanted(of))
	case v == nil:
	case of.Elem != nil:
		r.list(of.Elem, v)
	case def.Kind == ast.InputObject:
		r.object(def, v)
	case def.Kind == ast.Enum:
		if word, is := v.(string); !is || def.EnumValues.ForName(word) == nil {
			r.fault("enum", r.wanted(of))
		}
	default:
		if fits := builtIn[def.Name]; fits != nil && !fits(v) {
			r.fault("type", r.wanted(of))
		}
	}
}

// list judges the elements of a list; what is none stands for a list of one.
func (r *reading) list(of *ast.Type, v any) {
	elements, is := v.([]any)
	if !is {
		r.value(of, v)
		return
	}
	for i, element := range elements {
		r.inside(ast.PathIndex(i), of, element, true)
	}
}

func (r *reading) object(def *ast.Definition, v any) {
	members, is := v.(map[string]any)
	if !is {
		r.fault("type", wantedObject(def))
		return
	}
	for _, field := range def.Fields {
		if value, given := members[field.Name]; given || field.DefaultValue == nil {
			r.inside(ast.PathName(field.Name), field.Type, value, given)
		}
	}
	for name := range members {
		if def.Fields.ForName(name) == nil && !r.enough() {
			r.at = append(r.at, ast.PathName(name))
			r.fault(string(model.CodeUnknownField), "It does not exist; there are "+names(def.Fields)+".")
			r.at = r.at[:len(r.at)-1]
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
	"String":  text,
	"Boolean": func(v any) bool { _, is := v.(bool); return is },
	"Int":     func(v any) bool { return integer(v, 32) },
	"ID":      func(v any) bool { return text(v) || integer(v, 64) },
	"Float": func(v any) bool {
		number, is := v.(stdjson.Number)
		_, err := number.Float64()
		return is && err == nil
	},
}

func text(v any) bool {
	switch v.(type) {
	case string, upload.Ref: // which fits has to allow
		return true
	default:
		return false
	}
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
	def := r.schema.Types[of.NamedType]
	if def.Kind == ast.InputObject {
		return wantedObject(def)
	}
	if def.Kind == ast.Enum {
		words := make([]string, len(def.EnumValues))
		for i, word := range def.EnumValues {
			words[i] = word.Name
		}
		return "give one of " + strings.Join(words, ", ") + "."
	}
	return map[string]string{
		"String": "give a string.", "Boolean": "give true or false.", "Int": "give a whole number of at most 32 bits.", "Float": "give a number.", "ID": "give an id.",
		"Long": "give a whole number.", "DateTime": "give an RFC 3339 time with its zone, such as 2018-02-06T15:50:42Z.", "Decimal": `give a decimal as text, such as "6.4".`,
		"Duration": "give an ISO 8601 duration, such as P365D.", "Metadata": "give an object.", "MetadataChange": "give an object.", "JSON": "give JSON.",
	}[def.Name]
}

// wantedObject says what is right for an input object.
func wantedObject(def *ast.Definition) string {
	if def.Name == "MoneyInput" {
		return "give " + money.ObjectForm + "."
	}
	return "give an object."
}
