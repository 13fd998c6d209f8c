package graph_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSandboxObservationsAffectOwnPoliciesOnly(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	policy := d.QuoteAndBind("quake-circle", map[string]any{"location": map[string]any{"latitude": hualien.Latitude, "longitude": hualien.Longitude}})
	d.AdvanceClock(time.Hour)
	const rehearse = `mutation($in: RehearseObservationsInput!) { rehearseObservations(input: $in) { clientMutationId results { result id errors { detail } } } }`
	in := map[string]any{"in": map[string]any{"clientMutationId": "k1", "observations": []any{map[string]any{
		"source": "usgs", "sourceEventId": "drill", "kind": "EARTHQUAKE", "occurredAt": d.Now().Add(-time.Minute), "stage": "FINAL",
		"location": map[string]any{"latitude": hualien.Latitude, "longitude": hualien.Longitude},
		"measures": []any{map[string]any{"name": "magnitude", "value": "7.1", "unit": "mw"}, map[string]any{"name": "depth", "value": "10", "unit": "km"}},
	}}}}
	made := d.queryData(t, rehearse, in)
	require.Equal(t, made, d.queryData(t, rehearse, in), "sent again")
	result := made["rehearseObservations"].(map[string]any)["results"].([]any)[0].(map[string]any)
	require.Equal(t, "CREATED", result["result"])
	d.RunJobs()
	require.Equal(t, "drill", d.OnlyClaim(policy).Occurrence.SourceEventID)
	const seen = `query($id: ID!) { node(id: $id) { id } }`
	require.NotNil(t, d.queryData(t, seen, map[string]any{"id": result["id"]})["node"])
	require.Nil(t, d.queryDataAs(t, "globex", seen, map[string]any{"id": result["id"]})["node"])
	for _, who := range []string{"operator", "source", "unscoped"} {
		require.Equal(t, "insufficient_scope", d.send(t, graphqlRequest{as: who, document: rehearse, variables: in}).errorCode(), who)
	}
}
