package webhooks_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/events/webhooks"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
)

func TestTestEventNeedsNoSubscription(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	endpoint := modeltest.Must(b.Service.Webhooks.CreateEndpoint(t.Context(), b.Acme, webhooks.EndpointRequest{URL: new("https://example.com/hooks"), EventTypes: []string{"quote.bound"}}))
	_, err := b.Service.Webhooks.TestEndpoint(t.Context(), b.Acme, endpoint.ID)
	early := modeltest.DomainError(t, err)
	require.Equal(t, apperr.CodeStateConflict, early.Code)
	require.Equal(t, time.Second, early.RetryAfter, "its event has no number yet")
	b.Relay()
	for caller, want := range map[*actor.Actor]apperr.Code{&b.Globex: apperr.CodeNotFound, &b.Operator: apperr.CodeInsufficientScope} {
		_, err = b.Service.Webhooks.TestEndpoint(t.Context(), *caller, endpoint.ID)
		require.Equal(t, want, apperr.CodeOf(err))
	}
	delivery := modeltest.Must(b.Service.Webhooks.TestEndpoint(t.Context(), b.Acme, endpoint.ID))
	require.Equal(t, []string{"pending", endpoint.ID}, []string{delivery.Status, delivery.EndpointID})
	require.Empty(t, delivery.Attempts)
	job := lastRun(t, b)
	batch := fetch(t, b, job)
	require.Equal(t, "webhook_endpoint.enabled", batch.Items[0].Event.Type)
	require.Equal(t, delivery.EventID, batch.Items[0].Event.ID)
	save(t, b, job, batch, "d")

	modeltest.Must(b.Service.Webhooks.ChangeEndpoint(t.Context(), b.Acme, endpoint.ID, webhooks.EndpointRequest{Status: new("disabled")}))
	retry := func() error { _, err := b.Service.Webhooks.RetryDelivery(t.Context(), b.Acme, delivery.ID); return err }
	retryAll := func() error {
		_, err := b.Service.Webhooks.RetryFailed(t.Context(), b.Acme, endpoint.ID, nil, nil)
		return err
	}
	test := func() error { _, err := b.Service.Webhooks.TestEndpoint(t.Context(), b.Acme, endpoint.ID); return err }
	for _, send := range []func() error{retry, retryAll, test} {
		refusal := modeltest.DomainError(t, send())
		require.Equal(t, apperr.CodeStateConflict, refusal.Code)
		require.Equal(t, endpoint.ID, refusal.ResourceID, "the endpoint to enable")
	}
}

func TestDeliveryIsSentAgainOnRequestOfItsPartner(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	endpoint := newEndpoint(t, b, webhooks.EndpointRequest{})
	job := lastRun(t, b)
	save(t, b, job, fetch(t, b, job), "d")
	require.False(t, end(t, b, job, false))
	page := modeltest.Must(b.Service.Webhooks.ListDeliveries(t.Context(), b.Acme, endpoint.ID, "", store.PageRequest{}))
	id := page.Data[0].ID
	for unknown, caller := range map[string]actor.Actor{id: b.Globex, "dlv_01kajw6p5qfn1t7zbjy0yse3hv": b.Acme, "": b.Acme, endpoint.ID: b.Acme} {
		_, err := b.Service.Webhooks.RetryDelivery(t.Context(), caller, unknown)
		require.Equal(t, apperr.CodeNotFound, apperr.CodeOf(err))
	}
	again := modeltest.Must(b.Service.Webhooks.RetryDelivery(t.Context(), b.Acme, id))
	require.Equal(t, "pending", again.Status)
	require.Len(t, again.Attempts, 1, "earlier attempts are kept")
	job = lastRun(t, b)
	save(t, b, job, fetch(t, b, job), "f")
	require.Equal(t, stored{Status: "pending", Round: 1, Answers: "df", Version: 3, OfEvent: true, Sequence: 1, Wait: storedDeliveries(t, b)[0].Wait}, storedDeliveries(t, b)[0])
}

func TestDeliveriesAreShownToTheirPartner(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	endpoint := newEndpoint(t, b, webhooks.EndpointRequest{})
	b.Quote("rain-excess", nil)
	b.Relay()
	job := lastRun(t, b)
	save(t, b, job, fetch(t, b, job), "df")
	hooks := b.Service.Webhooks
	for status, want := range map[string]int{"": 2, "delivered": 1, "pending": 1, "failed": 0} {
		page := modeltest.Must(hooks.ListDeliveries(t.Context(), b.Acme, endpoint.ID, status, store.PageRequest{}))
		require.Len(t, page.Data, want, status)
		pages := modeltest.Must(hooks.DeliveriesOf(status)(t.Context(), b.Acme, []string{endpoint.ID}, store.PageRequest{}))
		require.Equal(t, page.Data, pages[endpoint.ID].Data, status)
		foreign := modeltest.Must(hooks.DeliveriesOf(status)(t.Context(), b.Globex, []string{endpoint.ID}, store.PageRequest{}))
		require.Empty(t, foreign[endpoint.ID].Data)
		for _, delivery := range page.Data {
			require.True(t, status == "" || delivery.Status == status)
			byID := modeltest.Must(hooks.DeliveriesByID(t.Context(), b.Acme, []string{delivery.ID}))
			require.Equal(t, delivery, *byID[delivery.ID])
			require.Empty(t, modeltest.Must(hooks.DeliveriesByID(t.Context(), b.Globex, []string{delivery.ID})))
		}
	}
	_, err := hooks.DeliveriesOf("lost")(t.Context(), b.Acme, []string{endpoint.ID}, store.PageRequest{})
	require.Equal(t, apperr.CodeParameterInvalid, apperr.CodeOf(err))
	_, err = hooks.ListDeliveries(t.Context(), b.Globex, endpoint.ID, "", store.PageRequest{})
	require.Equal(t, apperr.CodeNotFound, apperr.CodeOf(err))
	require.Empty(t, modeltest.Must(hooks.EndpointsByID(t.Context(), b.Globex, []string{endpoint.ID})))
	require.Nil(t, modeltest.Must(hooks.EndpointsByID(t.Context(), b.Acme, []string{endpoint.ID}))[endpoint.ID].Secret)
	require.Len(t, modeltest.Must(hooks.ListEndpoints(t.Context(), b.Acme, store.Filter{Status: "enabled"}, store.PageRequest{})).Data, 1)
}

func TestDeliveriesAreKeptForThirtyDays(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	newEndpoint(t, b, webhooks.EndpointRequest{})
	b.Quote("rain-excess", nil)
	b.Relay()
	job := lastRun(t, b)
	save(t, b, job, fetch(t, b, job), "df")
	require.False(t, end(t, b, job, false))
	b.AdvanceClock(30*24*time.Hour - time.Minute)
	b.Sweep()
	require.Len(t, storedDeliveries(t, b), 2)
	b.AdvanceClock(2 * time.Minute)
	b.Sweep()
	left := storedDeliveries(t, b)
	require.Len(t, left, 1)
	require.Equal(t, "pending", left[0].Status, "what is still to be sent is kept")
}

func TestSecretOfAnEndpointIsShownOnce(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	first, second := newEndpoint(t, b, webhooks.EndpointRequest{}), newEndpoint(t, b, webhooks.EndpointRequest{})
	require.NotEqual(t, *first.Secret, *second.Secret)
	text, found := strings.CutPrefix(*first.Secret, "whsec_")
	require.True(t, found)
	secret, err := base64.StdEncoding.DecodeString(text)
	require.NoError(t, err)
	require.Len(t, secret, 32)
	require.Nil(t, modeltest.Must(b.Service.Webhooks.GetEndpoint(t.Context(), b.Acme, first.ID)).Secret)
	changed := modeltest.Must(b.Service.Webhooks.ChangeEndpoint(t.Context(), b.Acme, first.ID, webhooks.EndpointRequest{Ordered: new(true)}))
	require.Nil(t, changed.Secret)
	var plain int
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select count(*) from webhook_endpoints where position($1::bytea in secret) > 0", secret).Scan(&plain))
	require.Zero(t, plain, "it is stored sealed")
}
