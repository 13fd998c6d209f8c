package model_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model"
)

// domainError returns the domain's error; any other fails the test.
func domainError(t testing.TB, err error) *model.Error {
	t.Helper()
	ours := new(model.Error)
	require.Error(t, err)
	require.ErrorAs(t, err, &ours, "not an error of the domain")
	return ours
}

// fieldPointers returns the pointers of an error's members.
func fieldPointers(err *model.Error) []string {
	named := make([]string, len(err.Fields))
	for i, field := range err.Fields {
		named[i] = field.Pointer
	}
	return named
}
