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

// CheckBounds refuses nesting without end, and NUL, which Postgres cannot keep. It
// knows just enough JSON to look into strings; the parser judges the rest. values
// is a bound of how many values there are, itself included. sent is where a byte stood in
// what the caller sent, when the body is a copy that lacks some of it; otherwise AsSent.
// Errors: malformed_json.
func CheckBounds(body []byte, sent func(int64) int64) (values int, _ error) {
	values = 1
	depth, quoted := 0, false
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '"':
			quoted = !quoted
		case '\\':
			if quoted && bytes.HasPrefix(body[i+1:], []byte("u0000")) {
				line, column := place(body, sent, int64(i))
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
			line, column := place(body, sent, int64(i))
			return values, model.Fail(model.CodeMalformedJSON, "The body nests deeper than %d levels, at line %d, column %d.", maxDepth, line, column)
		}
	}
	return values, nil
}

// MoneyFormatHint says how an amount of money is written.
const MoneyFormatHint = "Send minor units as a whole number of at most 64 bits: 1250 for 12.50 USD."

// AsSent is where a byte of a text stands that is no copy.
func AsSent(offset int64) int64 { return offset }

// place is where a byte of a text stood in what the caller sent, for people who look at
// it in an editor.
func place(text []byte, sent func(int64) int64, offset int64) (line, column int) {
	before := text[:min(max(0, offset), int64(len(text)))]
	begin := bytes.LastIndexByte(before, '\n') + 1
	gone := sent(offset) - offset - (sent(int64(begin)) - int64(begin))
	return 1 + bytes.Count(before, []byte("\n")), 1 + utf8.RuneCount(before[begin:]) + int(gone)
}

// SyntaxError says what a syntax error of a text is, as far as it concerns the caller. sent
// is where a byte stood in what the caller sent, as for Bounded.
// Errors: malformed_json, duplicate_field.
func SyntaxError(text []byte, sent func(int64) int64, err error) *model.Error {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &syntax):
		return model.FailFields(model.CodeDuplicateField, "The body has a member twice; see errors", "The body has %s members twice", model.FieldError{
			Pointer: model.BoundPointer(string(syntax.JSONPointer)), Code: string(model.CodeDuplicateField), Detail: "Give it once.",
		}).WithCause(err)
	case errors.As(err, &syntax):
		line, column := place(text, sent, syntax.ByteOffset)
		return model.Fail(model.CodeMalformedJSON, "The body is not JSON in UTF-8: it goes wrong at line %d, column %d.", line, column).WithCause(err)
	default:
		return model.Fail(model.CodeMalformedJSON, "The body is not one JSON value.").WithCause(err)
	}
}
