package graph_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
)

// operatorsOnly are the queries and mutations that are for operators only, each with its
// required arguments.
func operatorsOnly(s *ast.Schema) map[string]string {
	all := map[string]string{}
	for keyword, root := range map[string]*ast.Definition{"query": s.Query, "mutation": s.Mutation} {
		for _, field := range root.Fields {
			if strings.Contains(strings.Join(strings.Fields(field.Description), " "), "Scope operator") {
				all[field.Name] = fieldPlace{field: field, way: keyword + " { ", depth: 1}.document(documentWriter{schema: s})
			}
		}
	}
	return all
}

func TestOperatorMutationsRequireOperator(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	before := d.CountRows()
	documents := operatorsOnly(loadCommittedSchema(t))
	for _, verb := range []string{
		"decideClaim", "publishProduct", "registerPartner", "disablePartner", "enablePartner", "blockPayout", "unblockPayout",
		"approvePayout", "releasePayout", "resolvePayout", "settlePayoutExternally", "reconcile", "closeReconciliationException", "setCapacity", "declareMoratorium", "liftMoratorium", "setMoratoriumRule", "adoptRail", "registerSource", "mergeOccurrences", "splitOccurrences", "setPartnerTerms", "retireProduct",
		"loadPriceHistory", "retirePriceHistory", "registerStation",
	} {
		require.Contains(t, documents, verb)
	}
	for name, document := range documents {
		for _, who := range []string{"acme", "globex", "source", "unscoped"} {
			got := d.send(t, graphqlRequest{as: who, document: document})
			require.Len(t, got.Errors, 1, name)
			require.Equal(t, "insufficient_scope", got.errorCode(), name)
			require.Equal(t, 403, got.Errors[0].Extensions.Status, name)
		}
	}
	require.Equal(t, before, d.CountRows())
}

func TestPartnersOverGraphQL(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	register := `mutation($in: RegisterPartnerInput!) { registerPartner(input: $in) { clientMutationId partner { slug name status version } } }`
	in := map[string]any{"in": map[string]any{"slug": "initech", "name": "Initech", "clientMutationId": "m1"}}
	made := d.queryDataAs(t, "operator", register, in)["registerPartner"]
	require.Equal(t, map[string]any{"slug": "initech", "name": "Initech", "status": "ENABLED", "version": 1.0}, made.(map[string]any)["partner"])
	require.Equal(t, made, d.queryDataAs(t, "operator", register, in)["registerPartner"], "sent again")

	switched := func(verb, slug string) any {
		document := fmt.Sprintf(`mutation { %s(input: {slug: %q, reason: "The contract ended."}) { partner { status } } }`, verb, slug)
		return d.queryDataAs(t, "operator", document, nil)[verb].(map[string]any)["partner"].(map[string]any)["status"]
	}
	quote := graphqlRequest{document: `mutation { createQuote(input: {product: "quake-circle", context: {partner: "acme"}}) { quote { id } } }`}
	require.Equal(t, "DISABLED", switched("disablePartner", "acme"))
	require.Equal(t, "partner_disabled", d.send(t, quote).errorCode())
	require.Equal(t, "ENABLED", switched("enablePartner", "acme"))
	require.Empty(t, d.send(t, quote).Errors)

	terms := d.queryDataAs(t, "operator", `mutation { setPartnerTerms(input: {slug: "acme", products: ["cyclone-circle"], commissionShare: "0.05", maximumLimits: [{amount: 100, currency: "USD"}],
		requestsPerSecond: 7, contacts: [{name: "Ann", email: "ann@example.com"}], reason: "The new contract."}) {
		partner { version terms { products commissionShare maximumLimits { amount currency } requestsPerSecond requestBurst contacts { name email } } } } }`, nil)
	require.Equal(t, map[string]any{
		"products": []any{"cyclone-circle"}, "commissionShare": "0.05", "maximumLimits": []any{map[string]any{"amount": 100.0, "currency": "USD"}},
		"requestsPerSecond": 7.0, "requestBurst": nil, "contacts": []any{map[string]any{"name": "Ann", "email": "ann@example.com"}},
	}, terms["setPartnerTerms"].(map[string]any)["partner"].(map[string]any)["terms"])
	require.Equal(t, "product_unknown", d.send(t, quote).errorCode())
	d.queryDataAs(t, "operator", `mutation { setPartnerTerms(input: {slug: "acme", reason: "The contract ended."}) { partner { slug } } }`, nil)
	require.Empty(t, d.send(t, quote).Errors)

	var slugs []any
	after := any(nil)
	for more := true; more; {
		page := d.queryDataAs(t, "operator", `query($after: String) { partners(first: 2, after: $after) { totalCount edges { cursor node { slug } } nodes { slug } pageInfo { hasNextPage endCursor } } }`,
			map[string]any{"after": after})["partners"].(map[string]any)
		require.EqualValues(t, 3, page["totalCount"])
		for _, partner := range page["nodes"].([]any) {
			slugs = append(slugs, partner.(map[string]any)["slug"])
		}
		info := page["pageInfo"].(map[string]any)
		more, after = info["hasNextPage"].(bool), info["endCursor"]
	}
	require.Equal(t, []any{"acme", "globex", "initech"}, slugs)
	for _, first := range []int{-1, 0, 101} {
		got := d.send(t, graphqlRequest{as: "operator", document: fmt.Sprintf(`{ partners(first: %d) { nodes { slug } } }`, first)})
		require.Equal(t, "parameter_invalid", got.errorCode())
	}
	unknown := d.send(t, graphqlRequest{as: "operator", document: `{ partner(slug: "unknown") { slug } }`})
	require.Equal(t, "not_found", unknown.errorCode())
}

func TestCancelPolicyOverGraphQL(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	policy := d.QuoteAndBind("quake-circle", nil)
	cancel := `mutation($in: CancelPolicyInput!) { cancelPolicy(input: $in) { policy { id status coverPhase cancelledAt version } } }`
	in := func(version int64, key string) map[string]any {
		return map[string]any{"in": map[string]any{"policyId": policy.ID, "version": version, "reason": "No premium.", "clientMutationId": key}}
	}
	stale := d.send(t, graphqlRequest{as: "operator", document: cancel, variables: in(2, "m1")})
	require.Equal(t, "version_mismatch", stale.errorCode())
	require.Equal(t, 412, stale.Errors[0].Extensions.Status)
	cancelled := d.queryDataAs(t, "operator", cancel, in(1, "m2"))["cancelPolicy"].(map[string]any)["policy"].(map[string]any)
	require.Equal(t, "CANCELLED", cancelled["status"])
	require.Equal(t, "ENDED", cancelled["coverPhase"])
	require.NotNil(t, cancelled["cancelledAt"])
	require.Equal(t, cancelled, d.queryDataAs(t, "operator", cancel, in(1, "m2"))["cancelPolicy"].(map[string]any)["policy"], "sent again, though the version moved on")

	wrong := d.send(t, graphqlRequest{as: "operator", document: `mutation { cancelPolicy(input: {policyId: "pol_x", reason: " "}) { policy { id } } }`})
	require.Equal(t, []apperr.FieldError{{Pointer: "/input/reason", Code: "length", Detail: "Write 1 to 2000 characters, not only white space."}}, wrong.Errors[0].Extensions.Errors)
}

func TestRecordObservationsOverGraphQL(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	policy := d.QuoteAndBind("quake-circle", nil)
	quake := map[string]any{
		"source": "usgs", "sourceEventId": "us1", "kind": "EARTHQUAKE", "occurredAt": d.Now(), "stage": "FINAL",
		"location": map[string]any{"latitude": 23.9, "longitude": 121.6},
		"measures": []any{map[string]any{"name": "magnitude", "value": "6.4", "unit": "mw"}, map[string]any{"name": "depth", "value": "10", "unit": "km"}},
	}
	record := `mutation($in: RecordObservationsInput!) { recordObservations(input: $in) { results { index result id errors { pointer code } } } }`
	in := map[string]any{"in": map[string]any{"observations": []any{quake, map[string]any{
		"source": "usgs", "sourceEventId": "us2", "kind": "EARTHQUAKE", "occurredAt": d.Now(), "stage": "FINAL", "measures": []any{},
	}}}}
	refused := d.send(t, graphqlRequest{as: "operator", document: record, variables: in})
	require.Equal(t, "insufficient_scope", refused.errorCode(), "an operator needs the scope too")
	d.Operator.Scopes = append(d.Operator.Scopes, actor.ScopeObservationsWrite)
	results := d.queryDataAs(t, "operator", record, in)["recordObservations"].(map[string]any)["results"].([]any)
	require.Equal(t, "CREATED", results[0].(map[string]any)["result"])
	require.Equal(t, "REJECTED", results[1].(map[string]any)["result"])
	require.Len(t, results[1].(map[string]any)["errors"], 3)
	d.RunJobs()
	require.Equal(t, "approved", d.OnlyClaim(policy).Status)

	retraction := map[string]any{"source": "usgs", "sourceEventId": "us1", "kind": "EARTHQUAKE", "stage": "RETRACTED"}
	withdrawn := d.queryDataAs(t, "operator", record, map[string]any{"in": map[string]any{"observations": []any{retraction}}})["recordObservations"].(map[string]any)["results"].([]any)
	require.Equal(t, "REVISED", withdrawn[0].(map[string]any)["result"])
	d.RunJobs()
	require.Equal(t, "compliance_hold", *d.OnlyClaim(policy).Payouts[0].BlockedReason)
	track := d.send(t, graphqlRequest{as: "operator", document: record, variables: map[string]any{"in": map[string]any{"finalTrack": true, "observations": []any{quake}}}})
	require.Equal(t, "/input/finalTrack", track.Errors[0].Extensions.Errors[0].Pointer)

	quake["measures"] = append(quake["measures"].([]any), map[string]any{"name": "depth", "value": "1", "unit": "km"})
	twice := d.send(t, graphqlRequest{as: "operator", document: record, variables: in})
	require.Equal(t, "/input/observations/0/measures/2/name", twice.Errors[0].Extensions.Errors[0].Pointer)
}

func TestRegisterSourceKeepsWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	register := func(input string) any {
		document := `mutation { registerSource(input: {name: "geonet-nz", ` + input + `}) { source { perils stages tokenSubjects enabled version } } }`
		return d.queryDataAs(t, "operator", document, nil)["registerSource"].(map[string]any)["source"]
	}
	source := func(perils, stages, subjects []any, enabled bool, version float64) map[string]any {
		return map[string]any{"perils": perils, "stages": stages, "tokenSubjects": subjects, "enabled": enabled, "version": version}
	}
	quakes, both := []any{"EARTHQUAKE"}, []any{"PRELIMINARY", "FINAL"}
	require.Equal(t, source(quakes, both, []any{}, true, 1), register(`perils: [EARTHQUAKE]`))
	require.Equal(t, source(quakes, both, []any{"feed"}, false, 2), register(`perils: [EARTHQUAKE], tokenSubjects: ["feed"], enabled: false`))
	require.Equal(t, source([]any{"EARTHQUAKE", "WINDSTORM"}, both, []any{"feed"}, false, 3), register(`perils: [EARTHQUAKE, WINDSTORM]`))
	require.Equal(t, source(quakes, both, []any{}, false, 4), register(`perils: [EARTHQUAKE], tokenSubjects: []`))
}
