package docs_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// maxNesting is how deep the members of members are shown.
const maxNesting = 4

// sharedTypes are explained once, in the conventions.
var sharedTypes = []string{"Money", "Measure", "Point"}

// members describes the members of an object. Every member of an answer exists, so only
// those of a request are marked as required.
func (s *site) members(of *schema, depth int, isAnswer bool) (all []member, err error) {
	for _, part := range of.AllOf {
		resolved, _ := s.api.resolve(part)
		inherited, err := s.members(resolved, depth, isAnswer)
		if err != nil {
			return nil, err
		}
		all = append(all, inherited...)
	}
	for _, name := range of.memberNames() {
		m, err := s.member(name, of.Properties[name], !isAnswer && slices.Contains(of.Required, name), depth)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// memberName is the name of a member, a parameter or a code in a sentence.
var memberName = regexp.MustCompile(`(^|[\s(])([a-z]+(?:_[a-z0-9]+)+(?:\.[a-z_]+)?|(?:claim|payout|policy|quote)\.[a-z_]+)\b`)

// markNames writes the names of members in a description as code. Clients of the OpenAPI
// document show descriptions as plain text, so they are written without marks.
func markNames(text string) string {
	parts := strings.Split(text, "`")
	for i := 0; i < len(parts); i += 2 {
		parts[i] = memberName.ReplaceAllString(parts[i], "$1`$2`")
	}
	return strings.Join(parts, "`")
}

func (s *site) member(name string, of *schema, required bool, depth int) (member, error) {
	resolved, typeName := s.api.resolve(of)
	m := member{Name: name, Type: s.typeOf(of), Required: required}
	text := of.Description
	if text == "" {
		text = resolved.Description
	}
	if resolved.Default != nil {
		text += fmt.Sprintf(" Default: `%v`.", resolved.Default)
	}
	var err error
	if m.Text, err = s.inline(markNames(text)); err != nil {
		return m, err
	}
	for _, value := range resolved.Enum {
		if value != nil {
			m.Values = append(m.Values, fmt.Sprint(value))
		}
	}
	inner := resolved
	if resolved.Items != nil {
		inner, typeName = s.api.resolve(resolved.Items)
	}
	switch {
	case slices.Contains(sharedTypes, typeName):
		m.Link = "/docs/conventions#values"
	case s.records[typeName] != "":
		m.Link = s.records[typeName]
	case depth < maxNesting:
		m.Members, err = s.members(inner, depth+1, !required && depth > 0)
	}
	return m, err
}

// typeOf returns the type of a member in words.
func (s *site) typeOf(of *schema) string {
	resolved, name := s.api.resolve(of)
	var words []string
	switch types := resolved.Type.(type) {
	case string:
		words = []string{types}
	case []any:
		for _, one := range types {
			words = append(words, fmt.Sprint(one))
		}
	}
	if len(of.OneOf) == 2 && of.OneOf[1].Type == "null" {
		words = append(words, "null")
	}
	for i, one := range words {
		switch {
		case one == "array" && resolved.Items != nil:
			words[i] = "array of " + s.typeOf(resolved.Items)
		case one == "object" && name != "":
			words[i] = name
		case one == "string" && resolved.Format == "date-time":
			words[i] = "time"
		case one == "string" && resolved.Format == "duration":
			words[i] = "duration"
		}
	}
	if len(words) == 0 {
		return "any"
	}
	return strings.Join(slices.Compact(words), " or ")
}
