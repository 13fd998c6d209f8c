package graph

import (
	"maps"
	"slices"

	"github.com/vektah/gqlparser/v2/ast"

	"parapet/graph/scalar"
	"parapet/model/kernel/apperr"
)

// emptyFilters returns an error for each optional argument, and each member of a filter,
// that is empty text; in a mutation also for an empty list. The domain does not filter by an
// empty value, so the field would return or change more than its caller selects. An empty
// cursor means the first page, and an empty list of a query no filter.
func emptyFilters(field *ast.FieldDefinition, given map[string]any) []apperr.FieldError {
	if input, is := given[inputArgument].(map[string]any); is {
		filter, _ := input["filter"].(map[string]any)
		return emptyMembers(filter, ast.Path{ast.PathName(inputArgument), ast.PathName("filter")}, true)
	}
	optional := maps.Clone(given)
	delete(optional, renamedArguments["cursor"])
	for _, argument := range field.Arguments {
		if argument.Type.NonNull {
			delete(optional, argument.Name)
		}
	}
	return emptyMembers(optional, nil, false)
}

// emptyMembers returns an error for each empty text, and list if lists is set, in members or
// their members.
func emptyMembers(members map[string]any, at ast.Path, lists bool) (faults []apperr.FieldError) {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		inside := append(slices.Clip(at), ast.PathName(name))
		switch value := members[name].(type) {
		case map[string]any:
			faults = append(faults, emptyMembers(value, inside, lists)...)
		case []any:
			if lists && len(value) == 0 {
				faults = append(faults, apperr.FieldError{Pointer: scalar.Pointer(inside), Code: "value", Detail: "Name at least one value, or leave it out."})
			}
		case string:
			if value == "" {
				faults = append(faults, apperr.FieldError{Pointer: scalar.Pointer(inside), Code: "value", Detail: "Give a value that is not empty, or leave it out."})
			}
		}
	}
	return faults
}
