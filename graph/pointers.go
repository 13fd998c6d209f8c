package graph

import (
	"strings"

	"parapet/model"
)

// ownNames are members of an input whose own members have the names that callers
// gave them, not the schema's.
var ownNames = []string{"context", "metadata"}

// inputFields says where in the input a member is wrong. The domain names members
// as REST does.
func inputFields(fields []model.FieldError) []map[string]any {
	all := make([]map[string]any, len(fields))
	for i, field := range fields {
		all[i] = map[string]any{"pointer": inputPointer(field.Pointer), "code": field.Code, "detail": field.Detail}
	}
	return all
}

// inputPointer turns /payout_method_id into /input/payoutMethodId. A parameter of
// a list has no slash: its name is an argument's.
func inputPointer(pointer string) string {
	if !strings.HasPrefix(pointer, "/") {
		switch pointer {
		case "limit":
			return "first"
		case "cursor":
			return "after"
		}
		return camel(pointer)
	}
	segments := strings.Split(pointer[1:], "/")
	for i, segment := range segments {
		segments[i] = camel(segment)
		if i == 0 && (segment == ownNames[0] || segment == ownNames[1]) {
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
