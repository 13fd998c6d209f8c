package main

import (
	"encoding/csv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
)

func TestStatementCommand(t *testing.T) {
	b := modeltest.New(t)
	b.QuoteAndBind("quake-circle", nil)
	t.Setenv("DATABASE_URL", b.URL)
	var out strings.Builder
	require.NoError(t, runCommand(t.Context(), []string{"statement", "--partner", "acme", "--from", "2020-01-31"}, &out))
	records, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
	require.NoError(t, err)
	require.Len(t, records, 1+4+4, "head, the bind, the balances")
	out.Reset()
	require.NoError(t, runCommand(t.Context(), []string{"statement", "--partner", "globex"}, &out))
	require.Equal(t, 1, strings.Count(out.String(), "\n"), "the head alone")
	for flaw, args := range map[string][]string{
		"neither a day": {"--to", "soon"}, "no partner": {"--partner", "acne"}, "ISO 4217": {"--currency", "usd"}, "before to": {"--from", "2020-01-02", "--to", "2020-01-01"},
		"policy's id": {"--policy", "x"}, "takes no argument": {"acme"},
	} {
		require.ErrorContains(t, runCommand(t.Context(), append([]string{"statement"}, args...), &out), flaw)
	}
}
