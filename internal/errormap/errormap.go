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

	"parapet/model"
)

// Meaning is the public meaning of an error code.
type Meaning struct {
	Status    int    // HTTP status
	Title     string // in a few words
	Retryable bool   // the same request may succeed later
}

// Codes of GraphQL only.
const (
	CodeQueryTooCostly  model.Code = "query_too_costly"
	CodeQueryNotTrusted model.Code = "query_not_trusted"
	CodeOriginRefused   model.Code = "origin_refused"
	CodeReadTooSlowly   model.Code = "read_too_slowly"
	// The code that clients of automatic persisted queries expect.
	CodePersistedQueryNotFound model.Code = "PERSISTED_QUERY_NOT_FOUND"
)

// meanings covers every code of the domain and of GraphQL; a test finds missing ones.
var meanings = map[model.Code]Meaning{
	model.CodeMalformedJSON:         {http.StatusBadRequest, "The body is not valid JSON", false},
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
	CodeQueryTooCostly:              {http.StatusUnprocessableEntity, "The query asks for too much", false},
	CodeQueryNotTrusted:             {http.StatusForbidden, "The query is not one that this server runs", false},
	CodeOriginRefused:               {http.StatusForbidden, "Pages of this origin may not connect", false},
	CodeReadTooSlowly:               {http.StatusRequestTimeout, "The answer was read too slowly", true},
	CodePersistedQueryNotFound:      {http.StatusNotFound, "The persisted query is not known", true},
	model.CodeRateLimited:           {http.StatusTooManyRequests, "Too many requests", true},
	model.CodeInternal:              {http.StatusInternalServerError, "Something went wrong on our side", false},
	model.CodeUnavailable:           {http.StatusServiceUnavailable, "Parapet cannot answer right now", true},
}

// MeaningOf returns the meaning of a code; the zero Meaning for an unknown one.
func MeaningOf(code model.Code) Meaning { return meanings[code] }

// Codes returns all codes, sorted.
func Codes() []model.Code { return slices.Sorted(maps.Keys(meanings)) }

// PublicError returns the error to show. A model.Error with a known code is shown as it
// is; every other error becomes internal, or unavailable when isLost reports a lost
// connection.
func PublicError(err error, lost func() bool) *model.Error {
	var shown *model.Error
	switch {
	case errors.As(err, &shown) && meanings[shown.Code].Status != 0 && shown.Code != model.CodeInternal:
		return shown
	case errors.Is(err, context.DeadlineExceeded), lost():
		return Unavailable()
	default:
		return model.Fail(model.CodeInternal, "Something went wrong on our side. Name the request_id when you ask us about it.")
	}
}

// Unavailable returns the error for a response that is temporarily impossible.
func Unavailable() *model.Error {
	e := model.Fail(model.CodeUnavailable, "Parapet cannot answer right now; nothing was lost. Try again in a moment.")
	e.RetryAfter = 2 * time.Second
	return e
}
