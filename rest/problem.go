package rest

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"parapet/model"
	"parapet/model/wire"
)

// problem is an RFC 9457 problem document: the only form of an error.
type problem struct {
	Type       string            `json:"type" doc:"Stable name of the kind of problem." example:"urn:parapet:problem:validation_failed"`
	Title      string            `json:"title" doc:"What this kind of problem is, in a few words."`
	Status     int               `json:"status" doc:"The HTTP status."`
	Detail     string            `json:"detail" doc:"What is wrong with this request and what would be right."`
	Instance   string            `json:"instance" doc:"The path that was called."`
	Code       string            `json:"code" doc:"Machine-readable kind of problem; decide by this member." example:"validation_failed"`
	RequestID  string            `json:"request_id" doc:"Name this when you ask us; it is the X-Request-Id of the answer."`
	Retryable  bool              `json:"retryable" doc:"Whether the same request can succeed later."`
	ResourceID string            `json:"resource_id,omitzero" doc:"The record the problem is about, where one exists."`
	Errors     []wire.FieldError `json:"errors,omitzero" doc:"Every member of the request that is wrong."`
	Extra      map[string]any    `json:",embed" hidden:"true"`
}

// kind is what a code means over HTTP.
type kind struct {
	status    int
	title     string
	retryable bool
}

// kinds maps every code of the domain; a test finds one that is missing.
var kinds = map[model.Code]kind{
	model.CodeMalformedJSON:         {http.StatusBadRequest, "The body is not the JSON it should be", false},
	model.CodeUnknownField:          {http.StatusBadRequest, "The body has a member that does not exist", false},
	model.CodeDuplicateField:        {http.StatusBadRequest, "The body has a member twice", false},
	model.CodeParameterInvalid:      {http.StatusBadRequest, "A parameter is not right", false},
	model.CodeCursorInvalid:         {http.StatusBadRequest, "The cursor does not belong to this list", false},
	model.CodeIdempotencyKeyInvalid: {http.StatusBadRequest, "The Idempotency-Key is not right", false},
	model.CodeTokenMissing:          {http.StatusUnauthorized, "An access token is needed", false},
	model.CodeTokenInvalid:          {http.StatusUnauthorized, "The access token is not valid", false},
	model.CodeTokenExpired:          {http.StatusUnauthorized, "The access token has expired", false},
	model.CodeInsufficientScope:     {http.StatusForbidden, "The token does not allow this", false},
	model.CodePartnerMismatch:       {http.StatusForbidden, "The request names another partner", false},
	model.CodePartnerDisabled:       {http.StatusForbidden, "The partner is disabled", false},
	model.CodeNotFound:              {http.StatusNotFound, "Not found", false},
	model.CodeMethodNotAllowed:      {http.StatusMethodNotAllowed, "The method is not allowed here", false},
	model.CodeNotAcceptable:         {http.StatusNotAcceptable, "No acceptable form of the answer exists", false},
	model.CodeBodyTooLarge:          {http.StatusRequestEntityTooLarge, "The body is too large", false},
	model.CodeMediaTypeUnsupported:  {http.StatusUnsupportedMediaType, "The body is of the wrong type", false},
	model.CodeQuoteAlreadyBound:     {http.StatusConflict, "The quote is already bound", false},
	model.CodeQuoteExpired:          {http.StatusConflict, "The quote has expired", false},
	model.CodeCapacityExceeded:      {http.StatusConflict, "There is no capacity left", false},
	model.CodeMoratoriumActive:      {http.StatusConflict, "No cover is sold here at the moment", false},
	model.CodeStateConflict:         {http.StatusConflict, "The record's state does not allow this", false},
	model.CodeIdempotencyInFlight:   {http.StatusConflict, "The same request is still running", true},
	model.CodeVersionMismatch:       {http.StatusPreconditionFailed, "The record has changed", false},
	model.CodeValidationFailed:      {http.StatusUnprocessableEntity, "The request is not right", false},
	model.CodeProductUnknown:        {http.StatusUnprocessableEntity, "There is no such product", false},
	model.CodeTriggerNotMet:         {http.StatusUnprocessableEntity, "The trigger is not met", false},
	model.CodeRiskUninsurable:       {http.StatusUnprocessableEntity, "The risk cannot be insured", false},
	model.CodeLimitExhausted:        {http.StatusUnprocessableEntity, "The limit is exhausted", false},
	model.CodePolicyNotInForce:      {http.StatusUnprocessableEntity, "The policy is not in force", false},
	model.CodeIdempotencyKeyReused:  {http.StatusUnprocessableEntity, "The Idempotency-Key was used for another request", false},
	model.CodeReferenceTaken:        {http.StatusUnprocessableEntity, "The partner_reference is taken", false},
	model.CodeRateLimited:           {http.StatusTooManyRequests, "Too many requests", true},
	model.CodeInternal:              {http.StatusInternalServerError, "Something went wrong on our side", false},
	model.CodeUnavailable:           {http.StatusServiceUnavailable, "Parapet cannot answer right now", true},
}

// refuse writes an error as a problem document. Only a model.Error is shown;
// anything else is internal and its text stays in the log.
func (d *door) refuse(ctx context.Context, c *call, err error) {
	shown := d.shown(ctx, err)
	kind := kinds[shown.Code]
	if kind.status >= http.StatusInternalServerError {
		c.cause = err
	}
	if c.status != 0 { // the answer has begun; ServeHTTP cuts it off
		c.cause = err
		return
	}
	c.challenge(shown, d.origin(c.request)+metadataPath)
	c.Header().Del("Content-Length")
	if wait := shown.RetryAfter; wait > 0 || kind.retryable {
		c.Header().Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(wait.Seconds())))))
	}
	body, err := wire.Encode(c.problem(shown))
	if err != nil { // an extra member that cannot be written is a bug; the code still tells
		c.cause = errors.Join(c.cause, err)
		shown.Extra = nil
		body, _ = wire.Encode(c.problem(shown))
	}
	c.send(kind.status, problemType, body)
}

// aborted tells whether an answer failed after it had begun.
func (c *call) aborted() bool { return c.cause != nil && c.status < http.StatusBadRequest }

// shown is the error that may be shown.
func (d *door) shown(ctx context.Context, err error) *model.Error {
	var shown *model.Error
	switch {
	case errors.As(err, &shown) && kinds[shown.Code].status != 0 && shown.Code != model.CodeInternal:
		return shown
	case errors.Is(err, context.DeadlineExceeded), ctx.Err() != nil, d.lost(ctx, err):
		return unavailable()
	default:
		return model.Fail(model.CodeInternal, "Something went wrong on our side. Name the request_id when you ask us about it.")
	}
}

func unavailable() *model.Error {
	e := model.Fail(model.CodeUnavailable, "Parapet cannot answer right now; nothing was lost. Try again in a moment.")
	e.RetryAfter = 2 * time.Second
	return e
}

func (c *call) problem(e *model.Error) problem {
	kind := kinds[e.Code]
	return problem{
		Type: "urn:parapet:problem:" + string(e.Code), Title: kind.title, Status: kind.status, Detail: e.Detail,
		Instance: c.instance, Code: string(e.Code), RequestID: c.id, Retryable: kind.retryable,
		ResourceID: e.ResourceID, Errors: e.Fields, Extra: e.Extra,
	}
}

// challenge is the WWW-Authenticate header of RFC 6750 section 3, with the address
// of the metadata that RFC 9728 section 5.1 adds.
func (c *call) challenge(e *model.Error, metadata string) {
	var says string
	switch e.Code { //nolint:exhaustive // the codes that are about the token
	case model.CodeTokenMissing, model.CodeTokenInvalid, model.CodeTokenExpired:
		says = `error="invalid_token"` // the contract's word for all three
	case model.CodeInsufficientScope:
		says = `error="insufficient_scope"`
		if scope, ok := e.Extra["scope"].(string); ok {
			says += `, scope="` + scope + `"`
		}
	default:
		return
	}
	c.Header().Set("WWW-Authenticate", "Bearer "+says+`, resource_metadata="`+metadata+`"`)
}
