package model

import (
	"errors"
	"fmt"
	"time"

	"parapet/model/wire"
)

// Code is a machine-readable kind of failure. The list is closed and is the
// contract's section 8; each door maps it once.
type Code string

// The contract's codes.
const (
	CodeMalformedJSON         Code = "malformed_json"
	CodeUnknownField          Code = "unknown_field"
	CodeDuplicateField        Code = "duplicate_field"
	CodeParameterInvalid      Code = "parameter_invalid"
	CodeCursorInvalid         Code = "cursor_invalid"
	CodeIdempotencyKeyInvalid Code = "idempotency_key_invalid"
	CodeTokenMissing          Code = "token_missing"
	CodeTokenInvalid          Code = "token_invalid"
	CodeTokenExpired          Code = "token_expired"
	CodeInsufficientScope     Code = "insufficient_scope"
	CodePartnerMismatch       Code = "partner_mismatch"
	CodePartnerDisabled       Code = "partner_disabled"
	CodeNotFound              Code = "not_found"
	CodeMethodNotAllowed      Code = "method_not_allowed"
	CodeNotAcceptable         Code = "not_acceptable"
	CodeBodyTooLarge          Code = "body_too_large"
	CodeMediaTypeUnsupported  Code = "media_type_unsupported"
	CodeQuoteAlreadyBound     Code = "quote_already_bound"
	CodeQuoteExpired          Code = "quote_expired"
	CodeCapacityExceeded      Code = "capacity_exceeded"
	CodeMoratoriumActive      Code = "moratorium_active"
	CodeStateConflict         Code = "state_conflict"
	CodeIdempotencyInFlight   Code = "idempotency_in_flight"
	CodeVersionMismatch       Code = "version_mismatch"
	CodeValidationFailed      Code = "validation_failed"
	CodeProductUnknown        Code = "product_unknown"
	CodeTriggerNotMet         Code = "trigger_not_met"
	CodeRiskUninsurable       Code = "risk_uninsurable"
	CodeLimitExhausted        Code = "limit_exhausted"
	CodePolicyNotInForce      Code = "policy_not_in_force"
	CodeIdempotencyKeyReused  Code = "idempotency_key_reused"
	CodeReferenceTaken        Code = "reference_taken"
	CodeRateLimited           Code = "rate_limited"
	CodeInternal              Code = "internal"
	CodeUnavailable           Code = "unavailable"
)

// FieldError is one member of the request that is wrong.
type FieldError = wire.FieldError

// wrong is one member that is wrong: where, in which way, and what would be right.
func wrong(pointer, code, detail string) FieldError {
	return FieldError{Pointer: pointer, Code: code, Detail: detail}
}

// Error is the only error a door shows. Detail is the partner's sentence; the
// wrapped cause is the log's and never leaves.
type Error struct {
	Code       Code
	Detail     string
	ResourceID string         // the record the error is about, where one exists
	Fields     []FieldError   // for validation_failed, all at once
	Extra      map[string]any // further public members, such as trigger_not_met's index
	RetryAfter time.Duration  // when trying again makes sense
	cause      error
}

// Error is the log's text: code, sentence and cause.
func (e *Error) Error() string {
	if e.cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Detail, e.cause)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Detail)
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.cause }

// Fail makes an error with a code and the partner's sentence.
func Fail(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// Because adds the cause for the log.
func (e *Error) Because(cause error) *Error { e.cause = cause; return e }

// Invalid is validation_failed with every wrong member.
func Invalid(fields ...FieldError) *Error {
	detail := "The request has a member that is not right; see errors."
	if len(fields) > 1 {
		detail = fmt.Sprintf("The request has %d members that are not right; see errors.", len(fields))
	}
	return &Error{Code: CodeValidationFailed, Detail: detail, Fields: fields}
}

// CodeOf is the code of an error; anything that is not ours is internal.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}
