package rest_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// EndpointRow is a row of the contract's table, with a request that works for acme.
type endpointRow struct {
	method, path, body string
	scope              actor.Scope
	status             int
	foreignStatus      int // status of the response to another partner
}

// idPattern matches an id in an address or a body; unknownID is an id of the same type that
// was never used.
var (
	idPattern = regexp.MustCompile(`\b(quo|pol|clm|att|pay|pmt|occ|evt|whe|dlv|run)_[0-9a-z]{26}\b`)
	unknownID = "${1}_01h455vb4pex5vsknk084sn02q"
)

// contractEndpoints calls every endpoint: the right token succeeds, a token without the
// scope gets 403, and the response for a record of another partner is the same 404 as for
// a record that never existed.
func contractEndpoints(t *testing.T) {
	t.Helper()
	h := newTestServer(t)
	for _, e := range h.endpointRows(t) {
		name, _, _ := strings.Cut(idPattern.ReplaceAllString(e.path, "{$1}"), "?")
		t.Run(e.method+" "+name+" "+string(e.scope), func(t *testing.T) {
			call := request{e.method, "/v1" + e.path, e.body, nil}
			scopes := []string{string(e.scope)}
			p := requireProblem(t, h.sendAs(t, "acme", []string{otherScope(e.path)}, call))
			require.Equal(t, string(apperr.CodeInsufficientScope), p.Code)
			require.Contains(t, p.Detail, strings.Replace(string(e.scope), "payouts:read", "claims:read", 1), "the first of two")
			h.requireHiddenFromOthers(t, e, call, scopes)
			for _, base := range []string{"/parametric/v1", "/v1"} {
				answer := h.sendAs(t, "acme", scopes, request{e.method, base + e.path, e.body, []string{"Idempotency-Key: both-bases"}})
				require.Equal(t, e.status, answer.StatusCode, "%s", answer.Body)
			}
		})
	}
}

// requireHiddenFromOthers calls the endpoint as another partner.
func (h *testServer) requireHiddenFromOthers(t *testing.T, e endpointRow, call request, scopes []string) {
	t.Helper()
	answer := h.sendAs(t, "globex", scopes, call)
	require.Equal(t, e.foreignStatus, answer.StatusCode, "%s", answer.Body)
	if e.foreignStatus != 404 {
		return
	}
	p := requireProblem(t, answer)
	call.path, call.body = idPattern.ReplaceAllString(call.path, unknownID), idPattern.ReplaceAllString(call.body, unknownID)
	never := requireProblem(t, h.sendAs(t, "globex", scopes, call))
	never.Instance, never.RequestID = p.Instance, p.RequestID
	require.Equal(t, p, never)
}

func (h *testServer) endpointRows(t *testing.T) []endpointRow {
	t.Helper()
	quote, policy, claim := h.createClaim(t)
	fresh := h.Quote("quake-circle", nil)
	of, payout := "/claims/"+claim.ID, "/payouts/"+claim.Payouts[0].ID
	file := decodeRecord[wire.Attachment](t, h.post(t, 201, "/v1"+of+"/attachments", requestBody("/attachments")))
	method := decodeRecord[wire.PayoutMethod](t, h.post(t, 201, "/v1/payout_methods", `{"policy_id":"`+policy.ID+`",`+ibanMembers))
	h.releasePayouts(t)
	scheduled := h.QuoteAndBind("quake-circle", modeltest.Context{"starts_at": h.Now().Add(48 * time.Hour).Format(time.RFC3339)})
	waiting := decodeRecord[wire.Claim](t, h.post(t, 201, "/v1/claims", `{"policy_id":"`+policy.ID+`"}`))
	weak := decodeRecord[wire.Observation](t, h.post(t, 201, "/v1/sandbox/observations", strings.Replace(h.earthquakeBody(t, "weak"), `"6.4"`, `"3.4"`, 1)))
	sent := h.deliverTestEvent(t)
	run := decodeRecord[wire.SandboxRun](t, h.post(t, 202, "/v1/sandbox/replays", `{"event":"us1000chhc"}`))
	return []endpointRow{
		{"POST", "/quotes", quoteBody, actor.ScopeQuotesWrite, 201, 403},
		{"GET", "/quotes/" + quote.ID, "", actor.ScopeQuotesRead, 200, 404},
		{"GET", "/quotes/" + quote.ID + "/basis", "", actor.ScopeQuotesRead, 200, 404},
		{"POST", "/policies", `{"quote_id":"` + fresh.ID + `"}`, actor.ScopePoliciesWrite, 201, 404},
		{"GET", "/policies/" + policy.ID, "", actor.ScopePoliciesRead, 200, 404},
		{"GET", "/policies/" + policy.ID + "/timeline", "", actor.ScopePoliciesRead, 200, 404},
		{"POST", "/policies/" + scheduled.ID + "/cancel", "", actor.ScopePoliciesWrite, 200, 404},
		{"POST", "/explain", `{"policy_id":"` + policy.ID + `","what_if":{"earthquake":{"location":{"latitude":23.98,"longitude":121.61},"magnitude":"7.0"}}}`, actor.ScopePoliciesRead, 200, 404},
		{"GET", "/occurrences/" + claim.Occurrence.ID, "", actor.ScopePoliciesRead, 200, 404},
		{"GET", "/occurrences/" + claim.Occurrence.ID + "/progress", "", actor.ScopeClaimsRead, 200, 404},
		{"POST", "/claims", `{"policy_id":"` + policy.ID + `"}`, actor.ScopeClaimsWrite, 201, 404},
		{"GET", of, "", actor.ScopeClaimsRead, 200, 404},
		{"GET", of + "/timeline", "", actor.ScopeClaimsRead, 200, 404},
		{"POST", of + "/attachments", requestBody("/attachments"), actor.ScopeClaimsWrite, 201, 404},
		{"GET", of + "/attachments", "", actor.ScopeClaimsRead, 200, 404},
		{"POST", of + "/messages", `{"body":"hello"}`, actor.ScopeClaimsWrite, 201, 404},
		{"GET", of + "/messages", "", actor.ScopeClaimsRead, 200, 404},
		{"POST", "/payout_methods", `{"claim_id":"` + claim.ID + `",` + ibanMembers, actor.ScopePayoutMethodsWrite, 201, 404},
		{"GET", of + "/payout-methods", "", actor.ScopeClaimsRead, 200, 404},
		{"GET", "/policies/" + policy.ID + "/payout-methods", "", actor.ScopeClaimsRead, 200, 404},
		{"GET", "/payout_methods/" + method.ID, "", actor.ScopeClaimsRead, 200, 404},
		{"POST", of + "/challenge", `{"reason":"It was stronger."}`, actor.ScopeClaimsWrite, 200, 404},
		{"POST", "/claims/" + waiting.ID + "/withdraw", "", actor.ScopeClaimsWrite, 200, 404},
		{"GET", "/payouts?claim_id=" + claim.ID, "", actor.ScopeClaimsRead, 200, 200},
		{"GET", "/payouts?policy_id=" + policy.ID, "", actor.ScopePayoutsRead, 200, 200},

		{"GET", "/quotes", "", actor.ScopeQuotesRead, 200, 200},
		{"GET", "/policies", "", actor.ScopePoliciesRead, 200, 200},
		{"GET", "/claims?policy_id=" + policy.ID, "", actor.ScopeClaimsRead, 200, 200},
		{"GET", "/observations/" + weak.ID + "/revisions", "", actor.ScopeClaimsRead, 200, 404},
		{"GET", "/sources", "", actor.ScopePoliciesRead, 200, 200},
		{"GET", "/products", "", actor.ScopeProductsRead, 200, 200},
		{"GET", "/products/quake-circle", "", actor.ScopeProductsRead, 200, 200},
		{"GET", of + "/payouts", "", actor.ScopeClaimsRead, 200, 404},
		{"GET", of + "/payouts", "", actor.ScopePayoutsRead, 200, 404},
		{"GET", payout, "", actor.ScopeClaimsRead, 200, 404},
		{"GET", payout, "", actor.ScopePayoutsRead, 200, 404},
		{"GET", of + "/attachments/" + file.ID + "/content", "", actor.ScopeClaimsRead, 200, 404},
		{"GET", "/events", "", actor.ScopeEventsRead, 200, 200},
		{"GET", "/events/" + sent.EventID, "", actor.ScopeEventsRead, 200, 404},
		{"POST", "/webhook_endpoints", `{"url":"https://hooks.example.com"}`, actor.ScopeWebhooksWrite, 201, 201},
		{"GET", "/webhook_endpoints", "", actor.ScopeWebhooksRead, 200, 200},
		{"GET", "/webhook_endpoints/" + sent.EndpointID, "", actor.ScopeWebhooksRead, 200, 404},
		{"PATCH", "/webhook_endpoints/" + sent.EndpointID, `{"ordered":true}`, actor.ScopeWebhooksWrite, 200, 404},
		{"POST", "/webhook_endpoints/" + sent.EndpointID + "/rotate_secret", "", actor.ScopeWebhooksWrite, 200, 404},
		{"POST", "/webhook_endpoints/" + sent.EndpointID + "/test", "", actor.ScopeWebhooksWrite, 202, 404},
		{"GET", "/webhook_endpoints/" + sent.EndpointID + "/deliveries", "", actor.ScopeWebhooksRead, 200, 404},
		{"POST", "/deliveries/" + sent.ID + "/retry", "", actor.ScopeWebhooksWrite, 202, 404},
		{"POST", "/sandbox/observations", h.earthquakeBody(t, "drill"), actor.ScopeClaimsWrite, 201, 201},
		{"GET", "/sandbox/clock", "", actor.ScopeClaimsRead, 200, 200},
		{"POST", "/sandbox/clock", `{"by":"P1D"}`, actor.ScopeClaimsWrite, 409, 202}, // the other partner's run moves it
		{"POST", "/sandbox/replays", `{"event":"us1000chhc"}`, actor.ScopeClaimsWrite, 202, 202},
		{"GET", "/sandbox/runs", "", actor.ScopeClaimsRead, 200, 200},
		{"GET", "/sandbox/runs/" + run.ID, "", actor.ScopeClaimsRead, 200, 404},
		{"GET", "/sandbox/checklist", "", actor.ScopeClaimsRead, 200, 200},
		{"POST", "/sandbox" + payout + "/settle", "", actor.ScopeClaimsWrite, 202, 404},
		{"POST", "/sandbox" + payout + "/return", "", actor.ScopeClaimsWrite, 202, 404},
		{"POST", "/sandbox" + payout + "/mismatch", "", actor.ScopeClaimsWrite, 202, 404},
		{"POST", "/sandbox/webhook_endpoints/" + sent.EndpointID + "/bad_signature", "", actor.ScopeWebhooksWrite, 202, 404},
		{"POST", "/sandbox/reset", "", actor.ScopeClaimsWrite, 202, 202},
	}
}

// These rules limit operations beyond the scope.
func rolesAreEnforced(t *testing.T) {
	t.Helper()
	h := newTestServer(t)
	_, _, claim := h.createClaim(t)
	status := func(client, method, path, body string) int {
		return h.sendAs(t, client, nil, request{method, "/v1" + path, body, nil}).StatusCode
	}
	require.Equal(t, 200, status("operator", "GET", "/claims/"+claim.ID, ""), "operators read every partner's records")
	require.Equal(t, 403, status("operator", "POST", "/quotes", quoteBody), "and do not act for partners")
	require.Equal(t, 403, status("operator", "POST", "/observations", h.earthquakeBody(t, "op")))
	require.Equal(t, 403, status("source", "GET", "/claims/"+claim.ID, ""), "a source sees no claims")
	require.Equal(t, 201, status("source", "POST", "/observations", h.earthquakeBody(t, "own")))
	require.Equal(t, 403, status("source", "POST", "/observations", strings.Replace(h.earthquakeBody(t, "other"), "usgs", "nhc", 1)), "a source posts its own only")
}

// A rehearsal affects only the caller's own policies.
func sandboxIsPerPartner(t *testing.T) {
	t.Helper()
	h := newTestServer(t)
	mine, theirs := h.QuoteAndBind("quake-circle", nil), h.ActingAs(h.Globex).QuoteAndBind("quake-circle", nil)
	h.post(t, 201, "/v1/sandbox/observations", h.earthquakeBody(t, "drill"))
	h.RunJobs()
	require.Len(t, h.Claims(mine), 1)
	require.Empty(t, h.ActingAs(h.Globex).Claims(theirs))
}
