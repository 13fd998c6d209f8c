package model

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/trigger"
)

func TestDecisionSentencesHoldNoCodes(t *testing.T) {
	t.Parallel()
	for _, status := range []ClaimStatus{ClaimDeferred, ClaimDeclined} {
		for _, reason := range slices.Concat(operatorReasons[status], []ReasonCode{ReasonSourceRetracted}) {
			sentence := decisionSentence(&claimRow{Status: status, ReasonCodes: []string{string(reason)}}, trigger.Occurrence{})
			require.NotContains(t, sentence, "_", reason)
			require.NotContains(t, sentence, ": .", reason)
		}
	}
}
