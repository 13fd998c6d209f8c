package model_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model"
)

// domainError is the domain's error; any other is a test failure.
func domainError(t testing.TB, err error) *model.Error {
	t.Helper()
	ours := new(model.Error)
	require.Error(t, err)
	require.ErrorAs(t, err, &ours, "not an error of the domain")
	return ours
}

// fieldPointers are the members an error names.
func fieldPointers(err *model.Error) []string {
	named := make([]string, len(err.Fields))
	for i, field := range err.Fields {
		named[i] = field.Pointer
	}
	return named
}
