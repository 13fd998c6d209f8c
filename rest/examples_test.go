package rest_test

import (
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"parapet/model/wire"
)

// run runs the scenario up to the payout.
func (s *goldenRun) run(t *testing.T) {
	t.Helper()
	call := func(operation string, status int, method, path, body string) *reply {
		return s.callAndRecord(t, operation, status, method, path, body)
	}
	call("listProducts", 200, "GET", "/products", "")
	call("getProduct", 200, "GET", "/products/quake-circle", "")
	policy, quote := s.quoteAndBind(t)
	quake := s.earthquakeBody(t, "us1000chhc")
	s.reportObservations(t, "createObservations", "/observations", quake)
	claiming := `{"policy_id":"` + policy.ID + `","source_event":{"source":"usgs","id":"us1000chhc"},"description":"The shop is closed."}`
	claim := decodeRecord[wire.Claim](t, call("createClaim: for a measured event", 201, "POST", "/claims", claiming))
	call("createClaim: for a measured event", 200, "POST", "/claims", claiming)
	call("createClaim: for an operator to decide", 201, "POST", "/claims", `{"policy_id":"`+policy.ID+`","origin":"approval","description":"The port was closed for three days.","requested_amount":{"amount":150000,"currency":"USD"}}`)
	s.AdvanceClock(2 * time.Minute) // events within a minute may be one event
	s.reportObservations(t, "createSandboxObservations", "/sandbox/observations", s.earthquakeBody(t, "rehearsal-1"))
	of := "/claims/" + claim.ID
	attachment := decodeRecord[wire.Attachment](t, call("createAttachment", 201, "POST", of+"/attachments", `{"file_name":"rainfall.csv","content_type":"text/csv","content_base64":"ZGF5LG1tCjIwMTgtMDItMDYsMTIuNQoyMDE4LTAyLTA3LDMuMQo=","purpose":"evidence","description":"Rain on the two days.","sha256":"`+sha256Hex("day,mm\n2018-02-06,12.5\n2018-02-07,3.1\n")+`"}`))
	call("downloadAttachment", 200, "GET", strings.TrimPrefix(attachment.DownloadURL, "/v1"), "")
	call("createMessage", 201, "POST", of+"/messages", `{"body":"When will it be paid?"}`)
	call("createPayoutMethod: IBAN of one claim", 201, "POST", "/payout_methods", `{"claim_id":"`+claim.ID+`",`+ibanMembers)
	s.RunJobs()
	s.readOccurrence(t, policy.ID, claim)
	call("getQuote", 200, "GET", "/quotes/"+quote.ID, "")
	call("getQuoteBasis", 200, "GET", "/quotes/"+quote.ID+"/basis?limit=3", "")
	call("getPolicy", 200, "GET", "/policies/"+policy.ID, "")
	claim = decodeRecord[wire.Claim](t, call("getClaim", 200, "GET", of, ""))
	call("getPayout", 200, "GET", "/payouts/"+claim.Payouts[0].ID, "")
	for operation, path := range sortedEntries(map[string]string{
		"listQuotes": "/quotes", "listPolicies": "/policies", "listClaims": "/claims?policy_id=" + policy.ID,
		"listAttachments": of + "/attachments", "listMessages": of + "/messages", "listPayoutMethods": of + "/payout-methods", "listPayouts": of + "/payouts",
		"listAllPayouts": "/payouts?status=released", "listPolicyPayoutMethods": "/policies/" + policy.ID + "/payout-methods",
	}) {
		call(operation, 200, "GET", path, "")
	}
	page := decodeRecord[wire.List[wire.TimelineEntry]](t, call("listTimeline", 200, "GET", of+"/timeline?limit=2", ""))
	call("listTimeline", 200, "GET", of+"/timeline?cursor="+*page.NextCursor, "")
	call("listPolicyTimeline", 200, "GET", "/policies/"+policy.ID+"/timeline", "")
	s.recordPayoutMethods(t, policy.ID)
	s.cancelAndWithdraw(t, policy.ID)
	s.deliverWebhooks(t)
	call("getClaimReceipt", 200, "GET", of+"/receipt", "")
	call("getQuoteReceipt", 200, "GET", "/quotes/"+quote.ID+"/receipt", "")
	s.challengeDecision(t, claim.ID)
	s.useSandbox(t, claim.Payouts[0].ID)
}

// useSandbox starts every kind of run, and lets the rail report a payout.
func (s *goldenRun) useSandbox(t *testing.T, payout string) {
	t.Helper()
	s.releasePayouts(t)
	s.callAndRecord(t, "getSandboxClock", 200, "GET", "/sandbox/clock", "")
	s.callAndRecord(t, "moveSandboxClock", 202, "POST", "/sandbox/clock", `{"by":"P30D"}`)
	replay := decodeRecord[wire.SandboxRun](t, s.callAndRecord(t, "createSandboxReplay: an earthquake at another place", 202, "POST", "/sandbox/replays", `{"event":"us1000chhc","location":{"latitude":23.98,"longitude":121.61}}`))
	s.callAndRecord(t, "createSandboxReplay: a summer of Merced at Milwaukee", 202, "POST", "/sandbox/replays", `{"event":"Merced/1996-06-01","days":92,"station":"Milwaukee"}`)
	for _, outcome := range []string{"settle", "return", "mismatch"} {
		s.callAndRecord(t, outcome+"SandboxPayout", 202, "POST", "/sandbox/payouts/"+payout+"/"+outcome, "")
	}
	endpoint := decodeRecord[wire.WebhookEndpoint](t, s.post(t, 201, "/v1/webhook_endpoints", `{"url":"https://hooks.example.com/rehearsal"}`))
	s.callAndRecord(t, "sendBadSignature", 202, "POST", "/sandbox/webhook_endpoints/"+endpoint.ID+"/bad_signature", "")
	s.callAndRecord(t, "resetSandbox", 202, "POST", "/sandbox/reset", "")
	s.callAndRecord(t, "listSandboxRuns", 200, "GET", "/sandbox/runs?limit=2", "")
	s.callAndRecord(t, "getSandboxRun", 200, "GET", "/sandbox/runs/"+replay.ID, "")
	s.callAndRecord(t, "getSandboxChecklist", 200, "GET", "/sandbox/checklist", "")
}

// readOccurrence reads the occurrence and its explanation.
func (s *goldenRun) readOccurrence(t *testing.T, policy string, claim *wire.Claim) {
	t.Helper()
	s.callAndRecord(t, "getOccurrence", 200, "GET", "/occurrences/"+claim.Occurrence.ID, "")
	of := `{"policy_id":"` + policy + `",`
	s.callAndRecord(t, "explainOccurrence: what happened", 200, "POST", "/explain", of+`"source_event":{"source":"usgs","id":"us1000chhc"}}`)
	s.callAndRecord(t, "explainOccurrence: an earthquake that might happen", 200, "POST", "/explain", of+`"what_if":{"earthquake":{"location":{"latitude":23.9,"longitude":121.7},"magnitude":"7.1"}}}`)
	s.callAndRecord(t, "explainOccurrence: a storm that might happen", 200, "POST", "/explain", of+`"what_if":{"storm":{"fixes":[{"location":{"latitude":24.5,"longitude":-81.5},"wind_kn":"115","pressure_hpa":"929"}]}}}`)
	s.callAndRecord(t, "explainOccurrence: a hot day that might happen", 200, "POST", "/explain", of+`"what_if":{"temperature":{"station":"Milwaukee","days":[{"day":"2026-07-19T00:00:00Z","temperature_max_c":"34.5"}]}}}`)
}

// cancelAndWithdraw cancels cover that has not begun, and withdraws a claim.
func (s *goldenRun) cancelAndWithdraw(t *testing.T, policy string) {
	t.Helper()
	begins := s.Now().Add(48 * time.Hour).Format(time.RFC3339)
	quote := decodeRecord[wire.Quote](t, s.callAndRecord(t, "createQuote: cover that begins later", 201, "POST", "/quotes", `{"product":"quake-circle","context":{"partner":"acme","starts_at":"`+begins+`"}}`))
	later := decodeRecord[wire.Policy](t, s.post(t, 201, "/v1/policies", `{"quote_id":"`+quote.ID+`"}`))
	s.callAndRecord(t, "cancelPolicy", 200, "POST", "/policies/"+later.ID+"/cancel", "")
	claim := decodeRecord[wire.Claim](t, s.post(t, 201, "/v1/claims", `{"policy_id":"`+policy+`","description":"The sign fell down."}`))
	s.callAndRecord(t, "withdrawClaim", 200, "POST", "/claims/"+claim.ID+"/withdraw", "")
}

// challengeDecision challenges the decision on a claim.
func (s *goldenRun) challengeDecision(t *testing.T, claim string) {
	t.Helper()
	s.callAndRecord(t, "challengeClaim", 200, "POST", "/claims/"+claim+"/challenge", `{"reason":"The station next door measured 0.3 more."}`)
}

// deliverWebhooks delivers the events so far to an endpoint.
func (s *goldenRun) deliverWebhooks(t *testing.T) {
	t.Helper()
	endpoint := decodeRecord[wire.WebhookEndpoint](t, s.callAndRecord(t, "createWebhookEndpoint", 201, "POST", "/webhook_endpoints",
		`{"url":"https://hooks.example.com/parapet","event_types":["claim.approved","payout.released"],"partner_reference":"production"}`))
	s.Relay()
	s.RunJobs()
	of := "/webhook_endpoints/" + endpoint.ID
	s.callAndRecord(t, "updateWebhookEndpoint", 200, "PATCH", of, `{"event_types":["*"],"metadata":{"team":"claims"}}`)
	s.callAndRecord(t, "listWebhookEndpoints", 200, "GET", "/webhook_endpoints", "")
	s.callAndRecord(t, "getWebhookEndpoint", 200, "GET", of, "")
	s.callAndRecord(t, "rotateWebhookSecret", 200, "POST", of+"/rotate_secret", "")
	s.callAndRecord(t, "testWebhookEndpoint", 202, "POST", of+"/test", "")
	s.RunJobs()
	deliveries := decodeRecord[wire.List[wire.Delivery]](t, s.callAndRecord(t, "listDeliveries", 200, "GET", of+"/deliveries", ""))
	require.Equal(t, "delivered", deliveries.Data[0].Status)
	s.callAndRecord(t, "retryDelivery", 202, "POST", "/deliveries/"+deliveries.Data[0].ID+"/retry", "")
	events := decodeRecord[wire.List[wire.Event]](t, s.callAndRecord(t, "listEvents", 200, "GET", "/events?after_sequence=0&types=quote.created,quote.bound&limit=2", ""))
	s.callAndRecord(t, "getEvent", 200, "GET", "/events/"+events.Data[0].ID, "")
	s.callAndRecord(t, "deleteWebhookEndpoint", 204, "DELETE", of, "")
}

// quoteAndBind prices every product and binds the quote of quake-circle.
func (s *goldenRun) quoteAndBind(t *testing.T) (*wire.Policy, *wire.Quote) {
	t.Helper()
	const place = `"location":{"latitude":23.98,"longitude":121.61},"limit":{"amount":10000000,"currency":"USD"}`
	quote := decodeRecord[wire.Quote](t, s.callAndRecord(t, "createQuote: earthquake", 201, "POST", "/quotes", `{"product":"quake-circle","context":{"partner":"acme",`+place+`},"partner_reference":"enquiry-4711"}`))
	for name, body := range sortedEntries(map[string]string{
		"every default":  `{"product":"quake-circle","context":{"partner":"acme"}}`,
		"hurricane":      `{"product":"cyclone-circle","context":{"partner":"acme","location":{"latitude":25.7617,"longitude":-80.1918},"radius_km":50,"limit":{"amount":25000000,"currency":"USD"},"term":"P365D"}}`,
		"storm in a box": `{"product":"cyclone-pressure","context":{"partner":"acme","box":{"west":-78.4,"south":17.7,"east":-76.1,"north":18.6},"limit":{"amount":25000000,"currency":"USD"}}}`,
		"too much rain":  `{"product":"rain-excess","context":{"partner":"acme","station":"Milwaukee"},"metadata":{"farm":"17"}}`,
		"too dry":        `{"product":"rain-deficit","context":{"partner":"acme","station":"Milwaukee","calendar":"month","attach":"10","exhaust":"0"}}`,
	}) {
		s.callAndRecord(t, "createQuote: "+name, 201, "POST", "/quotes", body)
	}
	body := `{"quote_id":"` + quote.ID + `","policyholder":{"name":"Lin Mei-hua","country":"TW"},"partner_reference":"booking-4711"}`
	return decodeRecord[wire.Policy](t, s.callAndRecord(t, "createPolicy", 201, "POST", "/policies", body)), quote
}

// reportObservations reports one observation, the same one again, and a batch.
func (s *goldenRun) reportObservations(t *testing.T, operation, path, quake string) {
	t.Helper()
	at := strings.SplitAfter(strings.SplitAfter(quake, `"occurred_at":"`)[1], `"`)[0]
	s.callAndRecord(t, operation+": earthquake", 201, "POST", path, quake)
	s.callAndRecord(t, operation+": earthquake", 200, "POST", path, quake)
	fix := `{"source":"nhc","source_event_id":"AL092017","kind":"storm_fix","occurred_at":"` + at + `,"stage":"preliminary","location":{"latitude":24.5,"longitude":-81.5},"measures":{"wind":{"value":"115","unit":"kn"},"pressure":{"value":"929","unit":"hPa"}}}`
	day := `{"source":"ghcn","source_event_id":"Seattle","kind":"station_day","occurred_at":"2026-11-19T00:00:00Z","stage":"final","station":"Seattle","measures":{"precipitation":{"value":"12.5","unit":"mm"}}}`
	batch := map[string]string{ // the source may report as usgs only
		"/observations":         strings.NewReplacer("us1000chhc", "us6000m0xl", `"6.4"`, `"4.9"`).Replace(quake) + `,` + quake + `,` + fix,
		"/sandbox/observations": fix + `,` + day + `,` + quake,
	}[path]
	s.callAndRecord(t, operation+": batch", 200, "POST", path, `{"observations":[`+batch+`]}`)
}

// recordPayoutMethods records an account of every type.
func (s *goldenRun) recordPayoutMethods(t *testing.T, policy string) {
	t.Helper()
	payee := `{"policy_id":"` + policy + `","beneficiary":{"name":"Lin Mei-hua","country":"TW"},"currency":"USD",`
	s.callAndRecord(t, "createPayoutMethod: US account of a policy", 201, "POST", "/payout_methods", payee+`"type":"us_bank_account","us_bank_account":{"routing_number":"021000021","account_number":"000123456789","account_type":"checking"}}`)
	method := decodeRecord[wire.PayoutMethod](t, s.callAndRecord(t, "createPayoutMethod: mobile money", 201, "POST", "/payout_methods", payee+`"type":"mobile_money","mobile_money":{"msisdn":"+254712345678","provider":"mpesa"}}`))
	s.callAndRecord(t, "getPayoutMethod", 200, "GET", "/payout_methods/"+method.ID, "")
}

// sortedEntries iterates over a map by name, so that the scenario is reproducible.
func sortedEntries(all map[string]string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if !yield(name, all[name]) {
				return
			}
		}
	}
}

// saveExample stores a call as the example of its operation. A name after the operation's
// name makes it one of several examples: of requests, or of responses that create
// nothing.
func (s *goldenRun) saveExample(t *testing.T, operation string, r request, answer *reply) {
	t.Helper()
	if !strings.HasSuffix(answer.Header.Get("Content-Type"), "json") {
		return
	}
	operation, name, several := strings.Cut(operation, ": ")
	if s.examples[operation] == nil {
		s.examples[operation] = map[string]any{}
	}
	asked, answered := "request", strconv.Itoa(answer.StatusCode)
	if several {
		asked += " " + name
	}
	if several && answer.StatusCode == http.StatusOK {
		answered += " " + name
	}
	if r.body != "" && s.examples[operation][asked] == nil {
		s.examples[operation][asked] = decodeExample(t, []byte(r.body))
	}
	if s.examples[operation][answered] == nil {
		s.examples[operation][answered] = decodeExample(t, answer.Body)
	}
}

// decodeExample decodes JSON and shortens long lists, because people read examples.
func decodeExample(t *testing.T, text []byte) any {
	t.Helper()
	var value any
	require.NoError(t, json.Unmarshal(text, &value))
	return truncateLists(value)
}

func truncateLists(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name := range v {
			v[name] = truncateLists(v[name])
		}
	case []any:
		for i := range v {
			v[i] = truncateLists(v[i])
		}
		return v[:min(len(v), 3)]
	}
	return value
}

func sha256Hex(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// Every request body and response in the document has an example that matches its schema.
func TestExamplesMatchTheirSchemas(t *testing.T) {
	t.Parallel()
	document, err := committedDocument()
	require.NoError(t, err)
	checked := 0
	var walk func(at string, node map[string]any)
	walk = func(at string, node map[string]any) {
		for name, inner := range node {
			below, object := inner.(map[string]any)
			if object && name == "application/json" {
				shown := examplesOf(below)
				require.NotEmpty(t, shown, at)
				compilerMutex.Lock()
				schema, err := document.compiler.Compile("openapi.json#" + at + "/application~1json/schema")
				compilerMutex.Unlock()
				require.NoError(t, err)
				for _, example := range shown {
					require.NoError(t, validateSchema(t, schema, example), at)
					checked++
				}
			} else if object {
				walk(at+"/"+escapePointer(name), below)
			}
		}
	}
	walk("/paths", document.paths)
	require.Greater(t, checked, 30)
}

// examplesOf returns the examples of a body: one, or several with names.
func examplesOf(media map[string]any) []any {
	var shown []any
	if example, single := media["example"]; single {
		shown = append(shown, example)
	}
	several, _ := media["examples"].(map[string]any)
	for _, example := range several {
		shown = append(shown, example.(map[string]any)["value"])
	}
	return shown
}
