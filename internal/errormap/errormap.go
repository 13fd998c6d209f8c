// Package errormap maps each domain error code to its HTTP status, title and
// retryability, for REST and GraphQL.
package errormap

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"time"

	"parapet/model/kernel/apperr"
)

// Meaning is the public meaning of an error code.
type Meaning struct {
	Status    int    // HTTP status
	Title     string // in a few words
	Retryable bool   // the same request may succeed later
}

// Codes of GraphQL only.
const (
	CodeQueryTooCostly  apperr.Code = "query_too_costly"
	CodeQueryNotTrusted apperr.Code = "query_not_trusted"
	CodeOriginRefused   apperr.Code = "origin_refused"
	CodeReadTooSlowly   apperr.Code = "read_too_slowly"
	// The code that clients of automatic persisted queries expect.
	CodePersistedQueryNotFound apperr.Code = "PERSISTED_QUERY_NOT_FOUND"
)

// meanings covers every code of the domain and of GraphQL; a test finds missing ones.
var meanings = map[apperr.Code]Meaning{
	apperr.CodeMalformedJSON:                  {http.StatusBadRequest, "The body is not valid JSON", false},
	apperr.CodeUnknownField:                   {http.StatusBadRequest, "The body has a member that does not exist", false},
	apperr.CodeDuplicateField:                 {http.StatusBadRequest, "The body has a member twice", false},
	apperr.CodeParameterInvalid:               {http.StatusBadRequest, "A parameter is not right", false},
	apperr.CodeCursorInvalid:                  {http.StatusBadRequest, "The cursor does not belong to this list", false},
	apperr.CodeIdempotencyKeyInvalid:          {http.StatusBadRequest, "The Idempotency-Key is not right", false},
	apperr.CodeTokenMissing:                   {http.StatusUnauthorized, "An access token is needed", false},
	apperr.CodeTokenInvalid:                   {http.StatusUnauthorized, "The access token is not valid", false},
	apperr.CodeTokenExpired:                   {http.StatusUnauthorized, "The access token has expired", false},
	apperr.CodeInsufficientScope:              {http.StatusForbidden, "The token does not allow this", false},
	apperr.CodeInsufficientUserAuthentication: {http.StatusUnauthorized, "The sign-in is too old", false},
	apperr.CodePartnerMismatch:                {http.StatusForbidden, "The request names another partner", false},
	apperr.CodePartnerDisabled:                {http.StatusForbidden, "The partner is disabled", false},
	apperr.CodeNotFound:                       {http.StatusNotFound, "Not found", false},
	apperr.CodeMethodNotAllowed:               {http.StatusMethodNotAllowed, "The method is not allowed here", false},
	apperr.CodeNotAcceptable:                  {http.StatusNotAcceptable, "No acceptable form of the answer exists", false},
	apperr.CodeBodyTooLarge:                   {http.StatusRequestEntityTooLarge, "The body is too large", false},
	apperr.CodeMediaTypeUnsupported:           {http.StatusUnsupportedMediaType, "The body is of the wrong type", false},
	apperr.CodeQuoteAlreadyBound:              {http.StatusConflict, "The quote is already bound", false},
	apperr.CodeQuoteExpired:                   {http.StatusConflict, "The quote has expired", false},
	apperr.CodeCapacityExceeded:               {http.StatusConflict, "There is no capacity left", false},
	apperr.CodeMoratoriumActive:               {http.StatusConflict, "No cover is sold here at the moment", false},
	apperr.CodeStateConflict:                  {http.StatusConflict, "The record's state does not allow this", false},
	apperr.CodeIdempotencyInFlight:            {http.StatusConflict, "The same request is still running", true},
	apperr.CodeVersionMismatch:                {http.StatusPreconditionFailed, "The record has changed", false},
	apperr.CodeValidationFailed:               {http.StatusUnprocessableEntity, "The request is not right", false},
	apperr.CodeProductUnknown:                 {http.StatusUnprocessableEntity, "There is no such product", false},
	apperr.CodeTriggerNotMet:                  {http.StatusUnprocessableEntity, "The trigger is not met", false},
	apperr.CodeRiskUninsurable:                {http.StatusUnprocessableEntity, "The risk cannot be insured", false},
	apperr.CodeLimitExhausted:                 {http.StatusUnprocessableEntity, "The limit is exhausted", false},
	apperr.CodePolicyNotInForce:               {http.StatusUnprocessableEntity, "The policy is not in force", false},
	apperr.CodeIdempotencyKeyReused:           {http.StatusUnprocessableEntity, "The Idempotency-Key was used for another request", false},
	apperr.CodeReferenceTaken:                 {http.StatusUnprocessableEntity, "The partner_reference is taken", false},
	CodeQueryTooCostly:                        {http.StatusUnprocessableEntity, "The query asks for too much", false},
	CodeQueryNotTrusted:                       {http.StatusForbidden, "The query is not one that this server runs", false},
	CodeOriginRefused:                         {http.StatusForbidden, "Pages of this origin may not connect", false},
	CodeReadTooSlowly:                         {http.StatusRequestTimeout, "The answer was read too slowly", true},
	CodePersistedQueryNotFound:                {http.StatusNotFound, "The persisted query is not known", true},
	apperr.CodeRateLimited:                    {http.StatusTooManyRequests, "Too many requests", true},
	apperr.CodeInternal:                       {http.StatusInternalServerError, "Something went wrong on our side", false},
	apperr.CodeUnavailable:                    {http.StatusServiceUnavailable, "Parapet cannot answer right now", true},
}

// IsRetryable reports whether the same request may succeed later: its code says so, or the
// error says when.
func IsRetryable(e *apperr.Error) bool { return e.RetryAfter > 0 || MeaningOf(e.Code).Retryable }

// MeaningOf returns the meaning of a code; the zero Meaning for an unknown one.
func MeaningOf(code apperr.Code) Meaning { return meanings[code] }

// Codes returns all codes, sorted.
func Codes() []apperr.Code { return slices.Sorted(maps.Keys(meanings)) }

// PublicError returns the error to show. A model.Error with a known code is shown as it
// is; every other error becomes internal, or unavailable when isLost reports a lost
// connection.
func PublicError(err error, lost func() bool) *apperr.Error {
	var shown *apperr.Error
	switch {
	case errors.As(err, &shown) && meanings[shown.Code].Status != 0 && shown.Code != apperr.CodeInternal:
		return shown
	case errors.Is(err, context.DeadlineExceeded), lost():
		return Unavailable()
	default:
		return apperr.Fail(apperr.CodeInternal, "Something went wrong on our side. Name the request_id when you ask us about it.")
	}
}

// Unavailable returns the error for a response that is temporarily impossible.
func Unavailable() *apperr.Error {
	e := apperr.Fail(apperr.CodeUnavailable, "Parapet cannot answer right now; nothing was lost. Try again in a moment.")
	e.RetryAfter = 2 * time.Second
	return e
}
