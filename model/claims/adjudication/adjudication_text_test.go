package adjudication

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/claims"
	"parapet/model/hazard/trigger"
)

func TestClaimAwaitsTheSourceOnlyWithoutAnotherReason(t *testing.T) {
	t.Parallel()
	require.True(t, onlyAwaitsSource([]string{string(claims.ReasonSourcePreliminary)}))
	require.False(t, onlyAwaitsSource([]string{string(claims.ReasonSourcePreliminary), string(claims.ReasonDuplicateEvent)}))
	require.False(t, onlyAwaitsSource([]string{string(claims.ReasonDuplicateEvent)}))
	require.False(t, onlyAwaitsSource(nil))
}

func TestDecisionSentencesHoldNoCodes(t *testing.T) {
	t.Parallel()
	for _, status := range []claims.ClaimStatus{claims.ClaimDeferred, claims.ClaimDeclined} {
		for _, reason := range slices.Concat(claims.OperatorReasons[status], []claims.ReasonCode{claims.ReasonSourceRetracted}) {
			sentence := decisionSentence(&claims.ClaimRow{Status: status, ReasonCodes: []string{string(reason)}}, trigger.Occurrence{})
			require.NotContains(t, sentence, "_", reason)
			require.NotContains(t, sentence, ": .", reason)
		}
	}
}
