package rest_test

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/apperr"
	"parapet/model/wire"
)

func TestClaimsForApprovalBeyondQuotaReturn429(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	quote := decodeRecord[wire.Quote](t, h.post(t, http.StatusCreated, "/v1/quotes", quoteBody))
	policy := decodeRecord[wire.Policy](t, h.post(t, http.StatusCreated, "/v1/policies", `{"quote_id":"`+quote.ID+`"}`))
	body := `{"policy_id":"` + policy.ID + `"}`
	const quota, key = 20, "Idempotency-Key: once"
	first := h.post(t, http.StatusCreated, "/v1/claims", body, key)
	for range quota - 1 {
		h.post(t, http.StatusCreated, "/v1/claims", body)
	}
	answer := h.post(t, http.StatusTooManyRequests, "/v1/claims", body)
	said := requireProblem(t, answer)
	require.EqualValues(t, apperr.CodeRateLimited, said.Code)
	require.True(t, said.Retryable)
	require.Equal(t, policy.ID, said.ResourceID)
	wait, err := strconv.Atoi(answer.Header.Get("Retry-After"))
	require.NoError(t, err)
	require.InDelta(t, (24 * time.Hour).Seconds(), wait, 600)

	again := h.post(t, http.StatusCreated, "/v1/claims", body, key)
	require.Equal(t, string(first.Body), string(again.Body), "an answer that was given is given again")
	shown := decodeRecord[wire.Policy](t, h.get(t, "/v1/policies/"+policy.ID))
	require.EqualValues(t, quota, shown.ClaimsCount)
	require.Len(t, shown.Claims, quota)
}
