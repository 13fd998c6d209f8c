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
	"parapet/model/kernel/apperr"
)

// decodeRequest reads the request's body into In, and its Idempotency-Key. It returns
// unreadable members as faults, which the operation reports with its own. Errors:
// media_type_unsupported, body_too_large, malformed_json, duplicate_field, unknown_field,
// idempotency_key_invalid.
func decodeRequest[In any](c *requestContext) (in In, faults []apperr.FieldError, err error) {
	if err := c.checkContentType(); err != nil {
		return in, nil, err
	}
	body, err := c.readBody()
	if err != nil {
		return in, nil, err
	}
	if faults, err = parseRequest(body, c.uploaded, &in); err != nil {
		return in, nil, err
	}
	return in, faults, c.setIdempotencyKey(body)
}

// readEmptyBody reads the body of a request that needs none: empty, or an object without
// members.
func (c *requestContext) readEmptyBody() error {
	body, err := c.readBody()
	if err != nil {
		return err
	}
	var faults []apperr.FieldError
	if len(bytes.TrimSpace(body)) == 0 {
		body = []byte("{}")
	} else if err = c.checkContentType(); err == nil {
		faults, err = parseRequest(body, nil, &struct{}{})
	}
	switch {
	case err != nil:
		return err
	case len(faults) > 0:
		return apperr.Invalid(faults...)
	default:
		return c.setIdempotencyKey(body)
	}
}

// readBody reads the whole body, except the content of a document, which goes to
// c.uploaded. Errors: body_too_large, malformed_json, rate_limited.
func (c *requestContext) readBody() ([]byte, error) {
	limit := c.route.bodyLimit
	defer c.limitBodyTime()()
	incoming, err := c.openBody(limit)
	if err != nil {
		return nil, err
	}
	whole := &io.LimitedReader{R: incoming, N: limit + 1}
	var body []byte
	if c.route.fileMember == "" {
		body, err = io.ReadAll(whole)
	} else if c.uploaded, err = upload.Extract(whole, upload.Rule{Member: c.route.fileMember}, bodyLimit); err == nil {
		body = c.uploaded.JSON
	}
	switch {
	case whole.N <= 0:
		return nil, c.bodyTooLarge(limit)
	case errors.Is(err, upload.ErrTooLarge):
		c.discardBody()
		return nil, apperr.Fail(apperr.CodeBodyTooLarge, "Without %s, send a body of at most %d MiB.", c.route.fileMember, bodyLimit>>20)
	case upload.IsStoreError(err):
		return nil, err
	case err != nil:
		return nil, c.incompleteBody(err)
	}
	return body, nil
}

// openBody returns a reader of at most limit bytes of the body. The caller's budget is
// charged before reading, or during reading for a chunked body. Errors: body_too_large,
// rate_limited.
func (c *requestContext) openBody(limit int64) (io.Reader, error) {
	length := c.request.ContentLength
	switch {
	case length > limit:
		return nil, c.bodyTooLarge(limit)
	case c.budget == nil:
		return c.request.Body, nil
	}
	c.budgetCharge = c.budget.NewCharge(c.actor.CallerName())
	if length < 0 {
		return c.budgetCharge.Reader(c.request.Body), nil
	}
	if exceeded := upload.AsExceeded(c.budgetCharge.Add(length)); exceeded != nil {
		return nil, c.budgetError(exceeded)
	}
	return c.request.Body, nil
}

// budgetError returns the error for a body that exceeds the budget of concurrently
// received bodies.
func (c *requestContext) budgetError(exceeded *upload.BudgetExceededError) error {
	c.discardBody()
	e := apperr.Fail(apperr.CodeRateLimited, "At most %d MiB of requests of %s are received at once. Wait until other requests are answered.", exceeded.Limit>>20, exceeded.Scope)
	e.RetryAfter = time.Second
	return e
}

// releaseBody releases the budget and the stored content of the request.
func (c *requestContext) releaseBody() {
	c.budgetCharge.Release()
	_ = c.uploaded.Close() // an unnamed file; an error has no consequence
}

// incompleteBody returns the error for a body that could not be read to its end.
func (c *requestContext) incompleteBody(err error) error {
	if exceeded := upload.AsExceeded(err); exceeded != nil {
		return c.budgetError(exceeded)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.Header().Set("Connection", "close")
		return apperr.Fail(apperr.CodeMalformedJSON, "The body did not arrive within %v.", bodyTimeout).WithCause(err)
	}
	var broken net.Error
	c.bodyTruncated = errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &broken)
	return apperr.Fail(apperr.CodeMalformedJSON, "The body is incomplete.").WithCause(err)
}

// maxDiscarded limits the discarded rest of a too large body, in bytes.
const maxDiscarded = 32 << 20

// bodyTooLarge discards the rest of the body: many clients read the response only after
// sending everything and would otherwise see a broken connection. A client that sent
// Expect is answered without sending the body.
func (c *requestContext) bodyTooLarge(limit int64) error {
	c.discardBody()
	return apperr.Fail(apperr.CodeBodyTooLarge, "Send a body of at most %d MiB to this address.", limit>>20)
}

// discardBody discards the rest of the body.
func (c *requestContext) discardBody() {
	if c.request.Header.Get("Expect") != "" || !discardRest(c.request.Body) {
		c.Header().Set("Connection", "close")
	}
}

// discardRest reports whether the body ended within maxDiscarded.
func discardRest(body io.Reader) bool {
	_, err := io.CopyN(io.Discard, body, maxDiscarded)
	return errors.Is(err, io.EOF)
}

// bodyParser is a request that is not one object with fixed members.
type bodyParser interface {
	parseBody(body []byte) (faults []apperr.FieldError, err error)
}

// parseRequest decodes a whole JSON text into a request strictly: malformed JSON and
// unknown members are errors. A missing member or one of the wrong type is a fault; the
// member keeps its zero value.
func parseRequest(body []byte, uploaded *upload.Body, request any) (faults []apperr.FieldError, err error) {
	if _, err := strictjson.CheckBounds(body, uploaded.Offset); err != nil {
		return nil, err
	}
	if own, ok := request.(bodyParser); ok {
		return own.parseBody(body)
	}
	return parseObject(body, uploaded, request)
}

func parseObject(body []byte, uploaded *upload.Body, request any) (faults []apperr.FieldError, err error) {
	d := decoder{Decoder: jsontext.NewDecoder(bytes.NewBuffer(body)), uploaded: uploaded}
	if err := d.decodeValue(reflect.ValueOf(request).Elem()); err != nil {
		return nil, malformedBody(body, err, uploaded)
	}
	_, end := d.ReadToken()
	switch {
	case !errors.Is(end, io.EOF):
		return nil, malformedBody(body, end, uploaded)
	case len(d.unknownMembers) > 0:
		return nil, apperr.FailFields(apperr.CodeUnknownField,
			"The body has a member that does not exist; see errors", "The body has %s members that do not exist", d.unknownMembers...)
	default:
		return d.faults, nil
	}
}

// malformedBody returns an error with the position of the syntax error in the original
// body.
func malformedBody(body []byte, err error, uploaded *upload.Body) error {
	return strictjson.SyntaxError(body, uploaded.Offset, err)
}
