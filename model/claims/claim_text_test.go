package claims

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard/trigger"
	"parapet/model/underwriting"
)

func TestDecisionSentencesHoldNoCodes(t *testing.T) {
	t.Parallel()
	for _, status := range []ClaimStatus{ClaimDeferred, ClaimDeclined} {
		for _, reason := range slices.Concat(OperatorReasons[status], []ReasonCode{ReasonSourceRetracted}) {
			sentence := DecisionSentence(new(underwriting.PolicyRow), &ClaimRow{Status: status, ReasonCodes: []string{string(reason)}}, trigger.Occurrence{})
			require.NotContains(t, sentence, "_", reason)
			require.NotContains(t, sentence, ": .", reason)
		}
	}
}
