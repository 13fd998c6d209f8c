package rest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/wire"
)

// A challenge is a write like any other: idempotent, of the partner's own claims, and shown
// in reads and lists.
func TestClaimIsChallenged(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	_, _, claim := h.createClaim(t)
	path, body := "/v1/claims/"+claim.ID+"/challenge", `{"reason":"It was stronger here."}`
	h.expectStatus(t, 422, request{"POST", path, `{"reason":""}`, nil})
	first := h.post(t, 200, path, body, "Idempotency-Key: challenge-1")
	challenged := decodeRecord[wire.Claim](t, first)
	require.Equal(t, "open", challenged.MeasurementState.Challenge.Status)
	again := h.post(t, 200, path, body, "Idempotency-Key: challenge-1")
	require.Equal(t, string(first.Body), string(again.Body))
	h.expectStatus(t, 409, request{"POST", path, body, nil})
	require.Equal(t, 404, h.sendAs(t, "globex", nil, request{"POST", path, body, nil}).StatusCode)
	read := decodeRecord[wire.Claim](t, h.get(t, "/v1/claims/"+claim.ID))
	require.Equal(t, challenged.MeasurementState, read.MeasurementState)
	list := decodeRecord[wire.List[wire.Claim]](t, h.get(t, "/v1/claims"))
	require.Equal(t, read.MeasurementState, list.Data[0].MeasurementState)
}
