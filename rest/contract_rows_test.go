package rest_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

func membersAreSnakeCase(t *testing.T) {
	t.Helper()
	document, err := committedDocument()
	require.NoError(t, err)
	schemas := document.doc["components"].(map[string]any)["schemas"].(map[string]any)
	for name, schema := range schemas {
		properties, _ := schema.(map[string]any)["properties"].(map[string]any)
		for member := range properties {
			require.Regexp(t, `^[a-z][a-z0-9_]*$`, member, name)
		}
	}
}

// addMembers returns a request with additional members.
func addMembers(request, members string) string {
	return strings.TrimSuffix(request, "}") + "," + members + "}"
}

func referencesAreBounded(t *testing.T) {
	t.Helper()
	h := newTestServer(t)
	labels := func(n, key, value int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf("%q:%q", fmt.Sprintf("%0*d", key, i), strings.Repeat("é", value)))
		}
		return `"metadata":{` + strings.Join(all, ",") + `}`
	}
	for members, status := range map[string]int{
		`"partner_reference":"` + strings.Repeat("é", 128) + `"`: 201, `"partner_reference":"` + strings.Repeat("x", 129) + `"`: 422, `"partner_reference":""`: 422,
		labels(50, 40, 500): 201, labels(51, 2, 1): 422, labels(1, 41, 1): 422, labels(1, 1, 501): 422, labels(0, 0, 0): 201,
	} {
		h.post(t, status, "/v1/quotes", addMembers(quoteBody, members))
	}
}

func referencesAreUnique(t *testing.T) {
	t.Helper()
	h := newTestServer(t)
	const named = `"partner_reference":"one"`
	quote := decodeRecord[wire.Quote](t, h.post(t, 201, "/v1/quotes", addMembers(quoteBody, named)))
	policy := decodeRecord[wire.Policy](t, h.post(t, 201, "/v1/policies", addMembers(`{"quote_id":"`+quote.ID+`"}`, named)))
	claiming := addMembers(`{"policy_id":"`+policy.ID+`"}`, named)
	claim := decodeRecord[wire.Claim](t, h.post(t, 201, "/v1/claims", claiming))
	paying := addMembers(`{"claim_id":"`+claim.ID+`",`+ibanMembers, named)
	h.post(t, 201, "/v1/payout_methods", paying)
	for path, again := range map[string]string{"/quotes": addMembers(quoteBody, named), "/claims": claiming, "/payout_methods": paying} {
		p := requireProblem(t, h.post(t, 422, "/v1"+path, again))
		require.Equal(t, string(apperr.CodeReferenceTaken), p.Code, path)
	}
	theirs := addMembers(strings.Replace(quoteBody, "acme", "globex", 1), named)
	require.Equal(t, 201, h.sendAs(t, "globex", nil, request{"POST", "/v1/quotes", theirs, nil}).StatusCode)
}

func moneyIsWholeMinorUnits(t *testing.T) {
	t.Helper()
	h := newTestServer(t)
	_, policy, _ := h.createClaim(t)
	for amount, status := range map[string]int{"1": 201, "1.0": 201, "1e2": 201, "0.5": 422, `"1"`: 422, "9223372036854775808": 422, "0": 422, "-1": 422} {
		h.post(t, status, "/v1/claims", `{"policy_id":"`+policy.ID+`","requested_amount":{"amount":`+amount+`,"currency":"USD"}}`)
	}
	require.NotRegexp(t, `"amount":-?\d*[.eE]`, string(h.get(t, "/v1/claims").Body))
}

// Every repeated POST with the same key returns the same bytes and has no second effect.
func replaysAreByteEqual(t *testing.T) {
	t.Helper()
	h := newTestServer(t)
	for _, e := range h.endpointRows(t) {
		if e.method != http.MethodPost {
			continue
		}
		r := request{e.method, "/v1" + e.path, e.body, []string{"Idempotency-Key: " + strings.Repeat("~", 255)}}
		first := h.sendAs(t, "acme", nil, r)
		before := h.CountRows()
		second := h.sendAs(t, "acme", nil, r)
		require.Equal(t, first.StatusCode, second.StatusCode)
		require.Less(t, first.StatusCode, 300, "%s: %s", e.path, first.Body)
		require.Equal(t, string(first.Body), string(second.Body))
		require.Equal(t, first.Header.Get("Location"), second.Header.Get("Location"))
		require.Equal(t, []string{"", "true"}, []string{first.Header.Get("Idempotent-Replayed"), second.Header.Get("Idempotent-Replayed")})
		require.Equal(t, before, h.CountRows(), e.path)
	}
}

// Since the first request the requested cover has begun, and this write has changed the
// version of the record that If-Match names.
func replaysIgnoreLaterState(t *testing.T) {
	t.Helper()
	h := newTestServer(t)
	starts := h.Now().Add(time.Hour).Format(time.RFC3339)
	later := strings.Replace(quoteBody, `}}}`, `},"starts_at":"`+starts+`"}}`, 1)
	_, _, claim := h.createClaim(t)
	at := "/v1/claims/" + claim.ID
	again := []request{
		{"POST", "/v1/quotes", later, []string{"Idempotency-Key: one"}},
		{"POST", "/v1/payout_methods", `{"claim_id":"` + claim.ID + `",` + ibanMembers, []string{"Idempotency-Key: one", "If-Match: " + h.get(t, at).Header.Get("ETag")}},
	}
	var first []*reply
	for _, r := range again {
		first = append(first, h.expectStatus(t, 201, r))
	}
	h.RunJobs() // pays
	h.AdvanceClock(2 * time.Hour)
	for i, r := range again {
		require.Equal(t, string(first[i].Body), string(h.expectStatus(t, 201, r).Body))
		r.headers = r.headers[1:]
		require.NotEqual(t, 201, h.sendAs(t, "acme", nil, r).StatusCode, "without the key it is another request")
	}
	r := request{"POST", "/v1/quotes", addMembers(later, `"metadata":{}`), []string{"Idempotency-Key: one"}}
	require.Equal(t, string(apperr.CodeIdempotencyKeyReused), requireProblem(t, h.expectStatus(t, 422, r)).Code)
}

func pageSizesAreBounded(t *testing.T) {
	t.Helper()
	h := newTestServer(t)
	for range 101 {
		h.Quote("quake-circle", modeltest.Context{"radius_km": 10})
	}
	for query, count := range map[string]int{"": 25, "?limit=1": 1, "?limit=100": 100} {
		list := decodeRecord[wire.List[wire.Quote]](t, h.get(t, "/v1/quotes"+query))
		require.Equal(t, "list", list.Object)
		require.Len(t, list.Data, count)
		require.True(t, list.HasMore)
		require.NotEmpty(t, list.NextCursor)
	}
	for _, limit := range []string{"0", "101", "-1", "1.5", "x", ""} {
		h.expectStatus(t, 400, request{"GET", "/v1/quotes?limit=" + limit, "", nil})
	}
}

func foreignCursorsAreRejected(t *testing.T) {
	t.Helper()
	h := newTestServer(t)
	h.Quote("quake-circle", nil)
	h.Quote("quake-circle", nil)
	page := decodeRecord[wire.List[wire.Quote]](t, h.get(t, "/v1/quotes?limit=1"))
	r := request{"GET", "/v1/quotes?cursor=" + url.QueryEscape(*page.NextCursor), "", nil}
	require.Equal(t, 200, h.sendAs(t, "acme", nil, r).StatusCode)
	require.Equal(t, string(apperr.CodeCursorInvalid), requireProblem(t, h.sendAs(t, "globex", nil, r)).Code)
}

// The test sends bodies of exactly the allowed size, and of one byte more.
func bodiesAreBounded(t *testing.T) {
	t.Helper()
	h := newTestServer(t)
	_, _, claim := h.createClaim(t)
	for path, limit := range map[string]int{"/quotes": 1 << 20, "/claims/" + claim.ID + "/attachments": 15 << 20} {
		good := requestBody(idPattern.ReplaceAllString(path, "{claim_id}"))
		h.post(t, 201, "/v1"+path, good+strings.Repeat(" ", limit-len(good)))
		h.post(t, 413, "/v1"+path, good+strings.Repeat(" ", limit-len(good)+1))
	}
}

func filesAreBounded(t *testing.T) {
	t.Helper()
	h := newTestServer(t)
	_, _, claim := h.createClaim(t)
	for size, status := range map[int]int{10 << 20: 201, 10<<20 + 1: 422} {
		file := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", size)))
		h.post(t, status, "/v1/claims/"+claim.ID+"/attachments", `{"file_name":"a.txt","content_type":"text/plain","content_base64":"`+file+`"}`)
	}
}

func messagesAreBounded(t *testing.T) {
	t.Helper()
	h := newTestServer(t)
	_, _, claim := h.createClaim(t)
	for text, status := range map[string]int{strings.Repeat("é", 10_000): 201, strings.Repeat("x", 10_001): 422, "": 422, " \\n": 422} {
		h.post(t, status, "/v1/claims/"+claim.ID+"/messages", `{"body":"`+text+`"}`)
	}
}
