package main

import (
	"encoding/csv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
)

func TestAStatementFromAShell(t *testing.T) {
	b := modeltest.New(t)
	b.Cover("quake-circle", nil)
	t.Setenv("DATABASE_URL", b.URL)
	var out strings.Builder
	require.NoError(t, run(t.Context(), []string{"statement", "--partner", "acme", "--from", "2020-01-31"}, &out))
	records, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
	require.NoError(t, err)
	require.Len(t, records, 1+4+4, "head, the bind, the balances")
	out.Reset()
	require.NoError(t, run(t.Context(), []string{"statement", "--partner", "globex"}, &out))
	require.Equal(t, 1, strings.Count(out.String(), "\n"), "the head alone")
	require.ErrorContains(t, run(t.Context(), []string{"statement", "--to", "soon"}, &out), "no day")
}
