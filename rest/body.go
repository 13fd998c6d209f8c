package rest

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"reflect"

	"github.com/go-json-experiment/json/jsontext"

	"parapet/internal/strictjson"
	"parapet/model"
)

// decode reads the request's body into In, and its Idempotency-Key. Members that
// cannot be read are left to the operation, which names them with its own.
// Errors: media_type_unsupported, body_too_large, malformed_json,
// duplicate_field, unknown_field, idempotency_key_invalid.
func decode[In any](c *call) (in In, faults []model.FieldError, err error) {
	if err := c.written(); err != nil {
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

// bare reads the body of a request that needs none: nothing, or an object without
// members.
func (c *call) bare() error {
	body, err := c.body()
	if err != nil {
		return err
	}
	var faults []model.FieldError
	if len(bytes.TrimSpace(body)) == 0 {
		body = []byte("{}")
	} else if err = c.written(); err == nil {
		faults, err = parse(body, &struct{}{})
	}
	switch {
	case err != nil:
		return err
	case len(faults) > 0:
		return model.Invalid(faults...)
	default:
		return c.idempotency(body)
	}
}

// body reads the whole body.
func (c *call) body() ([]byte, error) {
	limit := c.route.limit
	defer c.hurry()()
	if c.request.ContentLength > limit {
		return nil, c.tooLarge(limit)
	}
	body, err := io.ReadAll(io.LimitReader(c.request.Body, limit+1))
	switch {
	case int64(len(body)) > limit:
		return nil, c.tooLarge(limit)
	case err != nil:
		return nil, c.cutOff(err)
	}
	return body, nil
}

// cutOff is a body that could not be read to its end.
func (c *call) cutOff(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.Header().Set("Connection", "close")
		return model.Fail(model.CodeMalformedJSON, "The body did not arrive within %v.", bodyTimeout).Because(err)
	}
	var broken net.Error
	c.cutShort = errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &broken)
	return model.Fail(model.CodeMalformedJSON, "The body ended before its end.").Because(err)
}

// maxDrained is how much of a body that is too large is still taken, in bytes.
const maxDrained = 32 << 20

// tooLarge takes the rest of the body and throws it away: many clients look for an
// answer only when they have sent everything, and would see a broken connection
// instead. Who asks first whether to send is answered without.
func (c *call) tooLarge(limit int64) error {
	asks := c.request.ContentLength > limit && c.request.Header.Get("Expect") != ""
	if asks || !drained(c.request.Body) {
		c.Header().Set("Connection", "close")
	}
	return model.Fail(model.CodeBodyTooLarge, "A body has at most %d MiB here.", limit>>20)
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
	if _, err := strictjson.Bounded(body); err != nil {
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
		return nil, strictjson.Malformed(err)
	}
	_, end := d.ReadToken()
	switch {
	case !errors.Is(end, io.EOF):
		return nil, strictjson.Malformed(end)
	case len(d.unknown) > 0:
		return nil, model.Refuse(model.CodeUnknownField,
			"The body has a member that does not exist; see errors", "The body has %s members that do not exist", d.unknown...)
	default:
		return d.wrong, nil
	}
}
