package rest_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/model/wire"
)

// A write passes with the version that its record has now, by strong comparison.
func TestIfMatch(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	_, policy, claim := h.claim(t)
	tagOf := func(path string) string { return h.get(t, path).Header.Get("ETag") }
	message, at := "/v1/claims/"+claim.ID+"/messages", "/v1/claims/"+claim.ID
	tag := tagOf(at)
	for given, status := range map[string]int{
		`"other", ` + tag: 201, "*": 201, tag: 201, `"other"`: 412, "W/" + tag: 412, "other": 412, ",": 412,
	} {
		response := h.post(t, status, message, `{"body":"hello"}`, "If-Match: "+given)
		if status == 412 {
			require.Equal(t, string(model.CodeVersionMismatch), refused(t, response).Code)
		}
	}
	h.post(t, 201, "/v1/payout_methods", `{"policy_id":"`+policy.ID+`",`+iban, "If-Match: "+tagOf("/v1/policies/"+policy.ID))
	h.Work()
	h.post(t, 412, message, `{"body":"the payout inside has moved"}`, "If-Match: "+tag)
	refused(t, h.post(t, 404, "/v1/claims/clm_x/messages", `{"body":"hello"}`, "If-Match: "+tag))
	refused(t, h.post(t, 422, message, `{"body":1}`, "If-Match: "+tag))

	quote := record[wire.Quote](t, h.post(t, 201, "/v1/quotes", hualien))
	bind := `{"quote_id":"` + quote.ID + `"}`
	h.post(t, 412, "/v1/policies", bind, `If-Match: "x"`)
	h.post(t, 201, "/v1/policies", bind, "If-Match: "+tagOf("/v1/quotes/"+quote.ID))
	h.post(t, 412, "/v1/claims", `{"policy_id":"`+policy.ID+`"}`, `If-Match: "x"`)
}

// HEAD is GET without its body.
func TestHead(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	quote := record[wire.Quote](t, h.post(t, 201, "/v1/quotes", hualien))
	for _, path := range []string{"/v1/quotes/" + quote.ID, "/v1/quotes", "/healthz", "/v1/openapi.json"} {
		got := request{"GET", path, "", nil}.to(t, h.door)
		if path[:4] == "/v1/" && path != "/v1/openapi.json" {
			got = h.get(t, path)
		}
		token, err := h.issuer.Token("acme")
		require.NoError(t, err)
		head := request{"HEAD", path, "", []string{"Authorization: Bearer " + token}}.to(t, h.door)
		require.Equal(t, http.StatusOK, head.StatusCode, path)
		require.Empty(t, head.Body)
		for _, name := range []string{"ETag", "Content-Length", "Content-Type"} {
			require.Equal(t, got.Header.Get(name), head.Header.Get(name), path)
		}
	}
}
