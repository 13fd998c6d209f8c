package rest

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"reflect"

	"github.com/go-json-experiment/json/jsontext"

	"parapet/model"
)

// decode reads the request's body into In, and its Idempotency-Key. Errors:
// media_type_unsupported, body_too_large, malformed_json, duplicate_field,
// unknown_field, validation_failed, idempotency_key_invalid.
func decode[In any](c *call) (in In, err error) {
	if err := writtenAsJSON(c.request.Header); err != nil {
		return in, err
	}
	body, err := c.body()
	if err != nil {
		return in, err
	}
	if err := parse(body, &in); err != nil {
		return in, err
	}
	return in, c.idempotency(body)
}

// body reads the whole body, and refuses one that announces its excess at once.
func (c *call) body() ([]byte, error) {
	limit := c.route.limit
	if c.request.ContentLength > limit {
		c.Header().Set("Connection", "close") // the rest is not worth reading
		return nil, tooLarge(limit)
	}
	defer c.hurry()()
	body, err := io.ReadAll(http.MaxBytesReader(c.ResponseWriter, c.request.Body, limit))
	if excess := (*http.MaxBytesError)(nil); errors.As(err, &excess) {
		return nil, tooLarge(limit)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.Header().Set("Connection", "close")
		return nil, model.Fail(model.CodeMalformedJSON, "The body did not arrive within %v.", bodyTimeout).Because(err)
	}
	if err != nil {
		return nil, model.Fail(model.CodeMalformedJSON, "The body ended before its end.").Because(err)
	}
	return body, nil
}

func tooLarge(limit int64) *model.Error {
	return model.Fail(model.CodeBodyTooLarge, "A body has at most %d MiB here.", limit>>20)
}

// selfParsing is a request that is not one object with fixed members.
type selfParsing interface{ parse(body []byte) error }

// parse reads a whole JSON text into a request, strictly: what is not well formed
// and what does not exist is refused first, then everything that is missing or
// of the wrong type, all at once.
func parse(body []byte, request any) error {
	if err := bounded(body); err != nil {
		return err
	}
	if own, ok := request.(selfParsing); ok {
		return own.parse(body)
	}
	return parseInto(body, request)
}

func parseInto(body []byte, request any) error {
	d := decoder{Decoder: jsontext.NewDecoder(bytes.NewBuffer(body))}
	if err := d.value(reflect.ValueOf(request).Elem()); err != nil {
		return malformed(err)
	}
	_, end := d.ReadToken()
	switch {
	case !errors.Is(end, io.EOF):
		return malformed(end)
	case len(d.unknown) > 0:
		e := model.Fail(model.CodeUnknownField, "The body has a member that does not exist; see errors.")
		e.Fields = d.unknown
		return e
	case len(d.wrong) > 0:
		return model.Invalid(d.wrong...)
	default:
		return nil
	}
}

// malformed says what the syntax error is, as far as it concerns the caller.
func malformed(err error) *model.Error {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &syntax):
		e := model.Fail(model.CodeDuplicateField, "The body has the member %s twice.", shortened(string(syntax.JSONPointer)))
		e.Fields = []model.FieldError{{Pointer: string(syntax.JSONPointer), Code: string(model.CodeDuplicateField), Detail: "Give it once."}}
		return e.Because(err)
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
