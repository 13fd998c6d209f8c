package rest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"

	"parapet/internal/errormap"
	"parapet/model/kernel/apperr"
	"parapet/model/wire"
)

// problem is an RFC 9457 problem document, the form of all errors.
type problem struct {
	Type       string            `json:"type" doc:"Address of the page about this kind of problem, relative to the server." example:"/docs/errors/validation_failed"`
	Title      string            `json:"title" doc:"What this kind of problem is, in a few words."`
	Status     int               `json:"status" doc:"The HTTP status."`
	Detail     string            `json:"detail" doc:"What is wrong with this request and what is allowed."`
	Instance   string            `json:"instance" doc:"The path that was called."`
	Code       string            `json:"code" doc:"Machine-readable kind of problem; decide by this member." example:"validation_failed"`
	RequestID  string            `json:"request_id" doc:"Give this when you ask us about the request; it is the X-Request-Id of the answer."`
	Retryable  bool              `json:"retryable" doc:"Whether the same request can succeed later."`
	ResourceID string            `json:"resource_id,omitzero" doc:"The record that the problem is about, if there is one."`
	Errors     []wire.FieldError `json:"errors,omitzero" doc:"Every member of the request that is wrong."`
	Extra      map[string]any    `json:",embed" hidden:"true"`
}

// writeProblem writes an error as a problem document. It shows only a model.Error; any
// other error is internal and its text is only logged.
func (s *server) writeProblem(ctx context.Context, c *requestContext, err error) {
	shown := s.publicError(ctx, err)
	s.reportDenial(c, shown, c.actor.Operation)
	kind := errormap.MeaningOf(shown.Code)
	c.refusal = shown
	if kind.Status >= http.StatusInternalServerError {
		c.cause = err
	}
	if c.status != 0 { // the response has begun; ServeHTTP aborts it
		c.cause = err
		return
	}
	s.setErrorHeaders(c, shown)
	c.Header().Del("Content-Length")
	body, err := wire.Encode(c.newProblem(shown))
	if err != nil { // an extra member that cannot be encoded is a bug; the code is still sent
		c.cause = errors.Join(c.cause, err)
		shown.Extra = nil
		body, _ = wire.Encode(c.newProblem(shown))
	}
	c.writeBody(kind.Status, problemType, body)
}

// setErrorHeaders writes the headers that state what to do after an error.
func (s *server) setErrorHeaders(c *requestContext, shown *apperr.Error) {
	c.setChallenge(shown, s.publicOrigin(c.request)+metadataPath)
	if errormap.IsRetryable(shown) {
		c.Header().Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(shown.RetryAfter.Seconds())))))
	}
}

// mustAbort reports whether a response failed after it had begun.
func (c *requestContext) mustAbort() bool {
	return c.cause != nil && !c.failureReported && c.status < http.StatusBadRequest
}

// reportDenial calls OnDenied for a missing permission, for the audit log.
func (s *server) reportDenial(c *requestContext, shown *apperr.Error, doing string) {
	switch shown.Code { //nolint:exhaustive // the codes of missing permissions
	case apperr.CodeInsufficientScope, apperr.CodePartnerMismatch, apperr.CodePartnerDisabled:
		if s.OnDenied != nil {
			actor := c.actor
			actor.Operation = doing
			s.OnDenied(actor, shown)
		}
	}
}

// publicError returns the error that the caller may see.
func (s *server) publicError(ctx context.Context, err error) *apperr.Error {
	return errormap.PublicError(err, func() bool { return ctx.Err() != nil || s.isConnectionLoss(ctx, err) })
}

func (c *requestContext) newProblem(e *apperr.Error) problem {
	kind := errormap.MeaningOf(e.Code)
	return problem{
		Type: "/docs/errors/" + string(e.Code), Title: kind.Title, Status: kind.Status, Detail: e.Detail,
		Instance: c.instance, Code: string(e.Code), RequestID: c.requestID, Retryable: errormap.IsRetryable(e),
		ResourceID: e.ResourceID, Errors: e.Fields, Extra: e.Extra,
	}
}

// setChallenge writes the WWW-Authenticate header of RFC 6750 section 3, with the
// metadata address of RFC 9728 section 5.1.
func (c *requestContext) setChallenge(e *apperr.Error, metadata string) {
	var says string
	switch e.Code { //nolint:exhaustive // the codes of token errors
	case apperr.CodeTokenMissing: // RFC 6750 section 3.1: no error code where there is no token
	case apperr.CodeTokenInvalid, apperr.CodeTokenExpired:
		says = `error="invalid_token"`
	case apperr.CodeInsufficientScope:
		says = `error="insufficient_scope"`
		if scope, ok := e.Extra["scope"].(string); ok {
			says += `, scope="` + scope + `"`
		}
	case apperr.CodeInsufficientUserAuthentication: // RFC 9470 section 3
		says = fmt.Sprintf(`error="insufficient_user_authentication", max_age=%v`, e.Extra["max_age"])
	default:
		return
	}
	if says != "" {
		says += ", "
	}
	c.Header().Set("WWW-Authenticate", "Bearer "+says+`resource_metadata="`+metadata+`"`)
}
