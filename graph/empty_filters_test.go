package graph_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/operations"
)

func TestEmptyFilterValuesAreRefused(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	for field, pointer := range map[string]string{
		`claims(filter: {policyId: ""}) { totalCount }`:                   "/filter/policyId",
		`claims(filter: {policyReference: ""}) { totalCount }`:            "/filter/policyReference",
		`quotes(filter: {partnerReference: ""}) { totalCount }`:           "/filter/partnerReference",
		`policies(filter: {product: ""}) { totalCount }`:                  "/filter/product",
		`payouts(filter: {partner: ""}) { totalCount }`:                   "/filter/partner",
		`events(filter: {subject: "", partner: "acme"}) { nodes { id } }`: "/filter/subject",
		`auditLog(filter: {operation: ""}) { nodes { at } }`:              "/filter/operation",
		`observations(filter: {occurrenceId: ""}) { nodes { id } }`:       "/filter/occurrenceId",
		`portfolio(partner: "") { asOf }`:                                 "/partner",
		`ledger(policyId: "") { account }`:                                "/policyId",
	} {
		out := d.send(t, graphqlRequest{as: "operator", document: "{ " + field + " }"})
		require.Equal(t, "parameter_invalid", out.errorCode(), "%s %s", field, out.body)
		require.Equal(t, pointer, out.Errors[0].Extensions.Errors[0].Pointer)
	}
	out := d.send(t, graphqlRequest{document: `query($reference: String!) { claims(filter: {partnerReference: $reference}) { totalCount } }`, variables: map[string]any{"reference": ""}})
	require.Equal(t, "parameter_invalid", out.errorCode())
	require.Contains(t, out.Errors[0].Message, "filter.partnerReference")
	require.Empty(t, d.send(t, graphqlRequest{document: `{ claims(after: "", filter: {policyId: null}) { totalCount } }`}).Errors)
	require.Empty(t, d.send(t, graphqlRequest{document: `{ claims(filter: {statuses: []}) { totalCount } }`}).Errors, "an empty list is no filter")
}

// noJobs administers a queue that must not be reached.
type noJobs struct{ operations.JobAdmin }

func TestJobsAreNotChangedByAnEmptyFilterValue(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.Service.Operations = operations.New(d.Service.Operations.Store, noJobs{})
	for _, mutation := range []string{"retryJobs", "cancelJobs"} {
		for filter, pointer := range map[string]string{`ids: []`: "/input/filter/ids", `kind: ""`: "/input/filter/kind"} {
			out := d.send(t, graphqlRequest{as: "operator", document: `mutation { ` + mutation + `(input: {reason: "test", filter: {state: COMPLETED, ` + filter + `}}) { matched } }`})
			require.Equal(t, "validation_failed", out.errorCode(), out.body)
			require.Equal(t, pointer, out.Errors[0].Extensions.Errors[0].Pointer)
		}
	}
}
