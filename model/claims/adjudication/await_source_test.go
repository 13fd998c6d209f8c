package adjudication

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/claims"
)

func TestClaimAwaitsTheSourceOnlyWithoutAnotherReason(t *testing.T) {
	t.Parallel()
	require.True(t, onlyAwaitsSource([]string{string(claims.ReasonSourcePreliminary)}))
	require.False(t, onlyAwaitsSource([]string{string(claims.ReasonSourcePreliminary), string(claims.ReasonDuplicateEvent)}))
	require.False(t, onlyAwaitsSource([]string{string(claims.ReasonDuplicateEvent)}))
	require.False(t, onlyAwaitsSource(nil))
}
