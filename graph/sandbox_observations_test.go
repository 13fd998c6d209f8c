package graph_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/graph"
	"parapet/model"
	"parapet/model/modeltest"
)

// Every field about the sandbox fails with not_found on a server that allows no rehearsals,
// for partners and operators.
func TestServersWithoutRehearsalsHaveNoSandbox(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	service, err := model.New(model.Config{DB: d.DB, Queue: modeltest.Queue{}, Keys: modeltest.Keys()})
	require.NoError(t, err)
	d.handler, err = graph.New(graph.Config{Service: service})
	require.NoError(t, err)
	documents := map[string]string{
		"sandboxClock": `{ sandboxClock { now } }`, "sandboxRun": `{ sandboxRun(id: "run_01h455vb4pex5vsknk084sn02q") { id } }`, "sandboxRuns": `{ sandboxRuns { nodes { id } } }`, "sandboxChecklist": `{ sandboxChecklist { shown } }`,
		"moveSandboxClock":     `mutation { moveSandboxClock(input: {by: "P1D"}) { run { id } } }`,
		"replaySandboxEvent":   `mutation { replaySandboxEvent(input: {event: "us1000chhc"}) { run { id } } }`,
		"reportSandboxPayout":  `mutation { reportSandboxPayout(input: {payoutId: "pay_01h455vb4pex5vsknk084sn02q", outcome: SETTLE}) { payout { id } } }`,
		"resetSandbox":         `mutation { resetSandbox(input: {}) { run { id } } }`,
		"sendBadSignature":     `mutation { sendBadSignature(input: {endpointId: "whe_01h455vb4pex5vsknk084sn02q"}) { run { id } } }`,
		"rehearseObservations": `mutation { rehearseObservations(input: {observations: []}) { results { id } } }`,
	}
	schema := committedSchema()
	for _, root := range []string{"Query", "Mutation"} {
		for _, field := range schema.Types[root].Fields {
			if strings.Contains(strings.ToLower(field.Name+field.Type.Name()), "sandbox") {
				require.Contains(t, documents, field.Name)
			}
		}
	}
	for field, document := range documents {
		for _, who := range []string{"acme", "operator"} {
			require.Equal(t, "not_found", d.send(t, graphqlRequest{as: who, document: document}).errorCode(), "%s as %s", field, who)
		}
	}
}

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
