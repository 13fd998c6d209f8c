package rest_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/events/webhooks"
	"parapet/model/kernel/apperr"
	"parapet/model/wire"
)

const webhookEndpointsPath = "/v1/webhook_endpoints"

func TestWebhookEndpointLifecycle(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	made := h.post(t, 201, webhookEndpointsPath, `{"url":"https://hooks.example.com/p","event_types":["claim.approved"],"partner_reference":"p","metadata":{"a":"b","c":"d"}}`)
	endpoint := decodeRecord[wire.WebhookEndpoint](t, made)
	require.Equal(t, webhookEndpointsPath+"/"+endpoint.ID, made.Header.Get("Location"))
	require.Regexp(t, `^whsec_[A-Za-z0-9+/]{43}=$`, *endpoint.Secret)
	at := webhookEndpointsPath + "/" + endpoint.ID
	read := decodeRecord[wire.WebhookEndpoint](t, h.get(t, at))
	require.Nil(t, read.Secret, "never shown again")
	read.Secret = endpoint.Secret
	require.Equal(t, endpoint, read)

	rotated := decodeRecord[wire.WebhookEndpoint](t, h.post(t, 200, at+"/rotate_secret", "{}"))
	require.NotEqual(t, *endpoint.Secret, *rotated.Secret)
	require.Len(t, decodeRecord[wire.List[wire.WebhookEndpoint]](t, h.get(t, webhookEndpointsPath+"?status=enabled&partner_reference=p")).Data, 1)
	require.Empty(t, decodeRecord[wire.List[wire.WebhookEndpoint]](t, h.get(t, webhookEndpointsPath+"?status=disabled")).Data)
	require.Empty(t, decodeRecord[wire.List[wire.WebhookEndpoint]](t, h.sendAs(t, "globex", nil, request{"GET", webhookEndpointsPath, "", nil})).Data)
	operator := decodeRecord[wire.WebhookEndpoint](t, h.sendAs(t, "operator", nil, request{"GET", at, "", nil}))
	require.Nil(t, operator.Secret)
	require.Equal(t, string(apperr.CodeInsufficientScope), requireProblem(t, h.sendAs(t, "operator", nil, request{"DELETE", at, "", nil})).Code)

	gone := h.expectStatus(t, 204, request{"DELETE", at, "", nil})
	require.Empty(t, gone.Body)
	for _, r := range []request{
		{"GET", at, "", nil}, {"DELETE", at, "", nil}, {"PATCH", at, "{}", nil}, {"POST", at + "/test", "", nil}, {"GET", at + "/deliveries", "", nil},
	} {
		require.Equal(t, 404, requireProblem(t, h.expectStatus(t, 404, r)).Status, r.method)
	}
	h.post(t, 201, webhookEndpointsPath, `{"url":"https://hooks.example.com/p","partner_reference":"p"}`)
}

// A change updates the given members and keeps the rest, with either media type.
func TestPatch(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	endpoint := decodeRecord[wire.WebhookEndpoint](t, h.post(t, 201, webhookEndpointsPath, `{"url":"https://a.example.com","event_types":["claim.approved"],"partner_reference":"p","metadata":{"a":"b","c":"d"}}`))
	at := webhookEndpointsPath + "/" + endpoint.ID
	patch := func(status int, body string, headers ...string) *reply {
		return h.expectStatus(t, status, request{"PATCH", at, body, headers})
	}
	for _, step := range []struct {
		body string
		want func(*wire.WebhookEndpoint)
	}{
		{`{}`, func(*wire.WebhookEndpoint) {}},
		{`{"ordered":true}`, func(e *wire.WebhookEndpoint) { e.Ordered = true }},
		{`{"ordered":false,"event_types":["*"]}`, func(e *wire.WebhookEndpoint) { e.Ordered, e.EventTypes = false, []string{"*"} }},
		{`{"metadata":{"a":null,"e":"f"}}`, func(e *wire.WebhookEndpoint) { e.Metadata = map[string]string{"c": "d", "e": "f"} }},
		{`{"partner_reference":null,"metadata":null}`, func(e *wire.WebhookEndpoint) { e.PartnerReference, e.Metadata = nil, map[string]string{} }},
		{`{"url":"https://b.example.com","status":"disabled"}`, func(e *wire.WebhookEndpoint) { e.URL, e.Status = "https://b.example.com", "disabled" }},
		{`{"status":"enabled"}`, func(e *wire.WebhookEndpoint) { e.Status = "enabled" }},
	} {
		before := decodeRecord[wire.WebhookEndpoint](t, h.get(t, at))
		step.want(before)
		after := decodeRecord[wire.WebhookEndpoint](t, patch(200, step.body, "Content-Type: application/merge-patch+json"))
		before.Version, before.UpdatedAt = after.Version, after.UpdatedAt
		require.Equal(t, before, after, step.body)
	}
	tag := h.get(t, at).Header.Get("ETag")
	require.Equal(t, string(apperr.CodeVersionMismatch), requireProblem(t, patch(412, `{"ordered":true}`, `If-Match: "other"`)).Code)
	patch(200, `{"ordered":true}`, "If-Match: "+tag)
	require.Equal(t, 412, requireProblem(t, h.expectStatus(t, 412, request{"DELETE", at, "", []string{"If-Match: " + tag}})).Status)
	require.Equal(t, 412, requireProblem(t, h.post(t, 412, at+"/rotate_secret", "", "If-Match: "+tag)).Status)
	for body, pointer := range map[string]string{
		`{"url":null}`: "/url", `{"event_types":[]}`: "/event_types", `{"event_types":["nothing"]}`: "/event_types/0", `{"status":"gone"}`: "/status",
		`{"partner_reference":""}`: "/partner_reference", `{"metadata":{"":"x"}}`: "/metadata/", `{"metadata":{"a":1}}`: "/metadata/a", `{"ordered":"true"}`: "/ordered",
	} {
		require.Equal(t, pointer, requireProblem(t, patch(422, body)).Errors[0].Pointer, body)
	}
	require.Equal(t, 415, requireProblem(t, patch(415, `{}`, "Content-Type: text/plain")).Status)
	require.Equal(t, 415, requireProblem(t, h.post(t, 415, webhookEndpointsPath, `{}`, "Content-Type: application/merge-patch+json")).Status)
	require.Equal(t, 400, requireProblem(t, h.post(t, 400, at+"/test", `{"a":1}`)).Status, "an action takes no members")
	h.expectStatus(t, 204, request{"DELETE", at, "", []string{"If-Match: " + h.get(t, at).Header.Get("ETag")}})
}

// A lost response can be repeated with its secret for a day, and afterwards without it.
func TestReplayIncludesTheSecretForOneDay(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	const key = "Idempotency-Key: once"
	made := h.post(t, 201, webhookEndpointsPath, `{"url":"https://hooks.example.com"}`, key)
	endpoint := decodeRecord[wire.WebhookEndpoint](t, made)
	rotate := webhookEndpointsPath + "/" + endpoint.ID + "/rotate_secret"
	rotated := h.post(t, 200, rotate, "", key)
	again := func() (creation, rotation *wire.WebhookEndpoint) {
		first, second := h.post(t, 201, webhookEndpointsPath, `{"url":"https://hooks.example.com"}`, key), h.post(t, 200, rotate, "{}", key)
		require.Equal(t, []string{"true", "true"}, []string{first.Header.Get("Idempotent-Replayed"), second.Header.Get("Idempotent-Replayed")})
		return decodeRecord[wire.WebhookEndpoint](t, first), decodeRecord[wire.WebhookEndpoint](t, second)
	}
	h.AdvanceClock(24*time.Hour - time.Minute)
	h.Sweep()
	creation, rotation := again()
	require.Equal(t, endpoint, creation)
	require.Equal(t, decodeRecord[wire.WebhookEndpoint](t, rotated), rotation)
	h.AdvanceClock(time.Minute)
	for range 2 { // before the sweep and after
		creation, rotation = again()
		require.Nil(t, creation.Secret)
		require.Nil(t, rotation.Secret)
		require.Equal(t, endpoint.ID, rotation.ID)
		h.Sweep()
	}
}

func TestAtMostTwentyEndpoints(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	for range webhooks.MaxWebhookEndpoints {
		h.post(t, 201, webhookEndpointsPath, `{"url":"https://hooks.example.com"}`)
	}
	require.Equal(t, string(apperr.CodeStateConflict), requireProblem(t, h.post(t, 409, webhookEndpointsPath, `{"url":"https://hooks.example.com"}`)).Code)
}

func TestDeliveriesAreListedAndRetried(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	endpoint := decodeRecord[wire.WebhookEndpoint](t, h.post(t, 201, webhookEndpointsPath, `{"url":"https://hooks.example.com","event_types":["quote.created"]}`))
	at := webhookEndpointsPath + "/" + endpoint.ID
	early := h.post(t, 409, at+"/test", "")
	p := requireProblem(t, early)
	require.Equal(t, string(apperr.CodeStateConflict), p.Code, "its event has no number yet")
	require.True(t, p.Retryable, p.Detail)
	require.Equal(t, "1", early.Header.Get("Retry-After"))
	h.post(t, 201, "/v1/quotes", quoteBody)
	h.Relay()
	test := decodeRecord[wire.Delivery](t, h.post(t, 202, at+"/test", ""))
	require.Equal(t, "pending", test.Status)
	h.RunJobs()
	list := decodeRecord[wire.List[wire.Delivery]](t, h.get(t, at+"/deliveries?status=delivered"))
	require.Len(t, list.Data, 2)
	require.Empty(t, decodeRecord[wire.List[wire.Delivery]](t, h.get(t, at+"/deliveries?status=failed")).Data)
	require.Equal(t, 400, requireProblem(t, h.expectStatus(t, 400, request{"GET", at + "/deliveries?status=lost", "", nil})).Status)
	again := decodeRecord[wire.Delivery](t, h.post(t, 202, "/v1/deliveries/"+list.Data[0].ID+"/retry", ""))
	require.Equal(t, "pending", again.Status)
	require.Len(t, again.Attempts, 1)
	require.Equal(t, http.StatusNotFound, requireProblem(t, h.sendAs(t, "globex", nil, request{"POST", "/v1/deliveries/" + again.ID + "/retry", "", nil})).Status)
}
