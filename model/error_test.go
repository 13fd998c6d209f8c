package model_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model"
)

// failure is the domain's error; any other is a test failure.
func failure(t testing.TB, err error) *model.Error {
	t.Helper()
	ours := new(model.Error)
	require.Error(t, err)
	require.ErrorAs(t, err, &ours, "not an error of the domain")
	return ours
}

// pointers are the members an error names.
func pointers(err *model.Error) []string {
	named := make([]string, len(err.Fields))
	for i, field := range err.Fields {
		named[i] = field.Pointer
	}
	return named
}
