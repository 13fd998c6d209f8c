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
	"parapet/model/kernel/apperr"
)

// fieldNames translates REST names in errors into the schema's names.
type fieldNames struct {
	schema     *ast.Schema
	inputNames map[string]bool // names of arguments and of input fields
}

// schemaNames holds the names of the schema, which is the same for every handler.
var schemaNames = sync.OnceValue(func() *fieldNames {
	schema := loadSchema()
	n := &fieldNames{schema, map[string]bool{}}
	for _, def := range schema.Types {
		for _, field := range def.Fields {
			n.inputNames[field.Name] = n.inputNames[field.Name] || def.Kind == ast.InputObject
			for _, argument := range field.Arguments {
				n.inputNames[argument.Name] = true
			}
		}
	}
	return n
})

// freeformMembers are input members whose own members are named by the caller, or by the
// format of a file, not by the schema.
var freeformMembers = []string{"context", "metadata", "document", "content_base64"}

// inputArgument is the only argument of every mutation.
const inputArgument = "input"

// renamedArguments maps REST names of arguments to the different schema names.
var renamedArguments = map[string]string{"limit": "first", "cursor": "after"}

// toArgumentPointer converts a pointer of the domain to one into the arguments of a
// field: /payout_method_id to /input/payoutMethodId, /created_from to
// /filter/createdFrom. A pointer to the whole request becomes a pointer to the input.
func (n *fieldNames) toArgumentPointer(field *ast.FieldDefinition, pointer string) string {
	if field == nil {
		return pointer
	}
	segments := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, segment := range segments {
		segments[i] = scalar.FieldName(segment)
		if slices.Contains(freeformMembers, segment) {
			break
		}
	}
	if other := renamedArguments[segments[0]]; other != "" {
		segments[0] = other
	}
	path := "/" + strings.Join(segments, "/")
	if field.Arguments.ForName(segments[0]) != nil {
		return path
	}
	for _, argument := range field.Arguments {
		if def := n.schema.Types[argument.Type.Name()]; argument.Name == inputArgument || def.Fields.ForName(segments[0]) != nil {
			return strings.TrimSuffix("/"+argument.Name+path, "/")
		}
	}
	return path
}

var snakeCasePattern = regexp.MustCompile(`\b[a-z]+(_[a-z]+)+\b`)

// renameMembers replaces the member names in a text by the schema's names.
func (n *fieldNames) renameMembers(text string) string {
	return snakeCasePattern.ReplaceAllStringFunc(text, func(word string) string {
		if name := scalar.FieldName(word); n.inputNames[name] {
			return name
		}
		return word
	})
}

// TranslateError converts an error to the names of the schema. field is the field that
// failed, nil if no field was resolved.
func (n *fieldNames) translateError(field *ast.FieldDefinition, e *apperr.Error) *apperr.Error {
	out := *e
	out.Fields = slices.Clone(e.Fields)
	for i := range out.Fields {
		fault := &out.Fields[i]
		first, _, _ := strings.Cut(strings.TrimPrefix(fault.Pointer, "/"), "/")
		fault.Pointer = n.toArgumentPointer(field, fault.Pointer)
		if !slices.Contains(freeformMembers, first) {
			fault.Detail = n.renameMembers(fault.Detail)
		}
	}
	out.Detail = n.renameMembers(e.Detail)
	if e.Code == apperr.CodeParameterInvalid && len(out.Fields) == 1 && field != nil {
		name := strings.ReplaceAll(strings.TrimPrefix(out.Fields[0].Pointer, "/"), "/", ".")
		out.Detail = "The argument " + name + " is not right: " + out.Fields[0].Detail
	}
	return &out
}

// collectArgumentErrors stops a query whose arguments could not be read or filter by
// nothing; a mutation reports them together with its other errors.
func collectArgumentErrors(ctx context.Context, next graphql.Resolver) (any, error) {
	field, faults := graphql.GetFieldContext(ctx).Field, scalar.CollectedErrors(ctx)
	if len(field.Arguments) > 0 {
		given := field.ArgumentMap(graphql.GetOperationContext(ctx).Variables)
		if err := checkNullArguments(field.Definition, given); err != nil {
			return nil, err
		}
		faults = append(faults, emptyFilters(field.Definition, given)...)
	}
	if len(faults) == 0 {
		return next(ctx)
	}
	_ = budget.From(ctx).ChargeError() // the fault is charged in addition to the error that reports it
	if field.Definition.Arguments.ForName(inputArgument) == nil {
		return nil, apperr.BadParameter(faults...)
	}
	for i := range faults {
		faults[i].Pointer = toDomainPointer(faults[i].Pointer)
	}
	return next(apperr.WithFieldErrors(ctx, faults...))
}

// toDomainPointer converts /input/payoutMethodId to /payout_method_id.
func toDomainPointer(pointer string) string {
	segments := strings.Split(strings.TrimPrefix(pointer, "/"+inputArgument+"/"), "/")
	for i, segment := range segments {
		if slices.Contains(freeformMembers, segment) {
			break
		}
		segments[i] = capitalPattern.ReplaceAllStringFunc(segment, func(c string) string { return "_" + strings.ToLower(c) })
	}
	return "/" + strings.Join(segments, "/")
}

var capitalPattern = regexp.MustCompile(`[A-Z]`)
