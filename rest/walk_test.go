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

// walker goes over every operation of the committed document.
type walker struct {
	*house

	t      *testing.T
	ids    map[string]string // path parameters
	bodies map[string]string // a good request with every member, by path
	counts map[string]int
}

// Every operation of the document is called without a token, without the scope,
// by a stranger, with a broken body, and with every member of its body wrong, null,
// too long or left out. Each is refused as the contract says; nothing is a 500.
func TestWalkEveryOperation(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	quote, policy, claim := h.claim(t)
	attachment := record[wire.Attachment](t, h.post(t, 201, "/v1/claims/"+claim.ID+"/attachments", body("/attachments")))
	w := &walker{house: h, t: t, counts: map[string]int{}, ids: map[string]string{
		"quote_id": quote.ID, "policy_id": policy.ID, "claim_id": claim.ID, "payout_id": claim.Payouts[0].ID,
		"attachment_id": attachment.ID, "key": "quake-circle",
	}}
	w.bodies = w.whole(h.quake(t, "walk"))
	document, err := committed()
	require.NoError(t, err)
	for _, path := range slices.Sorted(maps.Keys(document.paths)) {
		for _, method := range slices.Sorted(maps.Keys(document.paths[path].(map[string]any))) {
			w.operation(strings.ToUpper(method), path)
		}
	}
	t.Logf("walked: %v", w.counts)
	require.Greater(t, w.counts["calls"], 400)
}

// whole are requests that name every member there is.
func (w *walker) whole(observation string) map[string]string {
	references := `"partner_reference":"walk","metadata":{"a":"b"}}`
	return map[string]string{
		"/quotes": `{"product":"quake-circle","context":{"partner":"acme","location":{"latitude":23.98,"longitude":121.61},"radius_km":50,"limit":{"amount":10000000,
			"currency":"USD"},"term":"P365D","maximum_depth_km":100,"steps":[{"threshold":"6.0","factor":"0.20"}],"policyholder":{"name":"Lin"}},` + references,
		"/policies":                      `{"quote_id":"` + w.ids["quote_id"] + `","policyholder":{"name":"Lin","email":"lin@example.com","country":"TW"},` + references,
		"/claims":                        `{"policy_id":"` + w.ids["policy_id"] + `","origin":"trigger","description":"d","source_event":{"source":"usgs","id":"x"},` + references,
		"/claims/{claim_id}/attachments": `{"file_name":"a.txt","content_type":"text/plain","content_base64":"aGVsbG8=","purpose":"p","description":"d","sha256":"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"}`,
		"/claims/{claim_id}/messages":    `{"body":"hello"}`,
		"/payout_methods":                `{"claim_id":"` + w.ids["claim_id"] + `",` + strings.TrimSuffix(iban, "}}") + `,"bic":"COBADEFFXXX"},` + references,
		"/observations":                  observation,
		"/sandbox/observations":          observation,
	}
}

func (w *walker) operation(method, template string) {
	path := "/v1" + template
	for name, id := range w.ids {
		path = strings.ReplaceAll(path, "{"+name+"}", id)
	}
	client := "acme"
	if template == "/observations" {
		client = "source"
	}
	good := w.bodies[template]
	if method == "GET" {
		good = ""
	}
	w.expect("no token", "", nil, request{method, path, good, []string{"Authorization: "}}, 401)
	w.expect("wrong scope", "acme", []string{"events:read"}, request{method, path, good, nil}, 403)
	if strings.Contains(template, "_id}") || strings.Contains(good, "_id\":\"") && client == "acme" && !strings.Contains(template, "sandbox") {
		w.expect("foreign id", "globex", nil, request{method, path, good, nil}, 404)
		known := path
		for _, id := range w.ids {
			known = strings.ReplaceAll(known, "/"+id, "/%00%ff")
		}
		if known != path {
			w.expect("malformed id", client, nil, request{method, known, good, nil}, 404)
		}
	}
	if method == "GET" {
		w.expect("unknown parameter", client, nil, request{method, path + "?nothing=1", "", nil}, 400)
		return
	}
	for _, broken := range []string{"", "{", "[1,", `{"a":1}x`, "\xff", `{"nothing_like_it":1}`, strings.Repeat("[", 100)} {
		w.expect("malformed body", client, nil, request{method, path, broken, nil}, 400)
	}
	for _, wrong := range []string{"[]", "null", "1", `"x"`} {
		w.expect("not an object", client, nil, request{method, path, wrong, nil}, 422)
	}
	w.members(method, template, path, client)
}

// members changes one member after the other. What the document's schema refuses
// must be 422; a text of any length may also name something that is not there.
func (w *walker) members(method, template, path, client string) {
	schema := requestSchema(w.t, template)
	var top map[string]any
	require.NoError(w.t, json.Unmarshal([]byte(w.bodies[template]), &top))
	require.NoError(w.t, valid(w.t, schema, top), template)
	call := func(what, pointer string, want ...int) {
		text, err := json.Marshal(top)
		require.NoError(w.t, err)
		w.expect(what+" "+pointer, client, nil, request{method, path, string(text), nil}, want...)
	}
	each(top, "", func(in map[string]any, name, pointer string) {
		was := in[name]
		in[name] = another(was)
		call("wrong type", pointer, 422)
		in[name] = nil
		if !strings.HasPrefix(pointer, "/context/") { // null may be a product's own word
			call("null", pointer, 422)
		}
		if _, text := was.(string); text {
			in[name] = strings.Repeat("x", 20_001)
			call("too long", pointer, longTexts(pointer)...)
		}
		delete(in, name)
		if valid(w.t, schema, top) != nil {
			call("missing", pointer, 422)
		}
		in[name] = was
	})
}

// longText is what a text of 20,001 characters is refused with: ids are not found,
// and another partner's name is another partner.
var longText = map[string][]int{
	"/context/partner": {403}, "/quote_id": {404}, "/policy_id": {404}, "/claim_id": {404}, "/source_event/source": {404, 422}, "/source_event/id": {404, 422},
}

func longTexts(pointer string) []int {
	if want, special := longText[pointer]; special {
		return want
	}
	return []int{422}
}

// each visits every member of an object and of the objects inside.
func each(object map[string]any, at string, visit func(in map[string]any, name, pointer string)) {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		visit(object, name, at+"/"+name)
		if inner, ok := object[name].(map[string]any); ok {
			each(inner, at+"/"+name, visit)
		}
	}
}

// another is a value of another type.
func another(value any) any {
	if _, number := value.(float64); number {
		return "x"
	}
	return 17.5
}

func (w *walker) expect(what, client string, scopes []string, r request, want ...int) {
	w.t.Helper()
	var answer *reply
	if client == "" {
		answer = r.to(w.t, w.door)
	} else {
		answer = w.as(w.t, client, scopes, r)
	}
	if !slices.Contains(want, answer.StatusCode) {
		w.t.Errorf("%s: %s %s %.200s: %d %.300s", what, r.method, r.path, r.body, answer.StatusCode, answer.Body)
		return
	}
	refused(w.t, answer)
	kind, _, _ := strings.Cut(what, " /")
	w.counts["calls"]++
	w.counts[kind]++
	w.counts[fmt.Sprint(answer.StatusCode)]++
}

// requestSchema is what the document says of a POST's body.
func requestSchema(t *testing.T, template string) *jsonschema.Schema {
	t.Helper()
	document, err := committed()
	require.NoError(t, err)
	compiling.Lock()
	defer compiling.Unlock()
	schema, err := document.compiler.Compile("openapi.json#/paths/" + escape(template) + "/post/requestBody/content/application~1json/schema")
	require.NoError(t, err)
	return schema
}

// valid holds a request against its schema.
func valid(t *testing.T, schema *jsonschema.Schema, value any) error {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	read, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	return schema.Validate(read)
}
