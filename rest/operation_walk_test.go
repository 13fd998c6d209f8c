package rest_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"parapet/model/wire"
)

// operationWalker calls every operation of the committed document.
type operationWalker struct {
	*testServer

	t       *testing.T
	base    string
	ids     map[string]string  // path parameters
	bodies  map[string]string  // a valid request with every member, by path
	context *jsonschema.Schema // schema of the quoted product
	counts  map[string]int
}

// Every operation of the document is called under both base addresses: without a token,
// without the scope, by a foreign partner, with invalid headers and parameters, with a
// broken body, and with every member of its body, at any depth, invalid, null, too long
// or missing. Each call is rejected as the contract specifies, with documented codes, and
// none with 500.
func TestWalkEveryOperation(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"/v1", "/parametric/v1"} {
		t.Run(strings.Trim(base, "/"), func(t *testing.T) {
			t.Parallel()
			w := newOperationWalker(t, base)
			document, err := committedDocument()
			require.NoError(t, err)
			for _, path := range slices.Sorted(maps.Keys(document.paths)) {
				for _, method := range []string{"DELETE", "GET", "PATCH", "POST", "PUT"} {
					if operation, _ := document.findOperation(path, method); operation != nil {
						w.checkOperation(method, path, operation)
					} else {
						w.sendWrongMethod(method, path, document.paths[path].(map[string]any))
					}
				}
			}
			require.Greater(t, w.counts["calls"], 700)
			require.Zero(t, w.counts["5xx"])
			t.Logf("walked %s: 5xx:0 %v", base, w.counts)
		})
	}
}

// newOperationWalker creates a record of every type that paths refer to.
func newOperationWalker(t *testing.T, base string) *operationWalker {
	t.Helper()
	h := newTestServer(t)
	quote, policy, claim := h.createClaim(t)
	attachment := decodeRecord[wire.Attachment](t, h.post(t, 201, "/v1/claims/"+claim.ID+"/attachments", requestBody("/attachments")))
	product := decodeRecord[wire.Product](t, h.get(t, "/v1/products/quake-circle"))
	w := &operationWalker{testServer: h, t: t, base: base, counts: map[string]int{}, context: compileSchema(t, product.Context), ids: map[string]string{
		"quote_id": quote.ID, "policy_id": policy.ID, "claim_id": claim.ID, "payout_id": claim.Payouts[0].ID,
		"attachment_id": attachment.ID, "key": "quake-circle", "occurrence_id": claim.Occurrence.ID,
		"payout_method_id": decodeRecord[wire.PayoutMethod](t, h.post(t, 201, "/v1/payout_methods", `{"policy_id":"`+policy.ID+`",`+ibanMembers)).ID,
	}}
	weak := strings.Replace(h.earthquakeBody(t, "weak"), `"6.4"`, `"3.4"`, 1)
	w.ids["observation_id"] = decodeRecord[wire.Observation](t, h.post(t, 201, "/v1/sandbox/observations", weak)).ID
	w.ids["run_id"] = decodeRecord[wire.SandboxRun](t, h.post(t, 202, "/v1/sandbox/replays", `{"event":"us1000chhc"}`)).ID
	sent := h.deliverTestEvent(t)
	w.ids["endpoint_id"], w.ids["delivery_id"], w.ids["event_id"] = sent.EndpointID, sent.ID, sent.EventID
	w.bodies = w.completeBodies(h.earthquakeBody(t, "walk"))
	return w
}

// completeBodies are requests with every possible member.
func (w *operationWalker) completeBodies(observation string) map[string]string {
	references := `"partner_reference":"walk","metadata":{"a":"b"}}`
	return map[string]string{
		"/quotes": `{"product":"quake-circle","context":{"partner":"acme","location":{"latitude":23.98,"longitude":121.61},"radius_km":50,"limit":{"amount":10000000,
			"currency":"USD"},"term":"P365D","maximum_depth_km":100,"steps":[{"threshold":"6.0","factor":"0.20"}],"policyholder":{"name":"Lin"}},` + references,
		"/policies":                        `{"quote_id":"` + w.ids["quote_id"] + `","policyholder":{"name":"Lin","email":"lin@example.com","country":"TW"},` + references,
		"/claims":                          `{"policy_id":"` + w.ids["policy_id"] + `","origin":"trigger","description":"d","source_event":{"source":"usgs","id":"x"},` + references,
		"/claims/{claim_id}/attachments":   `{"file_name":"a.txt","content_type":"text/plain","content_base64":"aGVsbG8=","purpose":"p","description":"d","sha256":"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"}`,
		"/claims/{claim_id}/messages":      `{"body":"hello"}`,
		"/claims/{claim_id}/challenge":     `{"reason":"The station was moved.","attachment_ids":["` + w.ids["attachment_id"] + `"]}`,
		"/payout_methods":                  `{"claim_id":"` + w.ids["claim_id"] + `",` + strings.TrimSuffix(ibanMembers, "}}") + `,"bic":"COBADEFFXXX"},` + references,
		"/webhook_endpoints":               `{"url":"https://hooks.example.com","event_types":["claim.approved"],"ordered":true,` + references,
		"/webhook_endpoints/{endpoint_id}": `{"url":"https://hooks.example.com","event_types":["*"],"ordered":true,"status":"enabled",` + references,
		"/observations":                    observation,
		"/explain":                         `{"policy_id":"` + w.ids["policy_id"] + `","what_if":{"earthquake":{"location":{"latitude":23.98,"longitude":121.61},"magnitude":"7.0","depth_km":"17","at":"2026-11-19T00:00:00Z"}}}`,
		"/sandbox/observations":            observation,
		"/sandbox/clock":                   `{"to":"2027-06-01T00:00:00Z","by":"P30D"}`,
		"/sandbox/replays":                 `{"event":"us1000chhc","upload":{"source":"usgs","content":"{}"},"days":3,"location":{"latitude":23.98,"longitude":121.61},"station":"Seattle"}`,
	}
}

// pathOf returns the address of the record of a path.
func (w *operationWalker) pathOf(template string) string {
	path := w.base + template
	for name, id := range w.ids {
		path = strings.ReplaceAll(path, "{"+name+"}", id)
	}
	return path
}

// sendWrongMethod sends a method that the path does not accept.
func (w *operationWalker) sendWrongMethod(method, template string, takes map[string]any) {
	allowed := []string{}
	for name := range takes {
		allowed = append(allowed, strings.ToUpper(name))
	}
	if takes["get"] != nil {
		allowed = append(allowed, "HEAD")
	}
	slices.Sort(allowed)
	answer := w.expectStatus("other method", "acme", nil, request{method, w.pathOf(template), "", nil}, 405)
	require.Equal(w.t, strings.Join(allowed, ", "), answer.Header.Get("Allow"))
}

func (w *operationWalker) checkOperation(method, template string, operation map[string]any) {
	path, client, good := w.pathOf(template), "acme", ""
	if template == "/observations" {
		client = "source"
	}
	if operation["requestBody"] != nil {
		good = w.bodies[template]
	}
	w.expectStatus("no token", "", nil, request{method, path, good, []string{"Authorization: "}}, 401)
	w.expectStatus("wrong scope", "acme", []string{otherScope(template)}, request{method, path, good, nil}, 403)
	if responses := operation["responses"].(map[string]any); responses["406"] != nil {
		w.expectStatus("not acceptable", client, nil, request{method, path, good, []string{"Accept: text/html"}}, 406)
	}
	if strings.Contains(template, "_id}") || strings.Contains(good, "_id\":\"") && client == "acme" && !strings.Contains(template, "sandbox") {
		w.expectStatus("foreign id", "globex", nil, request{method, path, good, nil}, 404)
		known := path
		for _, id := range w.ids {
			known = strings.ReplaceAll(known, "/"+id, "/%00%ff")
		}
		if known != path {
			w.expectStatus("malformed id", client, nil, request{method, known, good, nil}, 404)
		}
	}
	w.sendWrongParameters(method, path, client, good, operation)
	if method == "POST" || method == "PATCH" {
		w.sendBrokenBodies(method, path, client, good)
	}
	if good != "" {
		w.changeEachMember(method, template, path, client)
	}
}

// sendWrongParameters sends invalid values of the query parameters and headers that the
// document declares.
func (w *operationWalker) sendWrongParameters(method, path, client, good string, operation map[string]any) {
	w.expectStatus("unknown parameter", client, nil, request{method, path + "?nothing=1", good, nil}, 400)
	document, err := committedDocument()
	require.NoError(w.t, err)
	listed, _ := operation["parameters"].([]any)
	for _, node := range listed {
		parameter, _ := document.resolveRef(node, "")
		name := parameter["name"].(string)
		switch parameter["in"] {
		case "query":
			for _, wrong := range []string{"=", "=x&" + name + "=x", "=" + strings.Repeat("x", 20_001), "=%00", "=%ff"} {
				w.expectStatus("wrong parameter", client, nil, request{method, path + "?" + name + wrong, "", nil}, 400)
			}
		case "header":
			want, judged := map[string]int{"If-Match": 412, "Idempotency-Key": 400}[name]
			if !judged {
				continue // every value is valid
			}
			for _, wrong := range []string{"ä ö", strings.Repeat("x", 20_001)} {
				w.expectStatus("wrong header", client, nil, request{method, path, good, []string{name + ": " + wrong}}, want)
			}
		}
	}
}

// otherScope returns a scope that the operation does not need.
func otherScope(path string) string {
	if strings.HasPrefix(path, "/events") {
		return "quotes:read"
	}
	return "events:read"
}

// sendBrokenBodies sends bodies that every operation must reject; an operation without a
// required body accepts an empty one.
func (w *operationWalker) sendBrokenBodies(method, path, client, good string) {
	if good == "" {
		good = "{}"
	} else {
		w.expectStatus("malformed body", client, nil, request{method, path, "", nil}, 400)
	}
	w.expectStatus("wrong media type", client, nil, request{method, path, good, []string{"Content-Type: text/plain"}}, 415)
	w.expectStatus("body too large", client, nil, request{method, path, strings.Repeat(" ", 15<<20+1), nil}, 413)
	for _, broken := range []string{"{", "[1,", `{"a":1}x`, "\xff", `{"nothing_like_it":1}`, strings.Repeat("[", 100), `{"a":"\u0000"}`, `{"a":"\ud800"}`, `{"a":1,"a":1}`} {
		w.expectStatus("malformed body", client, nil, request{method, path, broken, nil}, 400)
	}
	for _, wrong := range []string{"[]", "null", "1", `"x"`} {
		w.expectStatus("not an object", client, nil, request{method, path, wrong, nil}, 422)
	}
}

// changeEachMember changes one member after the other. A value that the document's schema
// rejects must be 422; in a quote's context, a value that the product's schema rejects. A
// text of any length may also refer to a record that does not exist.
func (w *operationWalker) changeEachMember(method, template, path, client string) {
	schema := compileRequestSchema(w.t, method, template)
	var top map[string]any
	require.NoError(w.t, json.Unmarshal([]byte(w.bodies[template]), &top))
	require.NoError(w.t, validateSchema(w.t, schema, top), template)
	right := func() bool {
		context, quoted := top["context"]
		return validateSchema(w.t, schema, top) == nil && (!quoted || validateSchema(w.t, w.context, context) == nil)
	}
	call := func(what, pointer string, want ...int) {
		text, err := json.Marshal(top)
		require.NoError(w.t, err)
		if right() && strings.HasPrefix(pointer, "/context") {
			want = append(want, 201) // the product decides
		}
		w.expectStatus(what+" "+pointer, client, nil, request{method, path, string(text), nil}, want...)
	}
	visitMembers(top, "", func(in map[string]any, name, pointer string) {
		was := in[name]
		in[name] = otherTypedValue(was)
		call("wrong type", pointer, 422)
		in[name] = nil
		if !right() || strings.HasPrefix(pointer, "/context") {
			call("null", pointer, 422)
		}
		in[name] = oversizedValue(was)
		call("too long", pointer, excessStatuses(was, pointer)...)
		delete(in, name)
		if !right() {
			call("missing", pointer, 422)
		}
		in[name] = was
	})
}

// referenceStatuses are the members that refer to a record, and their form when the
// record does not exist: another partner, an id that is not found.
var referenceStatuses = map[string][]int{
	"/context/partner": {403}, "/quote_id": {404}, "/policy_id": {404}, "/claim_id": {404}, "/source_event/source": {404, 422}, "/source_event/id": {404, 422},
}

// excessStatuses returns the expected status of an object with too many members: they are
// unknown, except where any member is allowed.
func excessStatuses(was any, pointer string) []int {
	if _, object := was.(map[string]any); object {
		return []int{400, 422}
	}
	if want, special := referenceStatuses[pointer]; special {
		return want
	}
	return []int{422}
}

// visitMembers visits every member of an object, and of the objects and lists inside.
func visitMembers(object map[string]any, at string, visit func(in map[string]any, name, pointer string)) {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		visit(object, name, at+"/"+name)
		switch inner := object[name].(type) {
		case map[string]any:
			visitMembers(inner, at+"/"+name, visit)
		case []any:
			for i, element := range inner {
				if inner, object := element.(map[string]any); object {
					visitMembers(inner, fmt.Sprintf("%s/%s/%d", at, name, i), visit)
				}
			}
		}
	}
}

// oversizedValue returns a value of the same type that exceeds every limit.
func oversizedValue(value any) any {
	switch value := value.(type) {
	case string:
		return strings.Repeat("x", 20_001)
	case float64, bool:
		return 1e300
	case []any:
		return slices.Repeat(value, 1001)
	default:
		long := maps.Clone(value.(map[string]any))
		for i := range 1001 {
			long[fmt.Sprint("x", i)] = "x"
		}
		return long
	}
}

// otherTypedValue returns a value of another type.
func otherTypedValue(value any) any {
	if _, number := value.(float64); number {
		return "x"
	}
	return 17.5
}

func (w *operationWalker) expectStatus(what, client string, scopes []string, r request, want ...int) *reply {
	w.t.Helper()
	var answer *reply
	if client == "" {
		answer = r.sendTo(w.t, w.handler)
	} else {
		answer = w.sendAs(w.t, client, scopes, r)
	}
	if answer.StatusCode >= 500 {
		w.counts["5xx"]++
	}
	if !slices.Contains(want, answer.StatusCode) {
		w.t.Errorf("%s: %s %.200s %.200s: %d %.300s", what, r.method, r.path, r.body, answer.StatusCode, answer.Body)
		return answer
	}
	if answer.StatusCode >= 400 {
		requireProblem(w.t, answer)
	}
	kind, _, _ := strings.Cut(what, " /")
	w.counts["calls"]++
	w.counts[kind]++
	w.counts[fmt.Sprint(answer.StatusCode)]++
	return answer
}

// compileSchema compiles one schema.
func compileSchema(t *testing.T, schema any) *jsonschema.Schema {
	t.Helper()
	text, err := json.Marshal(schema)
	require.NoError(t, err)
	read, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	require.NoError(t, compiler.AddResource("schema.json", read))
	compiled, err := compiler.Compile("schema.json")
	require.NoError(t, err)
	return compiled
}

// compileRequestSchema compiles the document's schema of an operation's body.
func compileRequestSchema(t *testing.T, method, template string) *jsonschema.Schema {
	t.Helper()
	document, err := committedDocument()
	require.NoError(t, err)
	compilerMutex.Lock()
	defer compilerMutex.Unlock()
	schema, err := document.compiler.Compile("openapi.json#/paths/" + escapePointer(template) + "/" + strings.ToLower(method) + "/requestBody/content/application~1json/schema")
	require.NoError(t, err)
	return schema
}

// validateSchema validates a request against its schema.
func validateSchema(t *testing.T, schema *jsonschema.Schema, value any) error {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	read, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	return schema.Validate(read)
}
