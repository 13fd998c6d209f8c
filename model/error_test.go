package model_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/apperr"
)

// domainError returns the domain's error; any other fails the test.
func domainError(t testing.TB, err error) *apperr.Error {
	t.Helper()
	ours := new(apperr.Error)
	require.Error(t, err)
	require.ErrorAs(t, err, &ours, "not an error of the domain")
	return ours
}

// fieldPointers returns the pointers of an error's members.
func fieldPointers(err *apperr.Error) []string {
	named := make([]string, len(err.Fields))
	for i, field := range err.Fields {
		named[i] = field.Pointer
	}
	return named
}
