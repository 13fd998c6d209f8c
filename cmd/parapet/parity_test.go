package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The GraphQL selections of each resource: members that REST shows too.
const (
	moneySelection        = "{ amount currency }"
	quoteSelection        = "id partner createdAt version partnerReference metadata product: productKey productVersion status context ignoredContext termsHash price { premium " + moneySelection + " lines { kind amount " + moneySelection + " } rateOnLine } basis { method dataset firstYear lastYear years eventsInPlace expectedLoss standardDeviation attachmentProbability returnPeriodYears } history { occurredAt source sourceEventId index { value unit } distanceKm factor payout " + moneySelection + " } expiresAt policyId"
	policySelection       = "id partner version partnerReference metadata status coverPhase quoteId product: productKey productVersion policyholder { name email country } termsHash premium " + moneySelection + " limit " + moneySelection + " limitRemaining " + moneySelection + " effectiveAt expiresAt cancelledAt"
	claimSelection        = "id partner version partnerReference metadata policyId status origin description requestedAmount " + moneySelection + " amount " + moneySelection + " occurrence { source sourceEventId } determination { index { value unit } threshold { value unit } distanceKm factor stage } decision { outcome reasonCodes } payouts { status amount " + moneySelection + " blockedReason } openedAt closedAt"
	attachmentSelection   = "id claimId fileName contentType size sha256 purpose description status downloadUrl"
	payoutMethodSelection = "id claimId policyId type beneficiary { name country } currency display { last4 institution country } fingerprint status"
)

// parityRow is one request that a partner sends through both APIs: the same body has the
// same effect, or fails with the same code. QUOTE, POLICY and CLAIM stand for records
// that each API creates for itself.
type parityRow struct {
	name, path, body       string
	mutation, payloadField string // the field of the mutation, and the field of its payload
	selection              string
	code                   string // the expected error code; empty: it succeeds
	client                 string // acme if empty
	enums                  []string
	key                    string         // the Idempotency-Key; empty: none
	extraInput             map[string]any // members of the input that REST has outside of the body
}

// clientName returns the name of the client.
func (p *parityRow) clientName() string { return cmp.Or(p.client, "acme") }

const parityMethod = `"type": "iban", "currency": "USD", "beneficiary": {"name": "Hualien Hotel Ltd", "country": "TW"}`

var parityRows = []parityRow{
	{
		name: "a quote", path: "/quotes", mutation: "createQuote", payloadField: "quote", selection: quoteSelection,
		body: `{"product": "quake-circle", "context": {"partner": "acme", "radius_km": 60, "colour": "blue"}, "metadata": {"b": "é"}}`,
	},
	{
		name: "a bind", path: "/policies", mutation: "bindPolicy", payloadField: "policy", selection: policySelection,
		body: `{"quote_id": "QUOTE", "policyholder": {"name": "Ålesund Hotel", "country": "TW"}, "metadata": {"a": "1"}}`,
	},
	{
		name: "a claim for an operator", path: "/claims", mutation: "openClaim", payloadField: "claim", selection: claimSelection,
		body: `{"policy_id": "POLICY", "description": "the lobby is flooded", "requested_amount": {"amount": 5, "currency": "USD"}}`,
	},
	{
		name: "a claim by the trigger", path: "/claims", mutation: "openClaim", payloadField: "claim", selection: claimSelection,
		body: `{"policy_id": "POLICY", "source_event": {"source": "usgs", "id": "test-6.5"}}`,
	},
	{
		name: "a document", path: "/claims/CLAIM/attachments", mutation: "addAttachment", payloadField: "attachment", selection: attachmentSelection,
		body: `{"file_name": "note.txt", "content_type": "text/plain", "content_base64": "cGxhaW4gd29yZHM=", "purpose": "evidence"}`,
	},
	{
		name: "a message", path: "/claims/CLAIM/messages", mutation: "addMessage", payloadField: "message", selection: "id claimId author { kind name } body",
		body: `{"body": "When will it be paid?"}`,
	},
	{
		name: "a payout method", path: "/payout_methods", mutation: "recordPayoutMethod", payloadField: "payoutMethod", selection: payoutMethodSelection, enums: []string{"type"},
		body: `{"claim_id": "CLAIM", ` + parityMethod + `, "iban": {"iban": "` + demoIBAN + `"}}`,
	},

	{name: "wrong values", path: "/quotes", mutation: "createQuote", code: "validation_failed", body: `{"product": "quake-circle", "context": {"partner": "acme", "radius_km": -1}, "partner_reference": " "}`},
	{name: "metadata that is no text", path: "/quotes", mutation: "createQuote", code: "validation_failed", body: `{"product": "quake-circle", "context": {"partner": "acme", "radius_km": -1}, "metadata": {"a/b": 1, "b": null, "c": "3"}}`},
	{name: "a time that is none", path: "/claims", mutation: "openClaim", code: "validation_failed", body: `{"policy_id": "POLICY", "occurred_at": "2018-02-06 15:50", "requested_amount": {"amount": 0.5, "currency": "usd"}, "partner_reference": " "}`},
	{name: "no such product", path: "/quotes", mutation: "createQuote", code: "product_unknown", body: `{"product": "hail-circle", "context": {"partner": "acme"}}`},
	{name: "another partner's context", path: "/quotes", mutation: "createQuote", code: "partner_mismatch", body: `{"product": "quake-circle", "context": {"partner": "globex"}}`},
	{name: "a risk too high", path: "/quotes", mutation: "createQuote", code: "risk_uninsurable", body: `{"product": "quake-circle", "context": {"partner": "acme", "radius_km": 300, "location": {"latitude": 38.3, "longitude": 142.4}}}`},
	{name: "a quote that is bound", path: "/policies", mutation: "bindPolicy", code: "quote_already_bound", body: `{"quote_id": "BOUND"}`},
	{name: "a product without capacity", path: "/policies", mutation: "bindPolicy", code: "capacity_exceeded", body: `{"quote_id": "FULL"}`},
	{name: "a peril with a moratorium", path: "/policies", mutation: "bindPolicy", code: "moratorium_active", body: `{"quote_id": "STOPPED"}`},
	{name: "an unknown quote", path: "/policies", mutation: "bindPolicy", code: "not_found", body: `{"quote_id": "quo_01h455vb4pex5vsknk084sn02q"}`},
	{name: "another partner's quote", path: "/policies", mutation: "bindPolicy", code: "not_found", client: "globex", body: `{"quote_id": "QUOTE"}`},
	{name: "a reference twice", path: "/claims", mutation: "openClaim", code: "reference_taken", body: `{"policy_id": "POLICY", "partner_reference": "taken"}`},
	{name: "a trigger that is not met", path: "/claims", mutation: "openClaim", code: "trigger_not_met", body: `{"policy_id": "POLICY", "source_event": {"source": "usgs", "id": "test-5.1"}}`},
	{name: "an unknown event", path: "/claims", mutation: "openClaim", code: "not_found", body: `{"policy_id": "POLICY", "source_event": {"source": "usgs", "id": "nothing"}}`},
	{name: "a time outside of cover", path: "/claims", mutation: "openClaim", code: "policy_not_in_force", body: `{"policy_id": "POLICY", "occurred_at": "2001-01-01T00:00:00Z"}`},
	{name: "a file that is none", path: "/claims/CLAIM/attachments", mutation: "addAttachment", code: "validation_failed", body: `{"file_name": "note.png", "content_type": "image/png", "content_base64": "cGxhaW4="}`},
	{name: "a file of which everything is wrong", path: "/claims/CLAIM/attachments", mutation: "addAttachment", code: "validation_failed", body: `{"file_name": "", "content_type": "x/y", "content_base64": "!!"}`},
	{name: "an empty message", path: "/claims/CLAIM/messages", mutation: "addMessage", code: "validation_failed", body: `{"body": " "}`},
	{
		name: "an account that cannot be", path: "/payout_methods", mutation: "recordPayoutMethod", code: "validation_failed", enums: []string{"type"},
		body: `{"claim_id": "CLAIM", ` + parityMethod + `, "iban": {"iban": "DE00370400440000000000"}}`,
	},
	{name: "a data source's token", path: "/quotes", mutation: "createQuote", code: "insufficient_scope", client: "source", body: `{"product": "quake-circle", "context": {"partner": "acme"}}`},
}

// TestRESTAndGraphQLReturnTheSameResults runs one table of requests through REST and
// through GraphQL and compares the results, member by member.
func TestRESTAndGraphQLReturnTheSameResults(t *testing.T) {
	t.Parallel()
	w := newTestStack(t)
	over := [2]*strings.Replacer{w.recordsOf(t, "rest"), w.recordsOf(t, "graph")}
	status, stopped := w.sendRequest(t, w.tokenOf(t, "operator"), "POST", "/graphql", `{"query": "mutation {`+
		` setCapacity(input: {product: \"rain-excess\", currency: \"USD\", amount: 0}) { capacity { product } }`+
		` declareMoratorium(input: {kind: WINDSTORM, endsAt: \"`+time.Now().Add(time.Hour).Format(time.RFC3339)+`\", reason: \"A storm is named.\"}) { moratorium { id } } }"}`)
	require.Equal(t, 200, status)
	require.Nil(t, stopped["errors"])
	for _, magnitude := range []string{"5.1", "6.5"} { // within the cover that was just bound
		w.callAs(t, "source", "POST", "/v1/observations", quakeNow(magnitude), 201)
	}
	for _, p := range parityRows {
		w.runParity(t, p, w.tokenOf(t, p.clientName()), over)
	}
	w.runLateParity(t)
}

// runParity runs one row through both APIs.
func (w *testStack) runParity(t *testing.T, p parityRow, token string, over [2]*strings.Replacer) {
	t.Helper()
	var headers []string
	if p.key != "" {
		headers = []string{"Idempotency-Key: " + p.key}
	}
	_, said := w.sendRequest(t, token, "POST", "/v1"+over[0].Replace(p.path), over[0].Replace(p.body), headers...)
	_, answer := w.sendRequest(t, token, "POST", "/graphql", p.toGraphQLInput(t, over[1]), headers...)
	require.Equal(t, p.code, cmp.Or(said["code"], any("")), "%s over REST: %v", p.name, said)
	p.requireSameResult(t, said, answer)
}

// requireSameResult compares the GraphQL result with the REST result: the same record, or
// the same code for the same members.
func (p *parityRow) requireSameResult(t *testing.T, said, answer map[string]any) {
	t.Helper()
	if said["code"] == nil {
		require.Nil(t, answer["errors"], "%s: %v", p.name, answer)
		requireEquivalent(t, p.name, said, answer["data"].(map[string]any)[p.mutation].(map[string]any)[p.payloadField])
		return
	}
	require.NotEmpty(t, answer["errors"], p.name)
	refusal := answer["errors"].([]any)[0].(map[string]any)["extensions"].(map[string]any)
	require.Equal(t, said["code"], refusal["code"], "%s over GraphQL: %v", p.name, refusal)
	faults, _ := refusal["errors"].([]any)
	listed, _ := said["errors"].([]any)
	require.Len(t, faults, len(listed), "%s: REST says %v, GraphQL %v", p.name, listed, faults)
	for i, each := range listed {
		fault, same := each.(map[string]any), faults[i].(map[string]any)
		require.Equal(t, fault["code"], same["code"], "%s: %v", p.name, fault)
		require.Equal(t, "/input"+camelPointer(fault["pointer"].(string)), same["pointer"], p.name)
	}
}

// camelPointer converts the names in a pointer to camel case, except the partner's own
// names.
func camelPointer(pointer string) string {
	names := strings.Split(pointer, "/")
	for i, name := range names {
		for renamed := range toCamelCase(map[string]any{name: nil}).(map[string]any) {
			names[i] = renamed
		}
		if name == "context" || name == "metadata" {
			break
		}
	}
	return strings.Join(names, "/")
}

// recordsOf are the records that one API works on.
func (w *testStack) recordsOf(t *testing.T, door string) *strings.Replacer {
	t.Helper()
	quote := func(product string) string {
		return w.callAs(t, "acme", "POST", "/v1/quotes", fmt.Sprintf(`{"product": %q, "context": {"partner": "acme"}}`, product), 201)["id"].(string)
	}
	unbound, bound := quote("quake-circle"), quote("quake-circle")
	policy := w.callAs(t, "acme", "POST", "/v1/policies", fmt.Sprintf(`{"quote_id": %q}`, bound), 201)["id"].(string)
	reference := ""
	if door == "rest" {
		reference = `, "partner_reference": "taken"`
	}
	claim := w.callAs(t, "acme", "POST", "/v1/claims", fmt.Sprintf(`{"policy_id": %q%s}`, policy, reference), 201)["id"].(string)
	return strings.NewReplacer("QUOTE", unbound, "BOUND", bound, "FULL", quote("rain-excess"), "STOPPED", quote("cyclone-circle"), "POLICY", policy, "CLAIM", claim)
}

func (w *testStack) tokenOf(t *testing.T, client string) string {
	t.Helper()
	for _, c := range w.info.Clients {
		if c.Name == client {
			return c.Token
		}
	}
	t.Fatalf("there is no client %s", client)
	return ""
}

// toGraphQLInput converts the REST body to the mutation's input: camel case, enums in
// capitals, path parameters as members.
func (p *parityRow) toGraphQLInput(t *testing.T, own *strings.Replacer) string {
	t.Helper()
	var body map[string]any
	require.NoError(t, json.Unmarshal([]byte(own.Replace(p.body)), &body))
	for _, name := range p.enums {
		if word, given := body[name].(string); given {
			body[name] = strings.ToUpper(word)
		}
	}
	input := toCamelCase(body).(map[string]any)
	maps.Copy(input, p.extraInput)
	if strings.HasPrefix(p.path, "/claims/") {
		input["claimId"] = own.Replace("CLAIM")
	}
	selection := "clientMutationId"
	if p.payloadField != "" {
		selection = p.payloadField + " { " + p.selection + " }"
	}
	kind := strings.ToUpper(p.mutation[:1]) + p.mutation[1:] + "Input!"
	request, err := json.Marshal(map[string]any{
		"query":     fmt.Sprintf("mutation ($input: %s) { %s(input: $input) { %s } }", kind, p.mutation, selection),
		"variables": map[string]any{"input": input},
	})
	require.NoError(t, err)
	return string(request)
}

// toCamelCase renames members, except those of context and metadata, which the partner
// names.
func toCamelCase(value any) any {
	object, ok := value.(map[string]any)
	if !ok {
		return value
	}
	renamed := make(map[string]any, len(object))
	for name, member := range object {
		if name != "context" && name != "metadata" {
			member = toCamelCase(member)
		}
		words := strings.Split(name, "_")
		for i := 1; i < len(words); i++ {
			words[i] = strings.ToUpper(words[i][:1]) + words[i][1:]
		}
		renamed[strings.Join(words, "")] = member
	}
	return renamed
}

var (
	enumPattern = regexp.MustCompile(`[A-Z]`)
	parityID    = regexp.MustCompile(`[a-z]{3}_[0-9a-z]{26}`)
)

// requireEquivalent compares a GraphQL value with the REST value of an equivalent record:
// the same names in the other spelling, the same values, ids of the same type, times of
// the same form.
func requireEquivalent(t *testing.T, at string, rest, graph any) {
	t.Helper()
	switch shown := graph.(type) {
	case map[string]any:
		said, ok := rest.(map[string]any)
		require.True(t, ok, "%s: REST says %v", at, rest)
		for name, member := range shown {
			other := enumPattern.ReplaceAllStringFunc(name, func(c string) string { return "_" + strings.ToLower(c) })
			if strings.HasSuffix(at, "/context") || strings.HasSuffix(at, "/metadata") {
				other = name
			}
			require.Contains(t, said, other, at)
			requireEquivalent(t, at+"/"+name, said[other], member)
		}
	case []any:
		said, ok := rest.([]any)
		require.True(t, ok && len(said) == len(shown), "%s: REST says %v, GraphQL %v", at, rest, graph)
		for i := range shown {
			requireEquivalent(t, at, said[i], shown[i])
		}
	case string:
		said, ok := rest.(string)
		require.True(t, ok, "%s: REST says %v, GraphQL %v", at, rest, graph)
		kinds := func(text string) string {
			return parityID.ReplaceAllStringFunc(text, func(id string) string { return id[:4] })
		}
		_, restTime := time.Parse(time.RFC3339, said)
		_, graphTime := time.Parse(time.RFC3339, shown)
		if restTime == nil && graphTime == nil {
			require.Len(t, shown, len(said), "%s: times have one form", at)
			return
		}
		require.True(t, kinds(said) == kinds(shown) || said == strings.ToLower(shown), "%s: REST says %s, GraphQL %s", at, said, shown)
	default:
		require.Equal(t, rest, graph, at)
	}
}
