package rest

import (
	"bytes"
	"errors"
	"io"
	"os"
	"reflect"

	"github.com/go-json-experiment/json/jsontext"

	"parapet/model"
)

// decode reads the request's body into In, and its Idempotency-Key. Members that
// cannot be read are left to the operation, which names them with its own.
// Errors: media_type_unsupported, body_too_large, malformed_json,
// duplicate_field, unknown_field, idempotency_key_invalid.
func decode[In any](c *call) (in In, faults []model.FieldError, err error) {
	if err := writtenAsJSON(c.request.Header); err != nil {
		return in, nil, err
	}
	body, err := c.body()
	if err != nil {
		return in, nil, err
	}
	if faults, err = parse(body, &in); err != nil {
		return in, nil, err
	}
	return in, faults, c.idempotency(body)
}

// body reads the whole body.
func (c *call) body() ([]byte, error) {
	limit := c.route.limit
	defer c.hurry()()
	if c.request.ContentLength > limit {
		return nil, c.tooLarge()
	}
	body, err := io.ReadAll(io.LimitReader(c.request.Body, limit+1))
	switch {
	case int64(len(body)) > limit:
		return nil, c.tooLarge()
	case errors.Is(err, os.ErrDeadlineExceeded):
		c.Header().Set("Connection", "close")
		return nil, model.Fail(model.CodeMalformedJSON, "The body did not arrive within %v.", bodyTimeout).Because(err)
	case err != nil:
		return nil, model.Fail(model.CodeMalformedJSON, "The body ended before its end.").Because(err)
	}
	return body, nil
}

// maxDrained is how much of a body that is too large is still taken, in bytes.
const maxDrained = 32 << 20

// tooLarge takes the rest of the body and throws it away: many clients look for an
// answer only when they have sent everything, and would see a broken connection
// instead. Who asks first whether to send is answered without.
func (c *call) tooLarge() error {
	asks := c.request.ContentLength > c.route.limit && c.request.Header.Get("Expect") != ""
	if asks || !drained(c.request.Body) {
		c.Header().Set("Connection", "close")
	}
	return model.Fail(model.CodeBodyTooLarge, "A body has at most %d MiB here.", c.route.limit>>20)
}

// drained tells whether the body ended within the bound.
func drained(body io.Reader) bool {
	_, err := io.CopyN(io.Discard, body, maxDrained)
	return errors.Is(err, io.EOF)
}

// selfParsing is a request that is not one object with fixed members.
type selfParsing interface {
	parse(body []byte) (faults []model.FieldError, err error)
}

// parse reads a whole JSON text into a request, strictly: what is not well formed
// and what does not exist is an error. Everything that is missing or of the wrong
// type is a fault; its member keeps its zero value.
func parse(body []byte, request any) (faults []model.FieldError, err error) {
	if err := bounded(body); err != nil {
		return nil, err
	}
	if own, ok := request.(selfParsing); ok {
		return own.parse(body)
	}
	return parseInto(body, request)
}

func parseInto(body []byte, request any) (faults []model.FieldError, err error) {
	d := decoder{Decoder: jsontext.NewDecoder(bytes.NewBuffer(body))}
	if err := d.value(reflect.ValueOf(request).Elem()); err != nil {
		return nil, malformed(err)
	}
	_, end := d.ReadToken()
	switch {
	case !errors.Is(end, io.EOF):
		return nil, malformed(end)
	case len(d.unknown) > 0:
		return nil, model.Refuse(model.CodeUnknownField,
			"The body has a member that does not exist; see errors", "The body has %s members that do not exist", d.unknown...)
	default:
		return d.wrong, nil
	}
}

// malformed says what the syntax error is, as far as it concerns the caller.
func malformed(err error) *model.Error {
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

// maxDepth is how deep objects and arrays may nest.
const maxDepth = 64

// bounded refuses what must not reach a parser or the database: nesting without
// end, and NUL, which Postgres cannot keep. It knows just enough JSON to look
// into strings; the parser judges the rest.
func bounded(body []byte) error {
	depth, quoted := 0, false
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '"':
			quoted = !quoted
		case '\\':
			if quoted && bytes.HasPrefix(body[i+1:], []byte("u0000")) {
				return model.Fail(model.CodeMalformedJSON, "The body holds a NUL character, at byte %d.", i)
			}
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
		if depth > maxDepth {
			return model.Fail(model.CodeMalformedJSON, "The body nests deeper than %d levels, at byte %d.", maxDepth, i)
		}
	}
	return nil
}
