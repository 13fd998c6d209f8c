package rest

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"reflect"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"parapet/internal/strictjson"
	"parapet/internal/upload"
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
	if faults, err = parse(body, c.uploaded, &in); err != nil {
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
		faults, err = parse(body, nil, &struct{}{})
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

// body reads the whole body, and of a document all but its content: that goes to
// c.uploaded. Errors: body_too_large, malformed_json, rate_limited.
func (c *call) body() ([]byte, error) {
	limit := c.route.limit
	defer c.hurry()()
	incoming, err := c.receive(limit)
	if err != nil {
		return nil, err
	}
	whole := &io.LimitedReader{R: incoming, N: limit + 1}
	var body []byte
	if c.route.content == "" {
		body, err = io.ReadAll(whole)
	} else if c.uploaded, err = upload.Extract(whole, upload.Rule{Member: c.route.content}, bodyLimit); err == nil {
		body = c.uploaded.JSON
	}
	switch {
	case whole.N <= 0:
		return nil, c.tooLarge(limit)
	case errors.Is(err, upload.ErrTooLarge):
		c.giveUpBody()
		return nil, model.Fail(model.CodeBodyTooLarge, "Besides %s, a body has at most %d MiB.", c.route.content, bodyLimit>>20)
	case upload.StoreFailed(err):
		return nil, err
	case err != nil:
		return nil, c.cutOff(err)
	}
	return body, nil
}

// receive begins to take a body of at most limit bytes: it is charged against the
// budget of its caller before it is read, and a chunked one as it comes.
// Errors: body_too_large, rate_limited.
func (c *call) receive(limit int64) (io.Reader, error) {
	length := c.request.ContentLength
	switch {
	case length > limit:
		return nil, c.tooLarge(limit)
	case c.budget == nil:
		return c.request.Body, nil
	}
	c.charge = c.budget.Open(holder(c.actor))
	if length < 0 {
		return c.charge.Reader(c.request.Body), nil
	}
	if exceeded := upload.AsExceeded(c.charge.Take(length)); exceeded != nil {
		return nil, c.overBudget(exceeded)
	}
	return c.request.Body, nil
}

// overBudget refuses a body beside too many others that are being received.
func (c *call) overBudget(exceeded *upload.Exceeded) error {
	c.giveUpBody()
	e := model.Fail(model.CodeRateLimited, "At most %d MiB of requests of %s are received at once. Wait until others were answered.", exceeded.Limit>>20, exceeded.Whose)
	e.RetryAfter = time.Second
	return e
}

// done lets go of what the request held.
func (c *call) done() {
	c.charge.Release()
	_ = c.uploaded.Close() // a file without a name; nothing can be done
}

// cutOff is a body that could not be read to its end.
func (c *call) cutOff(err error) error {
	if exceeded := upload.AsExceeded(err); exceeded != nil {
		return c.overBudget(exceeded)
	}
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
	c.giveUpBody()
	return model.Fail(model.CodeBodyTooLarge, "A body has at most %d MiB here.", limit>>20)
}

// giveUpBody throws away what is still to come of a body.
func (c *call) giveUpBody() {
	if c.request.Header.Get("Expect") != "" || !drained(c.request.Body) {
		c.Header().Set("Connection", "close")
	}
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
func parse(body []byte, uploaded *upload.Body, request any) (faults []model.FieldError, err error) {
	if _, err := strictjson.Bounded(body, uploaded.Offset); err != nil {
		return nil, err
	}
	if own, ok := request.(selfParsing); ok {
		return own.parse(body)
	}
	return parseInto(body, uploaded, request)
}

func parseInto(body []byte, uploaded *upload.Body, request any) (faults []model.FieldError, err error) {
	d := decoder{Decoder: jsontext.NewDecoder(bytes.NewBuffer(body)), uploaded: uploaded}
	if err := d.value(reflect.ValueOf(request).Elem()); err != nil {
		return nil, malformed(body, err, uploaded)
	}
	_, end := d.ReadToken()
	switch {
	case !errors.Is(end, io.EOF):
		return nil, malformed(body, end, uploaded)
	case len(d.unknown) > 0:
		return nil, model.Refuse(model.CodeUnknownField,
			"The body has a member that does not exist; see errors", "The body has %s members that do not exist", d.unknown...)
	default:
		return d.wrong, nil
	}
}

// malformed says where the body, with its content, goes wrong.
func malformed(body []byte, err error, uploaded *upload.Body) error {
	return strictjson.Malformed(body, uploaded.Offset, err)
}
