package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDemoPrintsTheLinesOfTheReadme compares the demo's output with the README. An
// ellipsis matches an id.
func TestDemoPrintsTheLinesOfTheReadme(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, runCommand(t.Context(), []string{"demo"}, &out))
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, shown, found := strings.Cut(string(readme), "its main lines:\n\n```\n")
	require.True(t, found)
	shown, _, found = strings.Cut(shown, "```")
	require.True(t, found)
	printed := strings.Join(strings.Fields(out.String()), " ")
	for line := range strings.Lines(shown) {
		for part := range strings.SplitSeq(line, "…") {
			require.Contains(t, printed, strings.Join(strings.Fields(part), " "))
		}
	}
	for _, other := range []string{"trigger.observed", "payout.released", "make dev"} {
		require.Contains(t, printed, other)
	}
}
