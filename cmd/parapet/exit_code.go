package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"parapet/model/kernel/apperr"
)

// The exit codes of the command line.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitNotChecked  = 3
	exitRefused     = 4
	exitUnreachable = 5
)

const exitCodeHelp = `Exit codes: 0 done, 1 failed, 2 the command line is wrong, 3 verify: right as far as it could be checked,
4 refused (the request is wrong or not allowed), 5 the server cannot be reached or has failed.`

// usageError is an error of the command line itself.
type usageError struct{ error }

// Unwrap returns what is wrong.
func (e usageError) Unwrap() error { return e.error }

// operationError is an error that the server answered.
type operationError struct{ error }

// Unwrap returns what the server answered.
func (e operationError) Unwrap() error { return e.error }

// exitCode returns the exit code of a failed command.
func exitCode(err error) int {
	var refused *statusError
	var known *apperr.Error
	switch {
	case errors.As(err, new(usageError)):
		return exitUsage
	case errors.Is(err, errNotChecked):
		return exitNotChecked
	case errors.As(err, new(*url.Error)), errors.As(err, &refused) && refused.status >= http.StatusInternalServerError:
		return exitUnreachable
	case refused != nil, errors.As(err, new(operationError)), errors.As(err, &known) && known.Code != apperr.CodeInternal:
		return exitRefused
	}
	return exitFailed
}

// withFieldErrors adds every field error of a domain error to its text for the terminal.
func withFieldErrors(err error) error {
	var known *apperr.Error
	if !errors.As(err, &known) || len(known.Fields) == 0 {
		return err
	}
	return withFields(err, known.Fields)
}

func withFields(err error, fields []apperr.FieldError) error {
	var lines strings.Builder
	for _, field := range fields {
		lines.WriteString("\n  " + field.Pointer + ": " + field.Detail)
	}
	return fmt.Errorf("%w%s", err, lines.String())
}
