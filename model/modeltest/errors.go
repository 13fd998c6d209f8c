package modeltest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/apperr"
)

// DomainError returns the error as one of the domain; any other fails the test.
func DomainError(t testing.TB, err error) *apperr.Error {
	t.Helper()
	ours := new(apperr.Error)
	require.Error(t, err)
	require.ErrorAs(t, err, &ours, "not an error of the domain")
	return ours
}

// FieldPointers returns the pointers of an error's members.
func FieldPointers(err *apperr.Error) []string {
	named := make([]string, len(err.Fields))
	for i, field := range err.Fields {
		named[i] = field.Pointer
	}
	return named
}

// Must returns the value and panics on an error.
func Must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
