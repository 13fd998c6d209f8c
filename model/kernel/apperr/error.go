package apperr

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"parapet/model/wire"
)

// Code is a machine-readable kind of failure. The list is closed (section 8 of the
// contract); each API maps every code once.
type Code string

// These are the contract's codes.
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
	// CodeInsufficientUserAuthentication is the error of RFC 9470.
	CodeInsufficientUserAuthentication Code = "insufficient_user_authentication"
	CodePartnerMismatch                Code = "partner_mismatch"
	CodePartnerDisabled                Code = "partner_disabled"
	CodeNotFound                       Code = "not_found"
	CodeMethodNotAllowed               Code = "method_not_allowed"
	CodeNotAcceptable                  Code = "not_acceptable"
	CodeBodyTooLarge                   Code = "body_too_large"
	CodeMediaTypeUnsupported           Code = "media_type_unsupported"
	CodeQuoteAlreadyBound              Code = "quote_already_bound"
	CodeQuoteExpired                   Code = "quote_expired"
	CodeCapacityExceeded               Code = "capacity_exceeded"
	CodeMoratoriumActive               Code = "moratorium_active"
	CodeStateConflict                  Code = "state_conflict"
	CodeIdempotencyInFlight            Code = "idempotency_in_flight"
	CodeVersionMismatch                Code = "version_mismatch"
	CodeValidationFailed               Code = "validation_failed"
	CodeProductUnknown                 Code = "product_unknown"
	CodeTriggerNotMet                  Code = "trigger_not_met"
	CodeRiskUninsurable                Code = "risk_uninsurable"
	CodeLimitExhausted                 Code = "limit_exhausted"
	CodePolicyNotInForce               Code = "policy_not_in_force"
	CodeIdempotencyKeyReused           Code = "idempotency_key_reused"
	CodeReferenceTaken                 Code = "reference_taken"
	CodeRateLimited                    Code = "rate_limited"
	CodeInternal                       Code = "internal"
	CodeUnavailable                    Code = "unavailable"
)

// FieldError is one invalid member of the request.
type FieldError = wire.FieldError

// NewFieldError describes one invalid member: its pointer, the code and what would be
// valid.
func NewFieldError(pointer, code, detail string) FieldError {
	return FieldError{Pointer: BoundPointer(pointer), Code: code, Detail: detail}
}

// Error is the only error type that APIs show. Detail is for the partner; the wrapped
// cause is only logged.
type Error struct {
	Code       Code
	Detail     string
	ResourceID string         // the record that the error is about, if one exists
	Fields     []FieldError   // for validation_failed: all invalid members
	Extra      map[string]any // more public members, such as the index of trigger_not_met
	RetryAfter time.Duration  // when to try again, zero for never
	cause      error
}

// Error returns the text for the log: code, detail and cause.
func (e *Error) Error() string {
	if e.cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Detail, e.cause)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Detail)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// Fail returns an error with a code and a detail for the partner.
func Fail(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// WithCause adds the cause, which is only logged.
func (e *Error) WithCause(cause error) *Error { e.cause = cause; return e }

// MaxFieldErrors is the maximum number of invalid members in a response.
const MaxFieldErrors = 100

// FailFields returns an error about members, ordered by pointer, without duplicates and
// limited to MaxFieldErrors. one is the detail for a single member; many takes their
// number.
func FailFields(code Code, one, many string, fields ...FieldError) *Error {
	fields = SortFieldErrors(fields)
	switch {
	case len(fields) > MaxFieldErrors:
		e := Fail(code, many+"; errors names %d of them.", fmt.Sprintf("more than %d", MaxFieldErrors), MaxFieldErrors)
		e.Fields = fields[:MaxFieldErrors]
		return e
	case len(fields) > 1:
		one = fmt.Sprintf(many, strconv.Itoa(len(fields))) + "; see errors"
	}
	return &Error{Code: code, Detail: one + ".", Fields: fields}
}

// SortFieldErrors sorts by pointer, in place.
func SortFieldErrors(fields []FieldError) []FieldError {
	fields = slices.Clone(fields)
	slices.SortFunc(fields, func(a, b FieldError) int {
		return cmp.Or(comparePointers(a.Pointer, b.Pointer), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Detail, b.Detail))
	})
	return slices.Compact(fields)
}

// Invalid returns validation_failed with every invalid member.
func Invalid(fields ...FieldError) *Error {
	return FailFields(CodeValidationFailed, "The request has a member that is not right; see errors", "The request has %s members that are not right", fields...)
}

// BadParameter returns parameter_invalid with every invalid parameter; the pointers treat
// the parameters as one object.
func BadParameter(fields ...FieldError) *Error {
	one := ""
	if len(fields) == 1 {
		one = strings.TrimSuffix(fields[0].Detail, ".")
		if name := strings.TrimPrefix(fields[0].Pointer, "/"); name != "" {
			one = "The parameter " + name + " is not right: " + one
		}
	}
	return FailFields(CodeParameterInvalid, one, "%s parameters are not right", fields...)
}

// InvalidParameter returns parameter_invalid for a query parameter or an argument.
func InvalidParameter(name, detail string) *Error {
	return BadParameter(NewFieldError(JSONPointer(name), "value", detail))
}

// CodeOf returns the code of an error; an error of another type has the code internal.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}
