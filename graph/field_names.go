package graph

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"parapet/graph/budget"
	"parapet/graph/scalar"
	"parapet/model"
)

// tongue says in the names of the schema what the domain says in those of REST.
type tongue struct {
	schema *ast.Schema
	given  map[string]bool // names of arguments and of members of inputs
}

// speech is the tongue of the schema, which is the same for every door.
var speech = sync.OnceValue(func() *tongue {
	schema := whole()
	t := &tongue{schema, map[string]bool{}}
	for _, def := range schema.Types {
		for _, field := range def.Fields {
			t.given[field.Name] = t.given[field.Name] || def.Kind == ast.InputObject
			for _, argument := range field.Arguments {
				t.given[argument.Name] = true
			}
		}
	}
	return t
})

// ownNames are members of an input whose own members have the names that callers
// gave them, not the schema's.
var ownNames = []string{"context", "metadata", "document"}

// input is the one argument of every mutation.
const input = "input"

// renamed are arguments that REST calls otherwise.
var renamed = map[string]string{"limit": "first", "cursor": "after"}

// place turns a pointer of the domain into one to the arguments of a field:
// /payout_method_id into /input/payoutMethodId, /created_from into
// /filter/createdFrom. What is about all of it leads to the input.
func (t *tongue) place(field *ast.FieldDefinition, pointer string) string {
	if field == nil {
		return pointer
	}
	segments := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, segment := range segments {
		segments[i] = scalar.Name(segment)
		if slices.Contains(ownNames, segment) {
			break
		}
	}
	if other := renamed[segments[0]]; other != "" {
		segments[0] = other
	}
	path := "/" + strings.Join(segments, "/")
	if field.Arguments.ForName(segments[0]) != nil {
		return path
	}
	for _, argument := range field.Arguments {
		if def := t.schema.Types[argument.Type.Name()]; argument.Name == input || def.Fields.ForName(segments[0]) != nil {
			return strings.TrimSuffix("/"+argument.Name+path, "/")
		}
	}
	return path
}

var snake = regexp.MustCompile(`\b[a-z]+(_[a-z]+)+\b`)

// sentence writes the names of members in it as the schema does.
func (t *tongue) sentence(text string) string {
	return snake.ReplaceAllStringFunc(text, func(word string) string {
		if name := scalar.Name(word); t.given[name] {
			return name
		}
		return word
	})
}

// translate is an error in the names of the schema; field is where it arose, nil
// where no field was resolved.
func (t *tongue) translate(field *ast.FieldDefinition, e *model.Error) *model.Error {
	out := *e
	out.Fields = slices.Clone(e.Fields)
	for i := range out.Fields {
		fault := &out.Fields[i]
		first, _, _ := strings.Cut(strings.TrimPrefix(fault.Pointer, "/"), "/")
		fault.Pointer = t.place(field, fault.Pointer)
		if !slices.Contains(ownNames, first) {
			fault.Detail = t.sentence(fault.Detail)
		}
	}
	out.Detail = t.sentence(e.Detail)
	if e.Code == model.CodeParameterInvalid && len(out.Fields) == 1 && field != nil {
		name := strings.ReplaceAll(strings.TrimPrefix(out.Fields[0].Pointer, "/"), "/", ".")
		out.Detail = "The argument " + name + " is not right: " + out.Fields[0].Detail
	}
	return &out
}

// heard stops a query at arguments that could not be read, and has a mutation's
// operation name them with whatever else is wrong. It is the library's middleware.
func heard(ctx context.Context, next graphql.Resolver) (any, error) {
	faults := scalar.Noted(ctx)
	if len(faults) == 0 {
		return next(ctx)
	}
	_ = budget.From(ctx).ChargeError() // the fault, besides the error that tells it
	if graphql.GetFieldContext(ctx).Field.Definition.Arguments.ForName(input) == nil {
		return nil, model.BadParameter(faults...)
	}
	for i := range faults {
		faults[i].Pointer = domestic(faults[i].Pointer)
	}
	return next(model.WithFaults(ctx, faults...))
}

// domestic turns /input/payoutMethodId into /payout_method_id.
func domestic(pointer string) string {
	segments := strings.Split(strings.TrimPrefix(pointer, "/"+input+"/"), "/")
	for i, segment := range segments {
		if slices.Contains(ownNames, segment) {
			break
		}
		segments[i] = capital.ReplaceAllStringFunc(segment, func(c string) string { return "_" + strings.ToLower(c) })
	}
	return "/" + strings.Join(segments, "/")
}

var capital = regexp.MustCompile(`[A-Z]`)
