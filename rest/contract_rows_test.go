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

	"parapet/model"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

func snakeCase(t *testing.T) {
	t.Helper()
	document, err := committed()
	require.NoError(t, err)
	schemas := document.doc["components"].(map[string]any)["schemas"].(map[string]any)
	for name, schema := range schemas {
		properties, _ := schema.(map[string]any)["properties"].(map[string]any)
		for member := range properties {
			require.Regexp(t, `^[a-z][a-z0-9_]*$`, member, name)
		}
	}
}

// with is a request with further members.
func with(request, members string) string {
	return strings.TrimSuffix(request, "}") + "," + members + "}"
}

func referenceBounds(t *testing.T) {
	t.Helper()
	h := newHouse(t)
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
		h.post(t, status, "/v1/quotes", with(hualien, members))
	}
}

func uniqueReferences(t *testing.T) {
	t.Helper()
	h := newHouse(t)
	const named = `"partner_reference":"one"`
	quote := record[wire.Quote](t, h.post(t, 201, "/v1/quotes", with(hualien, named)))
	policy := record[wire.Policy](t, h.post(t, 201, "/v1/policies", with(`{"quote_id":"`+quote.ID+`"}`, named)))
	claiming := with(`{"policy_id":"`+policy.ID+`"}`, named)
	claim := record[wire.Claim](t, h.post(t, 201, "/v1/claims", claiming))
	paying := with(`{"claim_id":"`+claim.ID+`",`+iban, named)
	h.post(t, 201, "/v1/payout_methods", paying)
	for path, again := range map[string]string{"/quotes": with(hualien, named), "/claims": claiming, "/payout_methods": paying} {
		p := refused(t, h.post(t, 422, "/v1"+path, again))
		require.Equal(t, string(model.CodeReferenceTaken), p.Code, path)
	}
	theirs := with(strings.Replace(hualien, "acme", "globex", 1), named)
	require.Equal(t, 201, h.as(t, "globex", nil, request{"POST", "/v1/quotes", theirs, nil}).StatusCode)
}

func wholeMoney(t *testing.T) {
	t.Helper()
	h := newHouse(t)
	_, policy, _ := h.claim(t)
	for amount, status := range map[string]int{"1": 201, "1.0": 201, "1e2": 201, "0.5": 422, `"1"`: 422, "9223372036854775808": 422, "0": 422, "-1": 422} {
		h.post(t, status, "/v1/claims", `{"policy_id":"`+policy.ID+`","requested_amount":{"amount":`+amount+`,"currency":"USD"}}`)
	}
	require.NotRegexp(t, `"amount":-?\d*[.eE]`, string(h.get(t, "/v1/claims").Body))
}

// Every POST that succeeds is answered with the same bytes again, and does
// nothing again.
func replays(t *testing.T) {
	t.Helper()
	h := newHouse(t)
	for _, e := range h.endpoints(t) {
		if e.method != http.MethodPost {
			continue
		}
		r := request{e.method, "/v1" + e.path, e.body, []string{"Idempotency-Key: " + strings.Repeat("~", 255)}}
		first := h.as(t, "acme", nil, r)
		before := h.Rows()
		second := h.as(t, "acme", nil, r)
		require.Equal(t, first.StatusCode, second.StatusCode)
		require.Equal(t, string(first.Body), string(second.Body))
		require.Equal(t, first.Header.Get("Location"), second.Header.Get("Location"))
		require.Equal(t, []string{"", "true"}, []string{first.Header.Get("Idempotent-Replayed"), second.Header.Get("Idempotent-Replayed")})
		require.Equal(t, before, h.Rows(), e.path)
	}
}

// Since the first time, the cover asked for has begun, and the record that
// If-Match names has another version because of this very write.
func replaysOfThePast(t *testing.T) {
	t.Helper()
	h := newHouse(t)
	starts := h.Now().Add(time.Hour).Format(time.RFC3339)
	later := strings.Replace(hualien, `}}}`, `},"starts_at":"`+starts+`"}}`, 1)
	_, _, claim := h.claim(t)
	at := "/v1/claims/" + claim.ID
	again := []request{
		{"POST", "/v1/quotes", later, []string{"Idempotency-Key: one"}},
		{"POST", "/v1/payout_methods", `{"claim_id":"` + claim.ID + `",` + iban, []string{"Idempotency-Key: one", "If-Match: " + h.get(t, at).Header.Get("ETag")}},
	}
	var first []*reply
	for _, r := range again {
		first = append(first, h.expect(t, 201, r))
	}
	h.Work() // pays
	h.After(2 * time.Hour)
	for i, r := range again {
		require.Equal(t, string(first[i].Body), string(h.expect(t, 201, r).Body))
		r.headers = r.headers[1:]
		require.NotEqual(t, 201, h.as(t, "acme", nil, r).StatusCode, "without the key it is another request")
	}
	r := request{"POST", "/v1/quotes", with(later, `"metadata":{}`), []string{"Idempotency-Key: one"}}
	require.Equal(t, string(model.CodeIdempotencyKeyReused), refused(t, h.expect(t, 422, r)).Code)
}

func pageSizes(t *testing.T) {
	t.Helper()
	h := newHouse(t)
	for range 101 {
		h.Quote("quake-circle", modeltest.Context{"radius_km": 10})
	}
	for query, count := range map[string]int{"": 25, "?limit=1": 1, "?limit=100": 100} {
		list := record[wire.List[wire.Quote]](t, h.get(t, "/v1/quotes"+query))
		require.Equal(t, "list", list.Object)
		require.Len(t, list.Data, count)
		require.True(t, list.HasMore)
		require.NotEmpty(t, list.NextCursor)
	}
	for _, limit := range []string{"0", "101", "-1", "1.5", "x", ""} {
		h.expect(t, 400, request{"GET", "/v1/quotes?limit=" + limit, "", nil})
	}
}

func foreignCursor(t *testing.T) {
	t.Helper()
	h := newHouse(t)
	h.Quote("quake-circle", nil)
	h.Quote("quake-circle", nil)
	page := record[wire.List[wire.Quote]](t, h.get(t, "/v1/quotes?limit=1"))
	r := request{"GET", "/v1/quotes?cursor=" + url.QueryEscape(*page.NextCursor), "", nil}
	require.Equal(t, 200, h.as(t, "acme", nil, r).StatusCode)
	require.Equal(t, string(model.CodeCursorInvalid), refused(t, h.as(t, "globex", nil, r)).Code)
}

// Exactly as much as is allowed, and a byte more.
func bodyBounds(t *testing.T) {
	t.Helper()
	h := newHouse(t)
	_, _, claim := h.claim(t)
	for path, limit := range map[string]int{"/quotes": 1 << 20, "/claims/" + claim.ID + "/attachments": 15 << 20} {
		good := body(anID.ReplaceAllString(path, "{claim_id}"))
		h.post(t, 201, "/v1"+path, good+strings.Repeat(" ", limit-len(good)))
		h.post(t, 413, "/v1"+path, good+strings.Repeat(" ", limit-len(good)+1))
	}
}

func fileBound(t *testing.T) {
	t.Helper()
	h := newHouse(t)
	_, _, claim := h.claim(t)
	for size, status := range map[int]int{10 << 20: 201, 10<<20 + 1: 422} {
		file := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", size)))
		h.post(t, status, "/v1/claims/"+claim.ID+"/attachments", `{"file_name":"a.txt","content_type":"text/plain","content_base64":"`+file+`"}`)
	}
}

func messageBound(t *testing.T) {
	t.Helper()
	h := newHouse(t)
	_, _, claim := h.claim(t)
	for text, status := range map[string]int{strings.Repeat("é", 10_000): 201, strings.Repeat("x", 10_001): 422, "": 422, " \\n": 422} {
		h.post(t, status, "/v1/claims/"+claim.ID+"/messages", `{"body":"`+text+`"}`)
	}
}
