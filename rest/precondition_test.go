package rest_test

import (
	"net/http"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/apperr"
	"parapet/model/wire"
)

// A write with the present version of its record succeeds, by strong comparison.
func TestIfMatch(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	_, policy, claim := h.createClaim(t)
	tagOf := func(path string) string { return h.get(t, path).Header.Get("ETag") }
	message, at := "/v1/claims/"+claim.ID+"/messages", "/v1/claims/"+claim.ID
	tag := tagOf(at)
	for given, status := range map[string]int{
		`"other", ` + tag: 201, "*": 201, tag: 201, `"other"`: 412, "W/" + tag: 412, "other": 412, ",": 412,
	} {
		response := h.post(t, status, message, `{"body":"hello"}`, "If-Match: "+given)
		if status == 412 {
			require.Equal(t, string(apperr.CodeVersionMismatch), requireProblem(t, response).Code)
		}
	}
	h.post(t, 201, "/v1/payout_methods", `{"policy_id":"`+policy.ID+`",`+ibanMembers, "If-Match: "+tagOf("/v1/policies/"+policy.ID))
	h.RunJobs()
	h.post(t, 412, message, `{"body":"the payout inside has moved"}`, "If-Match: "+tag)
	requireProblem(t, h.post(t, 404, "/v1/claims/clm_x/messages", `{"body":"hello"}`, "If-Match: "+tag))
	requireProblem(t, h.post(t, 422, message, `{"body":1}`, "If-Match: "+tag))

	quote := decodeRecord[wire.Quote](t, h.post(t, 201, "/v1/quotes", quoteBody))
	bind := `{"quote_id":"` + quote.ID + `"}`
	h.post(t, 412, "/v1/policies", bind, `If-Match: "x"`)
	h.post(t, 201, "/v1/policies", bind, "If-Match: "+tagOf("/v1/quotes/"+quote.ID))
	h.post(t, 412, "/v1/claims", `{"policy_id":"`+policy.ID+`"}`, `If-Match: "x"`)
}

// Of several writers with the same version, one writes: the others get a version
// mismatch, and a retry of the first is replayed.
func TestIfMatchIsCheckedInTheTransaction(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	quote := decodeRecord[wire.Quote](t, h.post(t, 201, "/v1/quotes", quoteBody))
	policy := decodeRecord[wire.Policy](t, h.post(t, 201, "/v1/policies", `{"quote_id":"`+quote.ID+`"}`))
	second := decodeRecord[wire.Quote](t, h.post(t, 201, "/v1/quotes", quoteBody))
	for record, write := range map[string]request{
		"/v1/policies/" + policy.ID: {"POST", "/v1/claims", `{"policy_id":"` + policy.ID + `"}`, nil},
		"/v1/quotes/" + second.ID:   {"POST", "/v1/policies", `{"quote_id":"` + second.ID + `"}`, nil},
	} {
		tag := h.get(t, record).Header.Get("ETag")
		const writers = 6
		answers := make([]*reply, writers)
		var all sync.WaitGroup
		for i := range writers {
			all.Go(func() { answers[i] = h.writeIfMatch(t, write, tag, i) })
		}
		all.Wait()
		count := map[int]int{}
		for i, first := range answers {
			count[first.StatusCode]++
			again := h.writeIfMatch(t, write, tag, i)
			require.Equal(t, first.StatusCode, again.StatusCode)
			if first.StatusCode == http.StatusCreated {
				require.Equal(t, "true", again.Header.Get("Idempotent-Replayed"))
				require.Equal(t, string(first.Body), string(again.Body))
			}
		}
		require.Equal(t, map[int]int{http.StatusCreated: 1, http.StatusPreconditionFailed: writers - 1}, count, record)
	}
}

// writeIfMatch writes with If-Match, under an idempotency key of its own.
func (h *testServer) writeIfMatch(t *testing.T, write request, tag string, writer int) *reply {
	t.Helper()
	write.headers = []string{"If-Match: " + tag, "Idempotency-Key: writer-" + strconv.Itoa(writer)}
	return h.sendAs(t, "acme", nil, write)
}

// A caller with the scope to write claims may lack the scope to read them: If-Match
// reveals only whether the version is still the same.
func TestIfMatchNeedsNoFurtherScope(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	_, _, claim := h.createClaim(t)
	tag := h.get(t, "/v1/claims/"+claim.ID).Header.Get("ETag")
	write := request{"POST", "/v1/claims/" + claim.ID + "/messages", `{"body":"hello"}`, []string{"If-Match: " + tag}}
	require.Equal(t, 201, h.sendAs(t, "acme", []string{"claims:write"}, write).StatusCode)
	require.Equal(t, 404, requireProblem(t, h.sendAs(t, "globex", nil, write)).Status)
	requireProblem(t, h.post(t, 422, "/v1/payout_methods", `{`+ibanMembers, "If-Match: "+tag))
	require.Equal(t, 412, requireProblem(t, h.post(t, 412, "/v1/quotes", quoteBody, "If-Match: "+tag)).Status, "a quote is about no earlier record")
}

// HEAD is GET without its body.
func TestHead(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	quote := decodeRecord[wire.Quote](t, h.post(t, 201, "/v1/quotes", quoteBody))
	for _, path := range []string{"/v1/quotes/" + quote.ID, "/v1/quotes", "/healthz", "/v1/openapi.json"} {
		got := request{"GET", path, "", nil}.sendTo(t, h.handler)
		if path[:4] == "/v1/" && path != "/v1/openapi.json" {
			got = h.get(t, path)
		}
		token, err := h.issuer.Token("acme")
		require.NoError(t, err)
		head := request{"HEAD", path, "", []string{"Authorization: Bearer " + token}}.sendTo(t, h.handler)
		require.Equal(t, http.StatusOK, head.StatusCode, path)
		require.Empty(t, head.Body)
		for _, name := range []string{"ETag", "Content-Length", "Content-Type"} {
			require.Equal(t, got.Header.Get(name), head.Header.Get(name), path)
		}
	}
}
