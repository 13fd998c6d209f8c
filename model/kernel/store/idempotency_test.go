package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/events/webhooks"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/underwriting"
	"parapet/model/wire"
)

func TestReplayReturnsSameBytes(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	ask := func(actor actor.Actor) (*wire.Quote, error) {
		return b.Service.Quotes.Create(t.Context(), actor, b.ActingAs(actor).QuoteRequest("quake-circle", nil))
	}
	first, err := ask(modeltest.WithKey(b.Acme, "k1", "a"))
	require.NoError(t, err)
	_, err = ask(modeltest.WithKey(b.Acme, "k1", "a"))
	replay := new(store.Replay)
	require.ErrorAs(t, err, &replay)
	require.Equal(t, 201, replay.Status)
	require.Equal(t, first.ID, replay.ResourceID)
	answered, err := wire.Encode(first)
	require.NoError(t, err)
	require.Equal(t, string(answered), string(replay.Body))

	_, err = ask(modeltest.WithKey(b.Acme, "k1", "b"))
	require.Equal(t, apperr.CodeIdempotencyKeyReused, modeltest.DomainError(t, err).Code)
	_, err = ask(modeltest.WithKey(b.Globex, "k1", "a"))
	require.NoError(t, err, "another partner's key is another key")
	require.Equal(t, 2, b.CountRows()["quotes"])
}

func TestReplaySucceedsAfterRequestBecameInvalid(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	request := b.QuoteRequest("quake-circle", modeltest.Context{"starts_at": b.Now().Add(time.Hour)})
	first, err := b.Service.Quotes.Create(t.Context(), modeltest.WithKey(b.Acme, "k1", "a"), request)
	require.NoError(t, err)
	b.AdvanceClock(2 * time.Hour)
	_, err = b.Service.Quotes.Create(t.Context(), b.Acme, request)
	require.Equal(t, apperr.CodeValidationFailed, modeltest.DomainError(t, err).Code, "its start has passed")
	_, err = b.Service.Quotes.Create(t.Context(), modeltest.WithKey(b.Acme, "k1", "a"), request)
	replay := new(store.Replay)
	require.ErrorAs(t, err, &replay)
	require.Equal(t, first.ID, replay.ResourceID)
}

func TestFailedRequestIsNotStoredUnderKey(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	quote := b.Quote("quake-circle", nil)
	actor := modeltest.WithKey(b.Acme, "k1", "bind")
	_, err := b.Service.Policies.Bind(t.Context(), actor, underwriting.BindRequest{QuoteID: "quo_01kajw6p5qfn1t7zbjy0yse3hv"})
	require.Equal(t, apperr.CodeNotFound, modeltest.DomainError(t, err).Code)
	_, err = b.Service.Policies.Bind(t.Context(), actor, underwriting.BindRequest{QuoteID: quote.ID})
	require.NoError(t, err)
}

func TestIdempotencyKeyIsInFlightUntilConnectionEnds(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	quote := b.Quote("quake-circle", nil)
	actor := modeltest.WithKey(b.Acme, "k1", "bind")
	bind := func(ctx context.Context) error {
		_, err := b.Service.Policies.Bind(ctx, actor, underwriting.BindRequest{QuoteID: quote.ID, PartnerReference: new("ref-1")})
		return err
	}
	hold := b.BlockReference("ref-1")
	first := make(chan error, 1)
	go func() { first <- bind(context.WithoutCancel(t.Context())) }()
	hold.AwaitWaiter()
	busy := modeltest.DomainError(t, bind(t.Context()))
	require.Equal(t, apperr.CodeIdempotencyInFlight, busy.Code)
	require.Positive(t, busy.RetryAfter)

	hold.KillWaiter()
	require.Equal(t, apperr.CodeUnavailable, modeltest.DomainError(t, <-first).Code, "killed")
	hold.Release()
	// Postgres detects the dead connection after a while; then the lock is free.
	require.Eventually(t, func() bool { return bind(t.Context()) == nil }, time.Minute, 20*time.Millisecond)
}

// The secret of a stored response is sealed for a day. Afterwards the sweep removes it
// from the database, so that not even all keys reveal it.
func TestStoredResponseLosesSecretAfterOneDay(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	actor := modeltest.WithKey(b.Acme, "k1", "hook")
	made, err := b.Service.Webhooks.CreateEndpoint(t.Context(), actor, webhooks.EndpointRequest{URL: new("https://hooks.example.com")})
	require.NoError(t, err)
	require.NotNil(t, made.Secret)
	stored := func() (body []byte, until *time.Time) {
		t.Helper()
		require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select body, sealed_until from idempotency_keys").Scan(&body, &until))
		return body, until
	}
	b.AdvanceClock(24*time.Hour - time.Minute)
	b.Sweep()
	body, until := stored()
	require.NotNil(t, until)
	require.NotContains(t, string(body), made.ID, "it is sealed")
	b.AdvanceClock(time.Minute)
	b.Sweep()
	body, until = stored()
	require.Nil(t, until)
	var kept wire.WebhookEndpoint
	require.NoError(t, wire.Decode(body, &kept))
	require.Equal(t, made.ID, kept.ID)
	require.Nil(t, kept.Secret)
}
