// Package strictjson refuses JSON that must not reach a parser or the database,
// and says of JSON that is none what is wrong with it; the same for every door.
package strictjson

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"parapet/model"
)

// maxDepth is how deep objects and arrays may nest.
const maxDepth = 64

// Bounded refuses nesting without end, and NUL, which Postgres cannot keep. It
// knows just enough JSON to look into strings; the parser judges the rest. values
// is a bound of how many values there are, itself included. Errors:
// malformed_json.
func Bounded(body []byte) (values int, _ error) {
	values = 1
	depth, quoted := 0, false
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '"':
			quoted = !quoted
		case '\\':
			if quoted && bytes.HasPrefix(body[i+1:], []byte("u0000")) {
				return values, model.Fail(model.CodeMalformedJSON, "The body holds a NUL character, at byte %d.", i)
			}
			i++
		case '{', '[':
			if !quoted {
				depth++
				values++
			}
		case '}', ']':
			if !quoted {
				depth--
			}
		case ',':
			if !quoted {
				values++
			}
		}
		if depth > maxDepth {
			return values, model.Fail(model.CodeMalformedJSON, "The body nests deeper than %d levels, at byte %d.", maxDepth, i)
		}
	}
	return values, nil
}

// InsideMember tells whether the beginning of a JSON text ends within a string that
// is deeper than the members of the outermost object.
func InsideMember(beginning []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(beginning); i++ {
		switch beginning[i] {
		case '"':
			quoted = !quoted
		case '\\':
			i++
		case '{', '[':
			if !quoted {
				depth++
			}
		case '}', ']':
			if !quoted {
				depth--
			}
		}
	}
	return quoted && depth > 1
}

// Malformed says what a syntax error is, as far as it concerns the caller. Errors:
// malformed_json, duplicate_field.
func Malformed(err error) *model.Error {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &syntax):
		return model.Refuse(model.CodeDuplicateField, "The body has a member twice; see errors", "The body has %s members twice", model.FieldError{
			Pointer: model.Bounded(string(syntax.JSONPointer)), Code: string(model.CodeDuplicateField), Detail: "Give it once.",
		}).Because(err)
	case errors.As(err, &syntax):
		return model.Fail(model.CodeMalformedJSON, "The body is not JSON in UTF-8: it goes wrong at byte %d.", syntax.ByteOffset).Because(err)
	default:
		return model.Fail(model.CodeMalformedJSON, "The body is not one JSON value.").Because(err)
	}
}
