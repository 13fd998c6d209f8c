package graph_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
)

const decideChallenge = `mutation($in: DecideChallengeInput!) { decideChallenge(input: $in) { claim { status amount { amount }
	measurementState { selectedSource longStopAt sources { source state index { value } amount { amount } } challenge { status reasonCodes } } } } }`

func TestOperatorDecidesChallenge(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	claim := modeltest.NewApprovedClaim(d.Bundle)
	in := map[string]any{"in": map[string]any{"claimId": claim.ID, "reason": "It was stronger here."}}
	opened := d.queryDataAs(t, "acme", `mutation($in: ChallengeClaimInput!) { challengeClaim(input: $in) { claim { measurementState { challenge { status decidedAt reasonCodes } } } } }`, in)
	require.Equal(t, map[string]any{"status": "OPEN", "decidedAt": nil, "reasonCodes": []any{}}, dig(t, opened, "challengeClaim", "claim", "measurementState", "challenge"))
	variables := map[string]any{"in": map[string]any{"claimId": claim.ID, "outcome": "ACCEPTED", "furtherAmount": map[string]any{"amount": 5_000, "currency": "USD"}, "note": "Seen."}}
	refused := d.send(t, graphqlRequest{as: "acme", document: decideChallenge, variables: variables})
	require.Equal(t, "insufficient_scope", refused.errorCode())
	decided := d.queryDataAs(t, "operator", decideChallenge, variables)
	require.Equal(t, map[string]any{"status": "ACCEPTED", "reasonCodes": []any{"CHALLENGE_ACCEPTED"}}, dig(t, decided, "decideChallenge", "claim", "measurementState", "challenge"))
	require.Equal(t, "usgs", dig(t, decided, "decideChallenge", "claim", "measurementState", "selectedSource"))
	require.EqualValues(t, claim.Amount.Amount+5_000, dig(t, decided, "decideChallenge", "claim", "amount", "amount"))
}
