package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// schemaFieldOf returns the schema's field that performs, or shows the result of, a REST
// operation.
var schemaFieldOf = map[string]string{
	"createQuote": "Mutation.createQuote", "getQuote": "Query.quote", "getQuoteBasis": "Quote.weighedEvents", "getQuoteReceipt": "Query.quoteReceipt", "getClaimReceipt": "Query.claimReceipt", "listQuotes": "Query.quotes",
	"createPolicy": "Mutation.bindPolicy", "getPolicy": "Query.policy", "listPolicies": "Query.policies",
	"createClaim": "Mutation.openClaim", "getClaim": "Query.claim", "listClaims": "Query.claims", "listTimeline": "Claim.timeline",
	"createAttachment": "Mutation.addAttachment", "listAttachments": "Claim.attachments", "downloadAttachment": "Attachment.downloadUrl",
	"createMessage": "Mutation.addMessage", "listMessages": "Claim.messages",
	"createPayoutMethod": "Mutation.recordPayoutMethod", "listPayoutMethods": "Claim.payoutMethods",
	"listPayouts": "Claim.payouts", "getPayout": "Query.payout", "listProducts": "Query.products", "listSources": "Query.sources", "listObservationRevisions": "Query.observationRevisions", "getProduct": "Query.product",
	"createObservations": "Mutation.recordObservations", "createSandboxObservations": "Mutation.rehearseObservations",
	"getSandboxClock": "Query.sandboxClock", "moveSandboxClock": "Mutation.moveSandboxClock", "createSandboxReplay": "Mutation.replaySandboxEvent", "resetSandbox": "Mutation.resetSandbox",
	"listSandboxRuns": "Query.sandboxRuns", "getSandboxRun": "Query.sandboxRun", "getSandboxChecklist": "Query.sandboxChecklist", "sendBadSignature": "Mutation.sendBadSignature",
	"settleSandboxPayout": "Mutation.reportSandboxPayout", "returnSandboxPayout": "Mutation.reportSandboxPayout", "mismatchSandboxPayout": "Mutation.reportSandboxPayout",
	"listEvents": "Query.events", "getEvent": "Query.event",
	"createWebhookEndpoint": "Mutation.createWebhookEndpoint", "getWebhookEndpoint": "Query.webhookEndpoint", "listWebhookEndpoints": "Query.webhookEndpoints",
	"updateWebhookEndpoint": "Mutation.changeWebhookEndpoint", "deleteWebhookEndpoint": "Mutation.deleteWebhookEndpoint",
	"rotateWebhookSecret": "Mutation.rotateWebhookSecret", "testWebhookEndpoint": "Mutation.testWebhookEndpoint",
	"listDeliveries": "WebhookEndpoint.deliveries", "retryDelivery": "Mutation.retryDelivery",
	"listPolicyTimeline": "Policy.timeline", "listPolicyPayoutMethods": "Policy.payoutMethods", "getPayoutMethod": "Query.payoutMethod", "listAllPayouts": "Query.payouts",
	"cancelPolicy": "Mutation.cancelPolicy", "withdrawClaim": "Mutation.withdrawClaim", "challengeClaim": "Mutation.challengeClaim",
	"getOccurrence": "Query.occurrence", "getOccurrenceProgress": "Occurrence.progress", "explainOccurrence": "Query.explain",
}

// TestGraphQLCoversEveryRESTOperation compares the served OpenAPI document with the
// served schema.
func TestGraphQLCoversEveryRESTOperation(t *testing.T) {
	t.Parallel()
	w := newTestStack(t)
	fields := map[string]bool{}
	said := w.callAs(t, "acme", "POST", "/graphql", `{"query": "{ __schema { types { name fields { name } } } }"}`, 200)
	for _, each := range said["data"].(map[string]any)["__schema"].(map[string]any)["types"].([]any) {
		kind := each.(map[string]any)
		members, _ := kind["fields"].([]any)
		for _, field := range members {
			fields[kind["name"].(string)+"."+field.(map[string]any)["name"].(string)] = true
		}
	}
	operations := 0
	for path, methods := range w.callAs(t, "acme", "GET", "/v1/openapi.json", "", 200)["paths"].(map[string]any) {
		for method, operation := range methods.(map[string]any) {
			described, _ := operation.(map[string]any)
			name, named := described["operationId"].(string)
			if !named {
				continue
			}
			operations++
			require.NotEmpty(t, schemaFieldOf[name], "say in fieldOf what does over GraphQL what %s %s does", method, path)
			require.True(t, fields[schemaFieldOf[name]], "%s is missing for %s", schemaFieldOf[name], name)
		}
	}
	require.Len(t, schemaFieldOf, operations, "an operation is not there any more")
}

// TestRESTAndGraphQLReturnTheSameErrors sends both APIs invalid requests.
func TestRESTAndGraphQLReturnTheSameErrors(t *testing.T) {
	t.Parallel()
	w := newTestStack(t)
	acme := w.tokenOf(t, "acme")
	const quotes = "/v1/quotes"
	for code, refused := range map[string]struct{ token, method, path, body, graph string }{
		"token_missing":     {"", "GET", quotes, "", `{"query": "{ viewer { kind } }"}`},
		"token_invalid":     {"forged", "GET", quotes, "", `{"query": "{ viewer { kind } }"}`},
		"malformed_json":    {acme, "POST", quotes, `{"product":`, `{"query":`},
		"duplicate_field":   {acme, "POST", quotes, `{"product": "a", "product": "b"}`, `{"query": "{ viewer { kind } }", "query": "{ viewer { kind } }"}`},
		"body_too_large":    {acme, "POST", quotes, strings.Repeat(" ", 1<<20+1), strings.Repeat(" ", 1<<20+1)},
		"cursor_invalid":    {acme, "GET", quotes + "?cursor=made-up", "", `{"query": "{ quotes(after: \"made-up\") { nodes { id } } }"}`},
		"parameter_invalid": {acme, "GET", quotes + "?limit=101", "", `{"query": "{ quotes(first: 101) { nodes { id } } }"}`},
	} {
		_, said := w.sendRequest(t, refused.token, refused.method, refused.path, refused.body)
		require.Equal(t, code, said["code"], "%s over REST", code)
		_, answer := w.sendRequest(t, refused.token, "POST", "/graphql", refused.graph)
		require.NotEmpty(t, answer["errors"], code)
		require.Equal(t, code, answer["errors"].([]any)[0].(map[string]any)["extensions"].(map[string]any)["code"], "%s over GraphQL", code)
	}
}

// TestRESTAndGraphQLUpdateEndpointsAlike changes equal webhook endpoints: with values,
// with null, and with invalid members.
func TestRESTAndGraphQLUpdateEndpointsAlike(t *testing.T) {
	t.Parallel()
	w := newTestStack(t)
	acme := w.tokenOf(t, "acme")
	create := func(name string) (id string) {
		return w.callAs(t, "acme", "POST", "/v1/webhook_endpoints", `{"url": "https://partner.example/hooks", "partner_reference": "`+name+`", "metadata": {"a": "1", "b": "2"}}`, 201)["id"].(string)
	}
	rest, graph := create("one"), create("two")
	for _, change := range []string{
		`{}`,
		`{"metadata": {"a": null, "c": "3"}}`,
		`{"url": "https://partner.example/others", "ordered": true}`,
		`{"partner_reference": null}`,
		`{"metadata": null, "status": "disabled"}`,
		`{"partner_reference": " ", "url": "ftp://partner.example"}`,
		`{"metadata": {"d": 4}}`,
	} {
		_, said := w.sendRequest(t, acme, "PATCH", "/v1/webhook_endpoints/"+rest, change)
		p := parityRow{name: change, mutation: "changeWebhookEndpoint", payloadField: "webhookEndpoint", selection: "url ordered status partnerReference metadata version", body: change, enums: []string{"status"}, extraInput: map[string]any{"webhookEndpointId": graph}}
		_, answer := w.sendRequest(t, acme, "POST", "/graphql", p.toGraphQLInput(t, strings.NewReplacer()))
		if said["code"] == nil && said["partner_reference"] != nil {
			said["partner_reference"] = "two" // the two endpoints have different references
		}
		p.requireSameResult(t, said, answer)
	}
}
