package rest_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/claims"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/apperr"
	"parapet/model/wire"
)

func TestFromQuoteToPayout(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	response := h.post(t, 201, "/parametric/v1/quotes", quoteBody)
	quote := decodeRecord[wire.Quote](t, response)
	require.Equal(t, "/parametric/v1/quotes/"+quote.ID, response.Header.Get("Location"))
	require.Equal(t, "no-store", response.Header.Get("Cache-Control"))

	response = h.post(t, 201, "/v1/policies", `{"quote_id":"`+quote.ID+`","policyholder":{"name":"Lin"},"metadata":{"a":"b"}}`)
	policy := decodeRecord[wire.Policy](t, response)
	require.Equal(t, "/v1/policies/"+policy.ID, response.Header.Get("Location"))
	require.Equal(t, map[string]string{"a": "b"}, policy.Metadata)

	response = h.sendAs(t, "source", nil, request{"POST", "/v1/observations", h.earthquakeBody(t, "us1000chhc"), nil})
	require.Equal(t, 201, response.StatusCode)
	observation := decodeRecord[wire.Observation](t, response)
	response = h.post(t, 201, "/v1/claims", `{"policy_id":"`+policy.ID+`","observation_id":"`+observation.ID+`"}`)
	claim := decodeRecord[wire.Claim](t, response)
	require.Equal(t, "/v1/claims/"+claim.ID, response.Header.Get("Location"))
	require.Equal(t, "6.4", claim.Determination.Index.Value)
	again := decodeRecord[wire.Claim](t, h.post(t, 200, "/v1/claims", `{"policy_id":"`+policy.ID+`","source_event":{"source":"usgs","id":"us1000chhc"}}`))
	require.Equal(t, claim.ID, again.ID)

	method := decodeRecord[wire.PayoutMethod](t, h.post(t, 201, "/v1/payout_methods", `{"claim_id":"`+claim.ID+`",`+ibanMembers))
	require.Equal(t, "3000", method.Display.Last4)
	h.RunJobs()
	claim = decodeRecord[wire.Claim](t, h.get(t, "/v1/claims/"+claim.ID))
	require.Equal(t, string(claims.PayoutReleased), claim.Payouts[0].Status)
	methods := decodeRecord[wire.List[wire.PayoutMethod]](t, h.get(t, "/v1/claims/"+claim.ID+"/payout-methods"))
	require.Equal(t, method.ID, methods.Data[0].ID)

	entries := decodeRecord[wire.List[wire.TimelineEntry]](t, h.get(t, "/parametric/v1/claims/"+claim.ID+"/timeline?limit=2"))
	require.True(t, entries.HasMore)
	next := decodeRecord[wire.List[wire.TimelineEntry]](t, h.get(t, "/v1/claims/"+claim.ID+"/timeline?cursor="+*entries.NextCursor))
	require.Equal(t, int64(3), next.Data[0].Sequence)
	require.Equal(t, string(apperr.CodeCursorInvalid), requireProblem(t, h.expectStatus(t, 400, request{"GET", "/v1/claims/" + claim.ID + "/messages?cursor=" + *entries.NextCursor, "", nil})).Code)
}

func TestMalformedIDsAreNotFound(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	for _, id := range []string{"x", "%00", "%FF", "quo_", strings.Repeat("9", 5000), "quo_01H455VB4PEX5VSKNK084SN02Q", "quo_zzzzzzzzzzzzzzzzzzzzzzzzzz"} {
		p := requireProblem(t, h.expectStatus(t, 404, request{"GET", "/v1/quotes/" + id, "", nil}))
		require.Equal(t, "There is no quote with this id.", p.Detail)
	}
	p := requireProblem(t, h.expectStatus(t, 404, request{"GET", "/v1/quotes/clm_01h455vb4pex5vsknk084sn02q", "", nil}))
	require.Equal(t, "There is no quote with this id. Ids of this kind begin with quo_, not clm_.", p.Detail)
	requireProblem(t, h.post(t, 404, "/v1/claims/%00/messages", `{"body":"x"}`, "Idempotency-Key: k"))
	requireProblem(t, h.post(t, 404, "/v1/policies", `{"quote_id":"\ud83d\ude00"}`))
}

func TestIdempotency(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	const key = "Idempotency-Key: one"
	first := h.post(t, 201, "/v1/quotes", quoteBody, key)
	body := first.Body
	require.Empty(t, first.Header.Get("Idempotent-Replayed"))
	reordered := `{ "context":{"location":{"longitude":12161e-2,"latitude":23.980},"partner":"acme"}, "product":"quake-circle"}`
	second := h.post(t, 201, "/parametric/v1/quotes", reordered, key)
	require.Equal(t, string(body), string(second.Body))
	require.Equal(t, "true", second.Header.Get("Idempotent-Replayed"))
	require.Equal(t, "/parametric"+first.Header.Get("Location"), second.Header.Get("Location"))
	other := strings.Replace(quoteBody, "23.98", "23.99", 1)
	require.Equal(t, string(apperr.CodeIdempotencyKeyReused), requireProblem(t, h.post(t, 422, "/v1/quotes", other, key)).Code)
	require.Equal(t, string(apperr.CodeNotFound), requireProblem(t, h.post(t, 404, "/v1/policies", `{"quote_id":"x"}`, key)).Code, "a key belongs to its operation")
	require.Equal(t, 403, requireProblem(t, h.sendAs(t, "acme", []string{"quotes:read"}, request{"POST", "/v1/quotes", quoteBody, []string{key}})).Status)
}

// A batch records its valid rows and reports the errors of the others; a replay returns
// the same.
func TestObservationBatch(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	batch := `{"observations":[` + h.earthquakeBody(t, "a") + `,{"source":"usgs","occurred_at":"2018-02-06T15:50:42","kind":1},` +
		strings.Replace(h.earthquakeBody(t, "c"), `"6.4"`, `"64"`, 1) + `]}`
	send := func() *reply {
		return h.sendAs(t, "source", nil, request{"POST", "/v1/observations", batch, []string{"Idempotency-Key: batch"}})
	}
	response := send()
	require.Equal(t, 200, response.StatusCode)
	body := response.Body
	again := send()
	require.Equal(t, "true", again.Header.Get("Idempotent-Replayed"))
	require.Equal(t, string(body), string(again.Body))
	var list wire.List[wire.ObservationResult]
	require.NoError(t, wire.Decode(body, &list))
	require.Equal(t, []string{"created", "rejected", "rejected"}, []string{list.Data[0].Result, list.Data[1].Result, list.Data[2].Result})
	var wrong []string
	for _, field := range list.Data[1].Errors {
		wrong = append(wrong, field.Pointer+" "+field.Code)
	}
	require.Equal(t, []string{"/kind type", "/measures required", "/occurred_at format", "/source_event_id required", "/stage required"}, wrong)
	require.Equal(t, "/measures/magnitude/value", list.Data[2].Errors[0].Pointer)
	single := h.sendAs(t, "source", nil, request{"POST", "/v1/observations", h.earthquakeBody(t, "b"), nil})
	require.Equal(t, 201, single.StatusCode)
	p := requireProblem(t, h.sendAs(t, "source", nil, request{"POST", "/v1/observations", strings.Replace(h.earthquakeBody(t, "d"), "usgs", "nhc", 1), nil}))
	require.Equal(t, 403, p.Status)
	require.Equal(t, string(apperr.CodeInsufficientScope), p.Code)
	require.Contains(t, p.Detail, "usgs only")
	require.Equal(t, 422, requireProblem(t, h.sendAs(t, "source", nil, request{"POST", "/v1/observations", `{"observations":[]}`, nil})).Status)
}

// A retraction has four members, and a final track retracts the fixes that it lacks.
func TestRetractionAndFinalTrack(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	report := func(status int, body string) *reply {
		response := h.sendAs(t, "acme", nil, request{"POST", "/v1/sandbox/observations", body, nil})
		require.Equal(t, status, response.StatusCode, "%s", response.Body)
		return response
	}
	retraction := `{"source":"usgs","source_event_id":"felt","kind":"earthquake","stage":"retracted"}`
	require.Equal(t, "not_found", requireProblem(t, report(404, retraction)).Code)
	report(201, h.earthquakeBody(t, "felt"))
	var kept map[string]any
	require.NoError(t, wire.Decode(report(201, retraction).Body, &kept))
	require.Equal(t, "retracted", kept["stage"])
	require.Contains(t, kept, "occurred_at")
	require.Contains(t, kept, "measures")
	report(200, retraction)

	fix := func(hour int, stage string) string {
		return fmt.Sprintf(`{"source":"nhc","source_event_id":"AL012018","kind":"storm_fix","occurred_at":"2018-02-06T%02d:00:00Z","stage":%q,`+
			`"location":{"latitude":20,"longitude":-60},"measures":{"wind":{"value":"70","unit":"kn"}}}`, hour, stage)
	}
	report(200, `{"observations":[`+fix(6, "preliminary")+`,`+fix(12, "preliminary")+`]}`)
	track := `{"observations":[` + fix(6, "final") + `],"final_track":true}`
	report(200, track)
	var again wire.Observation
	require.NoError(t, wire.Decode(report(200, strings.Replace(fix(12, "preliminary"), "preliminary", "retracted", 1)).Body, &again))
	require.Equal(t, trigger.Retracted, again.Stage, "the final track lacks it")
	require.Equal(t, "/final_track", requireProblem(t, report(422, strings.Replace(track, `"final"`, `"preliminary"`, 1))).Errors[0].Pointer)
	require.Equal(t, "unknown_field", requireProblem(t, report(400, strings.TrimSuffix(fix(6, "final"), "}")+`,"final_track":true}`)).Code, "one fix is no track")
}

func TestAttachmentContent(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	_, _, claim := h.createClaim(t)
	path := "/v1/claims/" + claim.ID + "/attachments"
	page := base64.StdEncoding.EncodeToString([]byte("<html><script>alert(1)</script></html>"))
	p := requireProblem(t, h.post(t, 422, path, `{"file_name":"a/b","content_type":"image/png","content_base64":"`+page+`"}`))
	require.Equal(t, "/content_type", p.Errors[0].Pointer)
	require.Equal(t, "/file_name", p.Errors[1].Pointer)
	p = requireProblem(t, h.post(t, 422, path, `{"file_name":"a","content_type":"text/plain","content_base64":"a*b"}`))
	require.Equal(t, "/content_base64", p.Errors[0].Pointer)

	quoted := decodeRecord[wire.Attachment](t, h.post(t, 201, path, `{"file_name":"a \"b\".png","content_type":"image/png","content_base64":"`+
		base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR<html><script>alert(1)</script>"))+`"}`))
	picture := h.get(t, quoted.DownloadURL).Header
	require.Equal(t, `attachment; filename="a \"b\".png"`, picture.Get("Content-Disposition"))
	require.Equal(t, "image/png", picture.Get("Content-Type"))
	require.Equal(t, "default-src 'none'; sandbox", picture.Get("Content-Security-Policy"))
	added := decodeRecord[wire.Attachment](t, h.post(t, 201, path, `{"file_name":"Schäden 1.txt","content_type":"text/plain","content_base64":"aGVsbG8="}`))
	response := h.get(t, added.DownloadURL)
	require.Equal(t, "hello", string(response.Body))
	for header, value := range map[string]string{
		"Content-Type":           "text/plain",
		"Content-Length":         "5",
		"Content-Disposition":    "attachment; filename*=utf-8''Sch%C3%A4den%201.txt",
		"X-Content-Type-Options": "nosniff",
		"Cache-Control":          "no-store",
	} {
		require.Equal(t, value, response.Header.Get(header))
	}
	unchanged := request{"GET", added.DownloadURL, "", []string{"If-None-Match: " + response.Header.Get("ETag")}}
	require.Empty(t, h.expectStatus(t, http.StatusNotModified, unchanged).Body)
	require.Equal(t, 404, requireProblem(t, h.sendAs(t, "globex", nil, request{"GET", added.DownloadURL, "", nil})).Status)
}

func TestUnchangedPageWithNextCursorReturns304(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	h.post(t, 201, "/v1/quotes", quoteBody)
	h.post(t, 201, "/v1/quotes", quoteBody)
	first := h.get(t, "/v1/quotes?limit=1")
	require.Contains(t, string(first.Body), `"next_cursor":"`)
	require.Equal(t, string(first.Body), string(h.get(t, "/v1/quotes?limit=1").Body))
	h.expectStatus(t, http.StatusNotModified, request{"GET", "/v1/quotes?limit=1", "", []string{"If-None-Match: " + first.Header.Get("ETag")}})
}

func TestIfNoneMatchReturns304(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	quote := decodeRecord[wire.Quote](t, h.post(t, 201, "/v1/quotes", quoteBody))
	tag := h.get(t, "/v1/quotes/"+quote.ID).Header.Get("ETag")
	require.Regexp(t, `^"[A-Za-z0-9_-]{43}"$`, tag)
	h.expectStatus(t, http.StatusNotModified, request{"GET", "/v1/quotes/" + quote.ID, "", []string{"If-None-Match: " + tag}})
	h.post(t, 201, "/v1/policies", `{"quote_id":"`+quote.ID+`"}`)
	h.expectStatus(t, http.StatusOK, request{"GET", "/v1/quotes/" + quote.ID, "", []string{"If-None-Match: " + tag}})
	p := requireProblem(t, h.post(t, 409, "/v1/policies", `{"quote_id":"`+quote.ID+`"}`))
	require.Equal(t, string(apperr.CodeQuoteAlreadyBound), p.Code)
}
