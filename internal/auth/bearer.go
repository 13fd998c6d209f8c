package auth

import (
	"strings"

	"parapet/model/kernel/apperr"
)

// maxTokenBytes limits a token, in bytes: real ones have about 1 KiB, and a caller must
// not choose how much is hashed, decoded and verified.
const maxTokenBytes = 8 << 10

// token68Characters are the characters of RFC 6750 section 2.1; padding follows them.
const token68Characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/"

// BearerFrom reads the token from the values of the request's Authorization header. No
// value or another scheme is token_missing; two values, or invalid characters, are
// token_invalid. It reads only the header because a token in an address would be logged.
func BearerFrom(headers ...string) (string, error) {
	switch {
	case len(headers) == 0 || len(headers) == 1 && headers[0] == "":
		return "", errTokenMissing()
	case len(headers) > 1:
		return "", apperr.Fail(apperr.CodeTokenInvalid, "The request has more than one Authorization header.")
	}
	scheme, token, _ := strings.Cut(headers[0], " ") // case-insensitive: RFC 9110 section 11.1
	if !strings.EqualFold(scheme, "bearer") {
		return "", errTokenMissing()
	}
	if len(headers[0]) > maxTokenBytes {
		return "", errTokenInvalid("it is longer than %d bytes", maxTokenBytes)
	}
	token = strings.TrimLeft(token, " ")
	if bare := strings.TrimRight(token, "="); bare == "" || strings.Trim(bare, token68Characters) != "" {
		return "", errTokenInvalid("the Authorization header is not of the form Bearer TOKEN")
	}
	return token, nil
}

func errTokenMissing() *apperr.Error {
	return apperr.Fail(apperr.CodeTokenMissing, "The request has no access token: send the header Authorization: Bearer TOKEN.")
}

func errTokenInvalid(reason string, args ...any) *apperr.Error {
	return apperr.Fail(apperr.CodeTokenInvalid, "The access token is not valid: "+reason+".", args...)
}
