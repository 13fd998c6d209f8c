// Package strictjson rejects JSON that must not reach a parser or the database, and
// describes syntax errors, for REST and GraphQL alike.
package strictjson

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"parapet/model/kernel/apperr"
)

// maxDepth limits the nesting of objects and arrays.
const maxDepth = 64

// CheckBounds rejects too deep nesting, and NUL, which Postgres cannot store. It parses
// only enough JSON to recognise strings; the parser checks the rest. values is an upper
// bound of the number of values, including the outer one. sent maps a byte offset of body
// to the offset in the caller's body, if body is a shortened copy; otherwise it is
// AsSent. Errors: malformed_json.
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
				return values, apperr.Fail(apperr.CodeMalformedJSON, "The body holds a NUL character, at line %d, column %d.", line, column)
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
			return values, apperr.Fail(apperr.CodeMalformedJSON, "The body nests deeper than %d levels, at line %d, column %d.", maxDepth, line, column)
		}
	}
	return values, nil
}

// MoneyFormatHint describes the form of a money amount.
const MoneyFormatHint = "Send minor units as a whole number of at most 64 bits: 1250 for 12.50 USD."

// AsSent maps a byte offset to itself, for a body that is not a copy.
func AsSent(offset int64) int64 { return offset }

// place returns the line and column of a byte in the caller's body, for use in an editor.
func place(text []byte, sent func(int64) int64, offset int64) (line, column int) {
	before := text[:min(max(0, offset), int64(len(text)))]
	begin := bytes.LastIndexByte(before, '\n') + 1
	gone := sent(offset) - offset - (sent(int64(begin)) - int64(begin))
	return 1 + bytes.Count(before, []byte("\n")), 1 + utf8.RuneCount(before[begin:]) + int(gone)
}

// SyntaxError describes a syntax error for the caller. sent maps offsets as in
// CheckBounds. Errors: malformed_json, duplicate_field.
func SyntaxError(text []byte, sent func(int64) int64, err error) *apperr.Error {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &syntax):
		return apperr.FailFields(apperr.CodeDuplicateField, "The body has a member twice; see errors", "The body has %s members twice", apperr.FieldError{
			Pointer: apperr.BoundPointer(string(syntax.JSONPointer)), Code: string(apperr.CodeDuplicateField), Detail: "Give it once.",
		}).WithCause(err)
	case errors.As(err, &syntax):
		line, column := place(text, sent, syntax.ByteOffset)
		return apperr.Fail(apperr.CodeMalformedJSON, "The body is not JSON in UTF-8: it goes wrong at line %d, column %d.", line, column).WithCause(err)
	default:
		return apperr.Fail(apperr.CodeMalformedJSON, "The body is not one JSON value.").WithCause(err)
	}
}
