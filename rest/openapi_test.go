package rest_test

import (
	"flag"
	"maps"
	"net/http"
	"os"
	address "path"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/event"
	"parapet/model/wire"
)

var update = flag.Bool("update", false, "write the golden answers and the OpenAPI document anew")

// These are the operations of section 4 of the contract, with their scopes.
var contractScopes = map[string]actor.Scope{
	"POST /quotes":  actor.ScopeQuotesWrite,
	"GET /quotes":   actor.ScopeQuotesRead,
	"GET /policies": actor.ScopePoliciesRead,
	"GET /claims":   actor.ScopeClaimsRead,
	"GET /observations/{observation_id}/revisions": actor.ScopeClaimsRead,
	"GET /sources":                               actor.ScopePoliciesRead,
	"GET /products":                              actor.ScopeProductsRead,
	"GET /products/{key}":                        actor.ScopeProductsRead,
	"GET /claims/{claim_id}/payouts":             actor.ScopeClaimsRead,
	"GET /payouts/{payout_id}":                   actor.ScopeClaimsRead,
	"GET /quotes/{quote_id}":                     actor.ScopeQuotesRead,
	"GET /quotes/{quote_id}/basis":               actor.ScopeQuotesRead,
	"POST /policies":                             actor.ScopePoliciesWrite,
	"GET /policies/{policy_id}":                  actor.ScopePoliciesRead,
	"POST /claims":                               actor.ScopeClaimsWrite,
	"GET /claims/{claim_id}":                     actor.ScopeClaimsRead,
	"GET /claims/{claim_id}/receipt":             actor.ScopeClaimsRead,
	"GET /quotes/{quote_id}/receipt":             actor.ScopeQuotesRead,
	"GET /claims/{claim_id}/timeline":            actor.ScopeClaimsRead,
	"POST /claims/{claim_id}/attachments":        actor.ScopeClaimsWrite,
	"GET /claims/{claim_id}/attachments":         actor.ScopeClaimsRead,
	"POST /claims/{claim_id}/messages":           actor.ScopeClaimsWrite,
	"GET /claims/{claim_id}/messages":            actor.ScopeClaimsRead,
	"POST /policies/{policy_id}/cancel":          actor.ScopePoliciesWrite,
	"POST /explain":                              actor.ScopePoliciesRead,
	"GET /occurrences/{occurrence_id}":           actor.ScopePoliciesRead,
	"GET /occurrences/{occurrence_id}/progress":  actor.ScopeClaimsRead,
	"POST /claims/{claim_id}/challenge":          actor.ScopeClaimsWrite,
	"POST /claims/{claim_id}/withdraw":           actor.ScopeClaimsWrite,
	"GET /policies/{policy_id}/timeline":         actor.ScopePoliciesRead,
	"GET /policies/{policy_id}/payout-methods":   actor.ScopeClaimsRead,
	"GET /payout_methods/{payout_method_id}":     actor.ScopeClaimsRead,
	"GET /payouts":                               actor.ScopeClaimsRead,
	"POST /payout_methods":                       actor.ScopePayoutMethodsWrite,
	"GET /claims/{claim_id}/payout-methods":      actor.ScopeClaimsRead,
	"POST /observations":                         actor.ScopeObservationsWrite,
	"POST /sandbox/observations":                 actor.ScopeClaimsWrite,
	"GET /sandbox/clock":                         actor.ScopeClaimsRead,
	"POST /sandbox/clock":                        actor.ScopeClaimsWrite,
	"POST /sandbox/replays":                      actor.ScopeClaimsWrite,
	"POST /sandbox/reset":                        actor.ScopeClaimsWrite,
	"GET /sandbox/runs":                          actor.ScopeClaimsRead,
	"GET /sandbox/runs/{run_id}":                 actor.ScopeClaimsRead,
	"GET /sandbox/checklist":                     actor.ScopeClaimsRead,
	"POST /sandbox/payouts/{payout_id}/settle":   actor.ScopeClaimsWrite,
	"POST /sandbox/payouts/{payout_id}/return":   actor.ScopeClaimsWrite,
	"POST /sandbox/payouts/{payout_id}/mismatch": actor.ScopeClaimsWrite,

	"POST /sandbox/webhook_endpoints/{endpoint_id}/bad_signature": actor.ScopeWebhooksWrite,
	"GET /claims/{claim_id}/attachments/{attachment_id}/content":  actor.ScopeClaimsRead,

	"GET /events":                                         actor.ScopeEventsRead,
	"GET /events/{event_id}":                              actor.ScopeEventsRead,
	"POST /webhook_endpoints":                             actor.ScopeWebhooksWrite,
	"GET /webhook_endpoints":                              actor.ScopeWebhooksRead,
	"GET /webhook_endpoints/{endpoint_id}":                actor.ScopeWebhooksRead,
	"PATCH /webhook_endpoints/{endpoint_id}":              actor.ScopeWebhooksWrite,
	"DELETE /webhook_endpoints/{endpoint_id}":             actor.ScopeWebhooksWrite,
	"POST /webhook_endpoints/{endpoint_id}/rotate_secret": actor.ScopeWebhooksWrite,
	"POST /webhook_endpoints/{endpoint_id}/test":          actor.ScopeWebhooksWrite,
	"GET /webhook_endpoints/{endpoint_id}/deliveries":     actor.ScopeWebhooksRead,
	"POST /deliveries/{delivery_id}/retry":                actor.ScopeWebhooksWrite,
}

type document struct {
	OpenAPI string
	Paths   map[string]map[string]struct {
		Security  []map[string][]string
		Responses map[string]struct {
			Ref     string `json:"$ref"`
			Content map[string]any
		}
	}
	Components struct {
		Responses map[string]struct {
			Content map[string]any
		}
	}
}

func TestOpenAPIMatchesTheContract(t *testing.T) {
	t.Parallel()
	var doc document
	body := request{"GET", "/v1/openapi.json", "", []string{"Authorization: "}}.sendTo(t, newHandler(t, nil)).Body
	require.NoError(t, json.Unmarshal(body, &doc, json.MatchCaseInsensitiveNames(true)))
	require.Equal(t, "3.1.0", doc.OpenAPI)
	described := map[string]actor.Scope{}
	for path, methods := range doc.Paths {
		for method, operation := range methods {
			described[strings.ToUpper(method)+" "+path] = actor.Scope(operation.Security[0]["bearer"][0])
			for status, response := range operation.Responses {
				name, shared := strings.CutPrefix(response.Ref, "#/components/responses/")
				if status >= "400" && !shared {
					require.Contains(t, response.Content, "application/problem+json", "%s of %s", status, path)
				}
				if shared && status >= "400" {
					require.Contains(t, doc.Components.Responses[name].Content, "application/problem+json")
				}
			}
		}
	}
	require.Equal(t, contractScopes, described)
}

// Every address of the document is served under both base addresses, and only with a
// token.
func TestEveryOperationAsksForAToken(t *testing.T) {
	t.Parallel()
	handler := newHandler(t, nil)
	for operation := range contractScopes {
		method, path, _ := strings.Cut(operation, " ")
		for _, base := range []string{"/v1", "/parametric/v1"} {
			response := request{method, base + path, "", []string{"Authorization: "}}.sendTo(t, handler)
			require.Equal(t, string(apperr.CodeTokenMissing), requireProblem(t, response).Code, operation)
		}
	}
}

func TestSandboxIsForDevelopment(t *testing.T) {
	t.Parallel()
	handler := newHandler(t, productionHandler)
	for operation := range contractScopes {
		if method, path, _ := strings.Cut(operation, " "); strings.HasPrefix(path, "/sandbox/") {
			require.Equal(t, http.StatusNotFound, requireProblem(t, request{method, "/v1" + path, "{}", nil}.sendTo(t, handler)).Status, operation)
		}
	}
	require.NotContains(t, string(request{"GET", "/v1/openapi.json", "", nil}.sendTo(t, handler).Body), `"/sandbox/`)
}

// The committed document equals the served one, so that a review shows each change of the
// contract. Run with -update after an intended change.
func TestCommittedDocument(t *testing.T) {
	t.Parallel()
	served := request{"GET", "/v1/openapi.yaml", "", nil}.sendTo(t, newHandler(t, nil)).Body
	if *update {
		require.NoError(t, os.WriteFile("openapi.yaml", served, 0o644))
	}
	committed, err := os.ReadFile("openapi.yaml")
	require.NoError(t, err)
	require.True(t, slices.Equal(committed, served), "openapi.yaml is stale: go test ./rest -update")
}

func TestOpenAPIDocumentReturns304(t *testing.T) {
	t.Parallel()
	handler := newHandler(t, nil)
	first := request{"GET", "/v1/openapi.json", "", nil}.sendTo(t, handler)
	tag := first.Header.Get("ETag")
	require.NotEmpty(t, first.Body)
	second := request{"GET", "/v1/openapi.json", "", []string{`If-None-Match: "other", W/` + tag}}.sendTo(t, handler)
	require.Equal(t, http.StatusNotModified, second.StatusCode)
	require.Empty(t, second.Body)
}

// Every schema, member and parameter has a description, and no description is left over.
func TestEverySchemaMemberHasADescription(t *testing.T) {
	t.Parallel()
	var doc struct {
		Components struct {
			Schemas             map[string]schemaText
			Parameters, Headers map[string]struct{ Description string }
		}
		Paths, Webhooks map[string]map[string]struct {
			Summary    string
			Tags       []string
			Parameters []struct {
				Name, Description string
				Ref               string `yaml:"$ref"`
			}
		}
	}
	text, err := os.ReadFile("openapi.yaml")
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, &doc))
	for name, schema := range doc.Components.Schemas {
		require.NotEmpty(t, schema.Description, name)
		for member, property := range schema.Properties {
			require.NotEmpty(t, property.Description, "%s.%s: describe it in graph/schema and make generate, or in descriptions.yaml", name, member)
		}
	}
	require.NotEmpty(t, doc.Webhooks)
	maps.Copy(doc.Paths, doc.Webhooks)
	for path, methods := range doc.Paths {
		for method, operation := range methods {
			require.NotEmpty(t, operation.Summary, path)
			require.Len(t, operation.Tags, 1, path)
			for _, parameter := range operation.Parameters {
				says := parameter.Description + doc.Components.Parameters[address.Base(parameter.Ref)].Description
				require.NotEmpty(t, says, "%s %s: %s", method, path, parameter.Name)
			}
		}
	}
	for name, header := range doc.Components.Headers {
		require.NotEmpty(t, header.Description, name)
	}
	var said map[string]map[string]string
	text, err = os.ReadFile("descriptions.yaml")
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, &said))
	delete(said, "Every")
	for name, members := range said {
		for member := range members {
			if member != "" {
				require.Contains(t, doc.Components.Schemas[name].Properties, member, "descriptions.yaml speaks of %s.%s", name, member)
			}
		}
	}
}

// Every event type is a webhook whose payload is an event of that type only, about the
// type of record that it names.
func TestOpenAPIWebhooksMatchTheEventCatalogue(t *testing.T) {
	t.Parallel()
	document, err := committedDocument()
	require.NoError(t, err)
	webhooks := document.doc["webhooks"].(map[string]any)
	require.Len(t, webhooks, len(event.Kinds()))
	for _, kind := range event.Kinds() {
		body := webhooks[string(kind.Type)].(map[string]any)["post"].(map[string]any)["requestBody"].(map[string]any)
		media := body["content"].(map[string]any)["application/json"].(map[string]any)
		at := "#/webhooks/" + string(kind.Type) + "/post/requestBody/content/application~1json/schema"
		text, err := json.Marshal(media["example"])
		require.NoError(t, err)
		document.requireSchema(t, string(kind.Type), at, text)
		event := decodeRecord[wire.Event](t, &reply{200, http.Header{"Content-Type": {"application/json"}}, text})
		require.Equal(t, kind.Subject, event.Subject.Type)
		require.Equal(t, string(kind.Type), event.Type)
	}
}

// A read accepts If-None-Match; a write accepts If-Match if it changes an existing
// record.
func TestIfMatchIsDeclaredWhereItApplies(t *testing.T) {
	t.Parallel()
	document, err := committedDocument()
	require.NoError(t, err)
	var conditional []string
	for path, methods := range document.paths {
		for method, operation := range methods.(map[string]any) {
			takes := map[string]bool{}
			parameters, _ := operation.(map[string]any)["parameters"].([]any)
			for _, parameter := range parameters {
				reference, _ := parameter.(map[string]any)["$ref"].(string)
				takes[address.Base(reference)] = true
			}
			_, unchanged := operation.(map[string]any)["responses"].(map[string]any)["304"]
			require.Equal(t, method == "get", unchanged && takes["If-None-Match"], "%s %s", method, path)
			require.Equal(t, method == "post", takes["Idempotency-Key"], "%s %s", method, path)
			if takes["If-Match"] {
				conditional = append(conditional, method+" "+path)
			}
		}
	}
	require.ElementsMatch(t, []string{
		"post /policies", "post /claims", "post /claims/{claim_id}/attachments", "post /claims/{claim_id}/messages", "post /payout_methods",
		"patch /webhook_endpoints/{endpoint_id}", "delete /webhook_endpoints/{endpoint_id}",
		"post /policies/{policy_id}/cancel", "post /claims/{claim_id}/withdraw", "post /claims/{claim_id}/challenge",
		"post /webhook_endpoints/{endpoint_id}/rotate_secret", "post /webhook_endpoints/{endpoint_id}/test",
	}, conditional)
}

type schemaText struct {
	Description string
	Properties  map[string]schemaText
}
