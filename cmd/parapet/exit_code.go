package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/spf13/cobra"

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
4 refused (the request is wrong or not allowed), 5 the server or its database cannot be reached or has failed.`

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
	case errors.As(err, new(*url.Error)), errors.As(err, new(*pgconn.ConnectError)),
		errors.As(err, &refused) && refused.status >= http.StatusInternalServerError,
		errors.As(err, &known) && known.Code == apperr.CodeUnavailable:
		return exitUnreachable
	case refused != nil, errors.As(err, new(operationError)), known != nil && known.Code != apperr.CodeInternal:
		return exitRefused
	}
	return exitFailed
}

// databaseError replaces the text of an error whose cause is that no connection to the
// database could be opened.
type databaseError struct {
	text  string
	cause error
}

// Error returns what is wrong with the connection.
func (e *databaseError) Error() string { return e.text }

// Unwrap returns the error with all causes.
func (e *databaseError) Unwrap() error { return e.cause }

// withDatabaseText states why the database cannot be used, if that is the cause of an error.
func withDatabaseText(err error) error {
	failed := new(pgconn.ConnectError)
	switch {
	case !errors.As(err, &failed):
		return err
	case errors.Is(err, pgconn.ErrReadOnlyConnection):
		return &databaseError{fmt.Sprintf("the database at %s is a standby or read-only: name the primary in DATABASE_URL", failed.Config.Host), err}
	}
	return &databaseError{"the database cannot be reached: " + oneLine(failed.Error()), err}
}

// requireFlags returns a usageError that names the flags without a value. A name may be
// two flags, "--policy or --policyholder", of which one suffices.
func requireFlags(cmd *cobra.Command, names ...string) error {
	return missingFlags(cmd, slices.DeleteFunc(names, func(name string) bool {
		return slices.ContainsFunc(strings.Split(name, " or "), func(flag string) bool {
			return cmd.Flags().Lookup(strings.TrimPrefix(flag, "--")).Value.String() != ""
		})
	}))
}

// missingFlags returns a usageError that names missing flags, nil without any.
func missingFlags(cmd *cobra.Command, names []string) error {
	if len(names) == 0 {
		return nil
	}
	return usageError{fmt.Errorf("%s needs %s; %s --help describes them", cmd.Name(), strings.Join(names, ", "), cmd.CommandPath())}
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
