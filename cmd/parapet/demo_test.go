package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDemoRunsFromQuoteToPayout(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, runCommand(t.Context(), []string{"demo"}, &out))
	for _, sentence := range []string{
		"19 would have paid", "is approved", "6.4 mw", "21.98 km", "20,000.00 USD", "is released", "trigger.observed", "payout.released", "make dev",
	} {
		require.Contains(t, out.String(), sentence)
	}
}
