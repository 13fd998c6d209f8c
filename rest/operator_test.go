package rest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/apperr"
	"parapet/model/wire"
)

func TestOperatorWritesMessagesOverREST(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	_, _, claim := h.createClaim(t)
	at := "/v1/claims/" + claim.ID
	post := func(client, path, body, key string) *reply {
		return h.sendAs(t, client, nil, request{"POST", at + path, body, []string{"Idempotency-Key: " + key}})
	}
	const body = `{"body":"Which roof is it?"}`
	answer := post("operator", "/messages", body, "one")
	require.Equal(t, 201, answer.StatusCode, string(answer.Body))
	message := decodeRecord[wire.Message](t, answer)
	require.Equal(t, wire.Actor{Kind: "operator", Name: "parapet"}, message.Author)
	require.Equal(t, "true", post("operator", "/messages", body, "one").Header.Get("Idempotent-Replayed"))
	require.Empty(t, post("acme", "/messages", body, "one").Header.Get("Idempotent-Replayed"), "a partner's keys are others")
	list := decodeRecord[wire.List[wire.Message]](t, h.get(t, at+"/messages")).Data
	require.Len(t, list, 2)
	require.Equal(t, *message, list[0])
	require.Equal(t, 403, post("operator", "/attachments", `{}`, "two").StatusCode, "messages are all that operators write for a partner")
	require.Equal(t, 403, post("source", "/messages", body, "three").StatusCode)
	denied := requireProblem(t, h.sendAs(t, "acme", []string{"claims:read"}, request{"POST", at + "/messages", body, nil}))
	require.Equal(t, string(apperr.CodeInsufficientScope), denied.Code)
	require.Contains(t, denied.Detail, "claims:write")
}

// TestOperatorSeesWhatAnApprovalWouldPay reads a waiting payout as an operator, and as
// its partner, who does not see the approval.
func TestOperatorSeesWhatAnApprovalWouldPay(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	_, _, claim := h.createClaim(t)
	path := "/v1/payouts/" + claim.Payouts[0].ID
	read := func(client string) *reply { return h.sendAs(t, client, nil, request{"GET", path, "", nil}) }
	without := decodeRecord[wire.Payout](t, read("operator"))
	require.Equal(t, &wire.PayoutApproval{}, without.Approval)
	method := decodeRecord[wire.PayoutMethod](t, h.post(t, 201, "/v1/payout_methods", `{"claim_id":"`+claim.ID+`",`+ibanMembers))

	seen := decodeRecord[wire.Payout](t, read("operator")).Approval
	require.NotNil(t, seen.Digest)
	require.Equal(t, []string{method.ID, "3000", "Lin Mei-hua", "pending"},
		[]string{seen.PayoutMethod.PayoutMethodID, seen.PayoutMethod.Display.Last4, seen.PayoutMethod.Beneficiary.Name, seen.PayoutMethod.Status})
	require.Nil(t, seen.PayoutMethod.VerifiedAt)
	for _, list := range []string{"/v1/claims/" + claim.ID + "/payouts", "/v1/payouts"} {
		listed := decodeRecord[wire.List[wire.Payout]](t, h.sendAs(t, "operator", nil, request{"GET", list, "", nil})).Data
		require.Equal(t, seen, listed[0].Approval, list)
	}
	partner := h.get(t, path)
	require.NotContains(t, string(partner.Body), "approval")
	require.Equal(t, method.ID, *decodeRecord[wire.Payout](t, partner).PayoutMethodID)
	h.RunJobs()
	after := decodeRecord[wire.Payout](t, read("operator"))
	require.Equal(t, []string{"released", "verified"}, []string{after.Status, after.Approval.PayoutMethod.Status})
	require.NotEqual(t, partner.Header.Get("ETag"), read("operator").Header.Get("ETag"))
}
