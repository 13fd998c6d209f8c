package webhooks_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/events/webhooks"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
)

func TestEndpointRequestsAreValidated(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	many := make([]string, len(event.Types())+1)
	for i := range many {
		many[i] = string(event.QuoteBound)
	}
	for pointer, in := range map[string]webhooks.EndpointRequest{
		"/url":               {},
		"/url ":              {URL: new("example.com/hooks")},
		"/url  ":             {URL: new("https:hooks")},
		"/url   ":            {URL: new("https://user:secret@example.com/")},
		"/url    ":           {URL: new("https://example.com/#part")},
		"/url     ":          {URL: new("https://example.com/" + strings.Repeat("a", 2048))},
		"/event_types/1":     {EventTypes: []string{"quote.created", "quote.lost"}},
		"/event_types":       {EventTypes: []string{}},
		"/event_types ":      {EventTypes: many},
		"/status":            {Status: new("paused")},
		"/partner_reference": {PartnerReference: new(" ")},
		"/metadata/k":        {Metadata: map[string]string{"k": strings.Repeat("v", 501)}},
	} {
		if !strings.HasPrefix(pointer, "/url") {
			in.URL = new("https://example.com/hooks")
		}
		_, err := b.Service.Webhooks.CreateEndpoint(t.Context(), b.Acme, in)
		refused := modeltest.DomainError(t, err)
		require.Equal(t, apperr.CodeValidationFailed, refused.Code, pointer)
		require.Equal(t, strings.TrimSpace(pointer), refused.Fields[0].Pointer)
	}
	require.Zero(t, b.CountRows()["webhook_endpoints"])
	reader := b.Acme
	reader.Scopes = nil
	_, err := b.Service.Webhooks.CreateEndpoint(t.Context(), reader, webhooks.EndpointRequest{URL: new("https://example.com/hooks")})
	require.Equal(t, apperr.CodeInsufficientScope, apperr.CodeOf(err))
}

func TestPartnerHasAtMostTwentyEndpoints(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	create := func() (string, error) {
		endpoint, err := b.Service.Webhooks.CreateEndpoint(t.Context(), b.Acme, webhooks.EndpointRequest{URL: new("https://example.com/hooks")})
		if err != nil {
			return "", err
		}
		return endpoint.ID, nil
	}
	var id string
	for range webhooks.MaxWebhookEndpoints {
		id = modeltest.Must(create())
	}
	_, err := create()
	refused := modeltest.DomainError(t, err)
	require.Equal(t, apperr.CodeStateConflict, refused.Code)
	require.Contains(t, refused.Detail, "20 webhook endpoints")
	modeltest.Must(b.Service.Webhooks.CreateEndpoint(t.Context(), b.Globex, webhooks.EndpointRequest{URL: new("https://example.com/hooks")}))
	require.NoError(t, b.Service.Webhooks.DeleteEndpoint(t.Context(), b.Acme, id))
	modeltest.Must(create())
}

func TestChangeOfAnEndpointKeepsWhatItDoesNotName(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	first := newEndpoint(t, b, webhooks.EndpointRequest{PartnerReference: new("hooks-1"), Metadata: map[string]string{"a": "1", "b": "2"}, EventTypes: []string{"quote.bound"}})
	require.True(t, strings.HasPrefix(*first.Secret, "whsec_"))
	change := func(in webhooks.EndpointRequest) string {
		changed := modeltest.Must(b.Service.Webhooks.ChangeEndpoint(t.Context(), b.Acme, first.ID, in))
		require.Nil(t, changed.Secret, "only creation and rotation show it")
		reference := "none"
		if changed.PartnerReference != nil {
			reference = *changed.PartnerReference
		}
		return fmt.Sprintf("%d %s %t %v %s %v", changed.Version, changed.Status, changed.Ordered, changed.EventTypes, reference, changed.Metadata)
	}
	require.Equal(t, "1 enabled false [quote.bound] hooks-1 map[a:1 b:2]", change(webhooks.EndpointRequest{}), "nothing changes")
	require.Equal(t, "2 enabled true [quote.bound] hooks-1 map[a:1 b:2]", change(webhooks.EndpointRequest{Ordered: new(true)}))
	require.Equal(t, "3 enabled true [quote.bound] hooks-1 map[b:3 c:4]", change(webhooks.EndpointRequest{MergeMetadata: map[string]*string{"a": nil, "b": new("3"), "c": new("4")}}))
	require.Equal(t, "4 enabled true [*] none map[]", change(webhooks.EndpointRequest{EventTypes: []string{"*"}, ClearReference: true, Metadata: map[string]string{}}))
	require.Equal(t, "5 disabled true [*] none map[]", change(webhooks.EndpointRequest{Status: new("disabled")}))
	require.Equal(t, "5 disabled true [*] none map[]", change(webhooks.EndpointRequest{Status: new("disabled")}))
	_, err := b.Service.Webhooks.TestEndpoint(t.Context(), b.Acme, first.ID)
	require.Equal(t, first.ID, modeltest.DomainError(t, err).ResourceID, "a disabled endpoint gets no test")
	_, err = b.Service.Webhooks.RetryFailed(t.Context(), b.Acme, first.ID, nil, nil)
	require.Equal(t, apperr.CodeStateConflict, apperr.CodeOf(err))
	_, err = b.Service.Webhooks.ChangeEndpoint(t.Context(), b.Globex, first.ID, webhooks.EndpointRequest{Ordered: new(false)})
	require.Equal(t, apperr.CodeNotFound, apperr.CodeOf(err))
	keys := map[string]*string{}
	for i := range 51 {
		keys[fmt.Sprint("key", i)] = new("v")
	}
	_, err = b.Service.Webhooks.ChangeEndpoint(t.Context(), b.Acme, first.ID, webhooks.EndpointRequest{MergeMetadata: keys})
	require.Equal(t, "/metadata", modeltest.DomainError(t, err).Fields[0].Pointer, "the merged metadata is checked")
	require.Len(t, modeltest.Must(b.Service.Webhooks.ListEndpoints(t.Context(), b.Acme, store.Filter{Status: "disabled"}, store.PageRequest{})).Data, 1)
	require.Empty(t, modeltest.Must(b.Service.Webhooks.EndpointsByID(t.Context(), b.Globex, []string{first.ID})))
}

func TestFormerSecretSignsForADay(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	endpoint := newEndpoint(t, b, webhooks.EndpointRequest{})
	first := fetch(t, b, lastRun(t, b)).Secrets
	require.Len(t, first, 1)
	rotated := modeltest.Must(b.Service.Webhooks.RotateSecret(t.Context(), b.Acme, endpoint.ID))
	require.NotEqual(t, endpoint.Secret, rotated.Secret)
	both := fetch(t, b, lastRun(t, b)).Secrets
	require.Len(t, both, 2)
	require.Equal(t, first[0], both[1], "the new one is first")
	b.AdvanceClock(24*time.Hour - time.Minute)
	require.Len(t, fetch(t, b, lastRun(t, b)).Secrets, 2)
	_, err := b.Service.Webhooks.RotateSecret(t.Context(), b.Acme, endpoint.ID)
	require.Equal(t, apperr.CodeStateConflict, apperr.CodeOf(err))
	b.AdvanceClock(time.Minute)
	require.Equal(t, both[:1], fetch(t, b, lastRun(t, b)).Secrets)
	modeltest.Must(b.Service.Webhooks.RotateSecret(t.Context(), b.Acme, endpoint.ID))
}
