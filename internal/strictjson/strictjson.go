// Package strictjson refuses JSON that must not reach a parser or the database,
// and says of JSON that is none what is wrong with it; the same for every door.
package strictjson

import (
	"bytes"
	"errors"
	"unicode/utf8"

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
				line, column := Place(body, int64(i))
				return values, model.Fail(model.CodeMalformedJSON, "The body holds a NUL character, at line %d, column %d.", line, column)
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
			line, column := Place(body, int64(i))
			return values, model.Fail(model.CodeMalformedJSON, "The body nests deeper than %d levels, at line %d, column %d.", maxDepth, line, column)
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

// WholeMoney says how an amount of money is written.
const WholeMoney = "Send minor units as a whole number of at most 64 bits: 1250 for 12.50 USD."

// Place is where a byte of a text stands, for people who look at it in an editor.
func Place(text []byte, offset int64) (line, column int) {
	before := text[:min(max(0, offset), int64(len(text)))]
	line = 1 + bytes.Count(before, []byte("\n"))
	return line, 1 + utf8.RuneCount(before[1+bytes.LastIndexByte(before, '\n'):])
}

// Malformed says what a syntax error of a text is, as far as it concerns the caller.
// Errors: malformed_json, duplicate_field.
func Malformed(text []byte, err error) *model.Error {
	return MalformedCopy(text, func(offset int64) int64 { return offset }, err)
}

// MalformedCopy is Malformed of a copy that lacks bytes of what the caller sent; sent is
// where a byte of the copy stood.
func MalformedCopy(text []byte, sent func(int64) int64, err error) *model.Error {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &syntax):
		return model.Refuse(model.CodeDuplicateField, "The body has a member twice; see errors", "The body has %s members twice", model.FieldError{
			Pointer: model.Bounded(string(syntax.JSONPointer)), Code: string(model.CodeDuplicateField), Detail: "Give it once.",
		}).Because(err)
	case errors.As(err, &syntax):
		line, column := Place(text, syntax.ByteOffset)
		begin := int64(bytes.LastIndexByte(text[:min(max(0, syntax.ByteOffset), int64(len(text)))], '\n') + 1)
		column += int(sent(syntax.ByteOffset) - syntax.ByteOffset - (sent(begin) - begin))
		return model.Fail(model.CodeMalformedJSON, "The body is not JSON in UTF-8: it goes wrong at line %d, column %d.", line, column).Because(err)
	default:
		return model.Fail(model.CodeMalformedJSON, "The body is not one JSON value.").Because(err)
	}
}
