package rest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/apperr"
	"parapet/model/kernel/wal"
	"parapet/model/wire"
)

const readAfter = "Parapet-Read-After"

// positionOf returns the position that a response carries.
func positionOf(t *testing.T, response *reply) wal.Position {
	t.Helper()
	require.Len(t, response.Header.Values(readAfter), 1)
	position, ok := wal.Parse(response.Header.Get(readAfter))
	require.True(t, ok, response.Header.Get(readAfter))
	return position
}

func TestEveryWriteAnswersItsPosition(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	created := h.post(t, 201, "/v1/quotes", quoteBody, "Idempotency-Key: k1")
	quote := decodeRecord[wire.Quote](t, created)
	last := positionOf(t, created)
	require.EqualValues(t, 1, last.Timeline)
	endpoint := decodeRecord[wire.WebhookEndpoint](t, h.post(t, 201, "/v1/webhook_endpoints", `{"url":"https://example.com/hooks","event_types":["*"]}`))
	for _, write := range []struct {
		status int
		request
	}{
		{201, request{"POST", "/v1/policies", `{"quote_id":"` + quote.ID + `"}`, nil}},
		{200, request{"PATCH", "/v1/webhook_endpoints/" + endpoint.ID, `{"status":"disabled"}`, nil}},
		{200, request{"POST", "/v1/webhook_endpoints/" + endpoint.ID + "/rotate_secret", "", nil}},
		{204, request{"DELETE", "/v1/webhook_endpoints/" + endpoint.ID, "", nil}},
		{201, request{"POST", "/v1/quotes", quoteBody, []string{"Idempotency-Key: k1"}}}, // a replay
	} {
		position := positionOf(t, h.expectStatus(t, write.status, write.request))
		require.Greater(t, position.LSN, last.LSN, write.path)
		last.LSN = position.LSN - 1 // a replay writes nothing of its own
	}
	for _, other := range []*reply{
		h.get(t, "/v1/quotes/"+quote.ID),
		h.get(t, "/v1/quotes"),
		h.post(t, 422, "/v1/quotes", `{"product":"unknown"}`),
		h.post(t, 404, "/v1/policies", `{"quote_id":"quo_01kajw6p5qfn1t7zbjy0yse3hv"}`),
		h.post(t, 422, "/v1/quotes", `{"product":"unknown"}`, "Idempotency-Key: k1"),
	} {
		require.Empty(t, other.Header.Values(readAfter))
	}
}

func TestReadAfterIsTakenAsItWasAnswered(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	created := h.post(t, 201, "/v1/quotes", quoteBody)
	quote, position := decodeRecord[wire.Quote](t, created), created.Header.Get(readAfter)
	for _, path := range []string{"/v1/quotes/" + quote.ID, "/v1/quotes", "/v1/events?after_sequence=0"} {
		h.expectStatus(t, 200, request{"GET", path, "", []string{readAfter + ": " + position}})
		for _, malformed := range []string{"x", position + "0x", "0/16B3748"} {
			problem := requireProblem(t, h.expectStatus(t, 400, request{"GET", path, "", []string{readAfter + ": " + malformed}}))
			require.Equal(t, string(apperr.CodeParameterInvalid), problem.Code)
			require.Contains(t, problem.Detail, "send it unchanged or leave it out")
		}
	}
	h.post(t, 201, "/v1/quotes", quoteBody, readAfter+": "+position)
	h.post(t, 400, "/v1/quotes", quoteBody, readAfter+": 1")
}
