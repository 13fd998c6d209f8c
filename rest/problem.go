package rest

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"

	"parapet/internal/errormap"
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

// writeProblem writes an error as a problem document. Only a model.Error is shown;
// anything else is internal and its text stays in the log.
func (s *server) writeProblem(ctx context.Context, c *requestContext, err error) {
	shown := s.publicError(ctx, err)
	s.reportDenial(c, shown, c.actor.Operation)
	kind := errormap.MeaningOf(shown.Code)
	if kind.Status >= http.StatusInternalServerError {
		c.cause = err
	}
	if c.status != 0 { // the answer has begun; ServeHTTP cuts it off
		c.cause = err
		return
	}
	s.setErrorHeaders(c, shown)
	c.Header().Del("Content-Length")
	body, err := wire.Encode(c.newProblem(shown))
	if err != nil { // an extra member that cannot be written is a bug; the code still tells
		c.cause = errors.Join(c.cause, err)
		shown.Extra = nil
		body, _ = wire.Encode(c.newProblem(shown))
	}
	c.writeBody(kind.Status, problemType, body)
}

// setErrorHeaders writes the headers that tell what to do about a refusal.
func (s *server) setErrorHeaders(c *requestContext, shown *model.Error) {
	c.setChallenge(shown, s.publicOrigin(c.request)+metadataPath)
	if wait := shown.RetryAfter; wait > 0 || errormap.MeaningOf(shown.Code).Retryable {
		c.Header().Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(wait.Seconds())))))
	}
}

// mustAbort tells whether an answer failed after it had begun.
func (c *requestContext) mustAbort() bool {
	return c.cause != nil && !c.failureReported && c.status < http.StatusBadRequest
}

// reportDenial has the audit log hear of a permission that was missing.
func (s *server) reportDenial(c *requestContext, shown *model.Error, doing string) {
	switch shown.Code { //nolint:exhaustive // the codes that are about a permission
	case model.CodeInsufficientScope, model.CodePartnerMismatch, model.CodePartnerDisabled:
		if s.OnDenied != nil {
			actor := c.actor
			actor.Operation = doing
			s.OnDenied(actor, shown)
		}
	}
}

// publicError is the error that may be shown.
func (s *server) publicError(ctx context.Context, err error) *model.Error {
	return errormap.PublicError(err, func() bool { return ctx.Err() != nil || s.isConnectionLoss(ctx, err) })
}

func (c *requestContext) newProblem(e *model.Error) problem {
	kind := errormap.MeaningOf(e.Code)
	return problem{
		Type: "urn:parapet:problem:" + string(e.Code), Title: kind.Title, Status: kind.Status, Detail: e.Detail,
		Instance: c.instance, Code: string(e.Code), RequestID: c.requestID, Retryable: kind.Retryable,
		ResourceID: e.ResourceID, Errors: e.Fields, Extra: e.Extra,
	}
}

// setChallenge is the WWW-Authenticate header of RFC 6750 section 3, with the address
// of the metadata that RFC 9728 section 5.1 adds.
func (c *requestContext) setChallenge(e *model.Error, metadata string) {
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
