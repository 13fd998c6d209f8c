package graph

import (
	"slices"
	"strings"

	"parapet/model"
)

// ownNames are members of an input whose own members have the names that callers
// gave them, not the schema's.
var ownNames = []string{"context", "metadata", "document"}

// inputFields says where in the input a member is wrong, or which argument of a
// list. The domain names both as REST does.
func inputFields(e *model.Error) []map[string]any {
	place := inputPointer
	if e.Code == model.CodeParameterInvalid || e.Code == model.CodeCursorInvalid {
		place = argument
	}
	all := make([]map[string]any, len(e.Fields))
	for i, field := range e.Fields {
		all[i] = map[string]any{"pointer": place(field.Pointer), "code": field.Code, "detail": field.Detail}
	}
	return all
}

// argument turns /created_from into createdFrom.
func argument(pointer string) string {
	switch name := strings.TrimPrefix(pointer, "/"); name {
	case "limit":
		return "first"
	case "cursor":
		return "after"
	default:
		return camel(name)
	}
}

// inputPointer turns /payout_method_id into /input/payoutMethodId.
func inputPointer(pointer string) string {
	if pointer == "" {
		return "/input"
	}
	segments := strings.Split(pointer[1:], "/")
	for i, segment := range segments {
		segments[i] = camel(segment)
		if i == 0 && slices.Contains(ownNames, segment) {
			break
		}
	}
	return "/input/" + strings.Join(segments, "/")
}

// camel writes a name as the schema does.
func camel(name string) string {
	words := strings.Split(name, "_")
	for i, word := range words[1:] {
		if word != "" {
			words[i+1] = strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return strings.Join(words, "")
}
