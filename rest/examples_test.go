package rest_test

import (
	"flag"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"parapet/model/wire"
)

var examples = flag.Bool("examples", false, "write examples.json anew from a real story; then run -update")

// story is what examples are: a request and its answers, by operation.
type story map[string]map[string]any

// keep notes a call as the example of its operation.
func (s story) keep(t *testing.T, operation string, r request, answer *reply) *reply {
	t.Helper()
	if s[operation] == nil {
		s[operation] = map[string]any{}
	}
	if r.method == http.MethodPost {
		s[operation]["request"] = readable(t, []byte(r.body))
	}
	s[operation][strconv.Itoa(answer.StatusCode)] = readable(t, answer.Body)
	return answer
}

// readable is JSON with its long lists cut: an example is read by people.
func readable(t *testing.T, text []byte) any {
	t.Helper()
	var value any
	require.NoError(t, json.Unmarshal(text, &value))
	return cut(value)
}

func cut(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name := range v {
			v[name] = cut(v[name])
		}
	case []any:
		for i := range v {
			v[i] = cut(v[i])
		}
		return v[:min(len(v), 3)]
	}
	return value
}

// TestExamples tells the story that the document's examples are from. Written
// down once, they stay until somebody wants others.
func TestExamples(t *testing.T) {
	t.Parallel()
	h, told := newHouse(t), story{}
	call := func(operation string, status int, method, path, body string) *reply {
		r := request{method, "/v1" + path, body, nil}
		client := map[bool]string{true: "source", false: "acme"}[path == "/observations"]
		answer := h.as(t, client, nil, r)
		require.Equal(t, status, answer.StatusCode, "%s: %s", operation, answer.Body)
		return told.keep(t, operation, r, answer)
	}
	call("listProducts", 200, "GET", "/products", "")
	call("getProduct", 200, "GET", "/products/quake-circle", "")
	quote := record[wire.Quote](t, call("createQuote", 201, "POST", "/quotes", strings.Replace(hualien, `}}}`, `},"limit":{"amount":10000000,"currency":"USD"}},"partner_reference":"enquiry-4711"}`, 1)))
	policy := record[wire.Policy](t, call("createPolicy", 201, "POST", "/policies", `{"quote_id":"`+quote.ID+`","policyholder":{"name":"Lin Mei-hua","country":"TW"},"partner_reference":"booking-4711"}`))
	quake, rehearsal := h.quake(t, "us1000chhc"), h.quake(t, "rehearsal-1")
	call("createObservations", 201, "POST", "/observations", quake)
	call("createObservations", 200, "POST", "/observations", quake)
	claiming := `{"policy_id":"` + policy.ID + `","source_event":{"source":"usgs","id":"us1000chhc"},"description":"The shop is closed."}`
	claim := record[wire.Claim](t, call("createClaim", 201, "POST", "/claims", claiming))
	call("createClaim", 200, "POST", "/claims", claiming)
	call("createSandboxObservations", 201, "POST", "/sandbox/observations", rehearsal)
	call("createSandboxObservations", 200, "POST", "/sandbox/observations", rehearsal)
	of := "/claims/" + claim.ID
	call("createAttachment", 201, "POST", of+"/attachments", body("/attachments"))
	call("createMessage", 201, "POST", of+"/messages", `{"body":"When will it be paid?"}`)
	call("createPayoutMethod", 201, "POST", "/payout_methods", `{"claim_id":"`+claim.ID+`",`+iban)
	h.Work()
	call("getQuote", 200, "GET", "/quotes/"+quote.ID, "")
	call("getPolicy", 200, "GET", "/policies/"+policy.ID, "")
	claim = record[wire.Claim](t, call("getClaim", 200, "GET", of, ""))
	call("getPayout", 200, "GET", "/payouts/"+claim.Payouts[0].ID, "")
	for operation, path := range map[string]string{
		"listQuotes": "/quotes", "listPolicies": "/policies", "listClaims": "/claims?policy_id=" + policy.ID, "listTimeline": of + "/timeline?limit=2",
		"listAttachments": of + "/attachments", "listMessages": of + "/messages", "listPayoutMethods": of + "/payout-methods", "listPayouts": of + "/payouts",
	} {
		call(operation, 200, "GET", path, "")
	}
	if *examples {
		text, err := json.Marshal(told, json.Deterministic(true), jsontext.WithIndent("\t"))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile("examples.json", append(text, '\n'), 0o644))
	}
}

// Every body and every answer in the document has an example, which is what its
// schema says.
func TestExamplesAreTrue(t *testing.T) {
	t.Parallel()
	document, err := committed()
	require.NoError(t, err)
	checked := 0
	var walk func(at string, node map[string]any)
	walk = func(at string, node map[string]any) {
		for name, inner := range node {
			below, object := inner.(map[string]any)
			if object && name == "application/json" {
				require.Contains(t, below, "example", at)
				compiling.Lock()
				schema, err := document.compiler.Compile("openapi.json#" + at + "/application~1json/schema")
				compiling.Unlock()
				require.NoError(t, err)
				require.NoError(t, valid(t, schema, below["example"]), at)
				checked++
			} else if object {
				walk(at+"/"+escape(name), below)
			}
		}
	}
	walk("/paths", document.paths)
	require.Greater(t, checked, 30)
}
