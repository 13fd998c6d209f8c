package graph

import (
	stdjson "encoding/json" //nolint:depguard // the type in which gqlgen takes a variable's number
	"strconv"
	"strings"
	"sync"

	"github.com/vektah/gqlparser/v2/ast"

	"parapet/graph/scalar"
	"parapet/internal/upload"
	"parapet/model/kernel/apperr"
	"parapet/model/money"
)

// variableCheck validates variable values against their declared types (specification
// section 6.1.2). Unlike gqlgen it reports all errors and compares enum values exactly.
type variableCheck struct {
	schema *ast.Schema
	path   ast.Path // of the value being checked
	faults []apperr.FieldError
}

// readVariables returns the errors in the variables of an operation, nil without errors.
// The pointers lead into the request.
func readVariables(schema *ast.Schema, operation *ast.OperationDefinition, given map[string]any) error {
	c := &variableCheck{schema: schema, path: ast.Path{ast.PathName("variables")}}
	conditions := sync.OnceValue(func() map[string]bool { return readConditions(operation) })
	for _, v := range operation.VariableDefinitions {
		value, present := given[v.Variable]
		of := v.Type
		if present && value == nil && !of.NonNull && conditions()[v.Variable] {
			of = ast.NonNullNamedType(of.NamedType, of.Position) // gqlgen panics on null in @include and @skip
		}
		if present || v.DefaultValue == nil {
			c.checkMember(ast.PathName(v.Variable), of, value, present)
		}
	}
	if len(c.faults) == 0 {
		return nil
	}
	name := strings.ReplaceAll(strings.TrimPrefix(c.faults[0].Pointer, "/variables/"), "/", ".")
	one := "The variable $" + name + " is not right: " + strings.TrimSuffix(c.faults[0].Detail, ".")
	return apperr.FailFields(apperr.CodeValidationFailed, one, "%s variables or members of them are not right", c.faults...)
}

// addFault records an error of the value being checked.
func (c *variableCheck) addFault(code, detail string) {
	c.faults = append(c.faults, apperr.FieldError{Pointer: scalar.Pointer(c.path), Code: code, Detail: strings.ToUpper(detail[:1]) + detail[1:]})
}

// hasEnough reports whether there are more errors than a response lists.
func (c *variableCheck) hasEnough() bool { return len(c.faults) > apperr.MaxFieldErrors }

// checkMember checks a present or missing member at step.
func (c *variableCheck) checkMember(step ast.PathElement, of *ast.Type, v any, given bool) {
	c.path = append(c.path, step)
	switch {
	case c.hasEnough():
	case given:
		c.checkValue(of, v)
	case of.NonNull:
		c.addFault("required", "It is missing: "+c.expectedValue(of))
	}
	c.path = c.path[:len(c.path)-1]
}

// checkValue checks one value. Our own scalars are checked where they are read.
func (c *variableCheck) checkValue(of *ast.Type, v any) {
	def := c.schema.Types[of.Name()]
	switch {
	case v == nil && of.NonNull:
		c.addFault("null", "It must not be null: "+c.expectedValue(of))
	case v == nil:
	case of.Elem != nil:
		c.checkList(of.Elem, v)
	case def.Kind == ast.InputObject:
		c.checkObject(def, v)
	case def.Kind == ast.Enum:
		if word, is := v.(string); !is || def.EnumValues.ForName(word) == nil {
			c.addFault("enum", c.expectedValue(of))
		}
	default:
		if fits := builtInChecks[def.Name]; fits != nil && !fits(v) {
			c.addFault("type", c.expectedValue(of))
		}
	}
}

// checkNullArguments returns an error for null where an argument's type does not allow it.
// A nullable variable may stand where the schema has a default value, so its null is
// found only when the field runs. gqlgen would read it as the empty value.
func checkNullArguments(field *ast.FieldDefinition, given map[string]any) error {
	c := &variableCheck{schema: schemaNames().schema}
	for _, argument := range field.Arguments {
		if value, is := given[argument.Name]; is {
			c.checkNulls(ast.PathName(argument.Name), argument.Type, value)
		}
	}
	if len(c.faults) == 0 {
		return nil
	}
	return apperr.Invalid(c.faults...)
}

// checkNulls checks the value at step and the values inside it.
func (c *variableCheck) checkNulls(step ast.PathElement, of *ast.Type, v any) {
	c.path = append(c.path, step)
	switch v := v.(type) {
	case nil:
		if of.NonNull && !c.hasEnough() {
			c.addFault("null", "It must not be null: "+c.expectedValue(of))
		}
	case []any:
		for i := 0; of.Elem != nil && i < len(v); i++ {
			c.checkNulls(ast.PathIndex(i), of.Elem, v[i])
		}
	case map[string]any:
		for _, field := range c.schema.Types[of.Name()].Fields { // a scalar has none
			if value, is := v[field.Name]; is {
				c.checkNulls(ast.PathName(field.Name), field.Type, value)
			}
		}
	}
	c.path = c.path[:len(c.path)-1]
}

// checkList checks the elements of a list; a single value counts as a list of one.
func (c *variableCheck) checkList(of *ast.Type, v any) {
	elements, is := v.([]any)
	if !is {
		c.checkValue(of, v)
		return
	}
	for i, element := range elements {
		c.checkMember(ast.PathIndex(i), of, element, true)
	}
}

func (c *variableCheck) checkObject(def *ast.Definition, v any) {
	members, is := v.(map[string]any)
	if !is {
		c.addFault("type", wantedObject(def))
		return
	}
	for _, field := range def.Fields {
		if value, given := members[field.Name]; given || field.DefaultValue == nil {
			c.checkMember(ast.PathName(field.Name), field.Type, value, given)
		}
	}
	for name := range members {
		if def.Fields.ForName(name) == nil && !c.hasEnough() {
			c.path = append(c.path, ast.PathName(name))
			c.addFault(string(apperr.CodeUnknownField), "It does not exist; there are "+joinNames(def.Fields)+".")
			c.path = c.path[:len(c.path)-1]
		}
	}
}

func joinNames(fields ast.FieldList) string {
	all := make([]string, len(fields))
	for i, field := range fields {
		all[i] = field.Name
	}
	return strings.Join(all, ", ")
}

// builtInChecks report whether a value is valid for a scalar of the specification.
var builtInChecks = map[string]func(any) bool{
	"String":  isText,
	"Boolean": func(v any) bool { _, is := v.(bool); return is },
	"Int":     func(v any) bool { return isInteger(v, 32) },
	"ID":      func(v any) bool { return isText(v) || isInteger(v, 64) },
	"Float": func(v any) bool {
		number, is := v.(stdjson.Number)
		_, err := number.Float64()
		return is && err == nil
	},
}

func isText(v any) bool {
	switch v.(type) {
	case string, upload.Ref: // checkOperation decides where a content is allowed
		return true
	default:
		return false
	}
}

func isInteger(v any, bits int) bool {
	number, is := v.(stdjson.Number)
	_, err := strconv.ParseInt(number.String(), 10, bits)
	return is && err == nil
}

// expectedValue describes the valid values of a type.
func (c *variableCheck) expectedValue(of *ast.Type) string {
	if of.Elem != nil {
		return "give a list."
	}
	def := c.schema.Types[of.NamedType]
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

// wantedObject describes the valid values of an input object.
func wantedObject(def *ast.Definition) string {
	if def.Name == "MoneyInput" {
		return "give " + money.ObjectForm + "."
	}
	return "give an object."
}
