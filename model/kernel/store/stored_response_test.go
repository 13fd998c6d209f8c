package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/compress"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// answer runs a request whose response is a person's name. It returns the response that was
// stored before, nil if the request ran now.
func answer(t *testing.T, s *store.Store, caller actor.Actor, name string) (*store.Replay, error) {
	t.Helper()
	err := s.InTx(t.Context(), caller, func(_ context.Context, tx *store.Tx) error {
		return tx.StoreResponse(store.StatusAccepted, "quo_1", wire.Person{Name: &name})
	})
	if replay, ok := err.(*store.Replay); ok { //nolint:errorlint // it is never wrapped
		return replay, nil
	}
	return nil, err
}

func TestResponseIsReplayedForItsOwnKeyOnly(t *testing.T) {
	t.Parallel()
	s, _ := openNotes(t)
	acme := modeltest.WithKey(modeltest.Partner("acme"), "k1", "a")
	replay, err := answer(t, s, acme, "first")
	require.NoError(t, err)
	require.Nil(t, replay)
	replay, err = answer(t, s, acme, "second")
	require.NoError(t, err)
	require.Equal(t, &store.Replay{Status: 202, ResourceID: "quo_1", Body: []byte(`{"name":"first","email":null,"country":null}`)}, replay)
	require.EqualError(t, replay, "this request was answered before")

	_, err = answer(t, s, modeltest.WithKey(modeltest.Partner("acme"), "k1", "b"), "second")
	require.Equal(t, apperr.CodeIdempotencyKeyReused, apperr.CodeOf(err))
	operation := acme
	operation.IdempotencyKey = &actor.IdempotencyKey{Operation: "another", Key: "k1", Request: acme.IdempotencyKey.Request}
	person := modeltest.WithKey(modeltest.Operator(), "k1", "a")
	person.Name = "acme"
	for name, other := range map[string]actor.Actor{
		"another key": modeltest.WithKey(modeltest.Partner("acme"), "k2", "a"), "another partner": modeltest.WithKey(modeltest.Partner("globex"), "k1", "a"),
		"another operation": operation, "a person with the partner's name": person, "no key": modeltest.Partner("acme"),
	} {
		replay, err := answer(t, s, other, "first")
		require.NoError(t, err, name)
		require.Nil(t, replay, name)
	}
}

func TestRequestWithAKeyInUseIsRefused(t *testing.T) {
	t.Parallel()
	s, _ := openNotes(t)
	acme := modeltest.WithKey(modeltest.Partner("acme"), "k1", "a")
	require.NoError(t, s.InTx(t.Context(), acme, func(context.Context, *store.Tx) error {
		_, err := answer(t, s, acme, "second") //nolint:contextcheck // another request
		refusal := modeltest.DomainError(t, err)
		require.Equal(t, apperr.CodeIdempotencyInFlight, refusal.Code)
		require.Equal(t, time.Second, refusal.RetryAfter)
		_, err = answer(t, s, modeltest.WithKey(modeltest.Partner("acme"), "k2", "a"), "other") //nolint:contextcheck // another request
		require.NoError(t, err)
		return nil
	}))
	replay, err := answer(t, s, acme, "third")
	require.NoError(t, err)
	require.Nil(t, replay, "nothing was stored, so the request runs")
}

func TestResponseWithASecretIsSealedUnderItsKey(t *testing.T) {
	t.Parallel()
	s, db := openNotes(t)
	respond := func(key string, secret *string) error {
		return s.InTx(t.Context(), modeltest.WithKey(modeltest.Partner("acme"), key, "a"), func(_ context.Context, tx *store.Tx) error {
			return tx.StoreResponseSealed(store.StatusCreated, &wire.WebhookEndpoint{Header: wire.Header{ID: "whe_1"}, Secret: secret})
		})
	}
	require.NoError(t, respond("k1", new("whsec_1")))
	require.NoError(t, respond("plain", nil))
	var sealed []byte
	var plain compress.JSON
	var until, never *time.Time
	read := "select body, sealed_until from idempotency_keys where key = $1"
	require.NoError(t, db.Pool.QueryRow(t.Context(), read, "k1").Scan(&sealed, &until))
	require.NoError(t, db.Pool.QueryRow(t.Context(), read, "plain").Scan(&plain, &never))
	require.NotContains(t, string(sealed), "whsec_1")
	require.Contains(t, string(plain), `"id":"whe_1"`)
	require.Nil(t, never)
	replay := new(store.Replay)
	require.ErrorAs(t, respond("k1", nil), &replay)
	require.Contains(t, string(replay.Body), "whsec_1")

	_, err := db.Pool.Exec(t.Context(), "insert into idempotency_keys select owner, operation, 'copied', request_hash, status, resource_id, body, created_at, sealed_until from idempotency_keys where key = 'k1'")
	require.NoError(t, err)
	require.ErrorContains(t, respond("copied", nil), "open idempotent answer", "a row moved to another key cannot be opened")
	_, err = db.Pool.Exec(t.Context(), "delete from idempotency_keys where key = 'copied'; update idempotency_keys set sealed_until = now() where key = 'k1'")
	require.NoError(t, err)
	require.ErrorAs(t, respond("k1", nil), &replay)
	require.NotContains(t, string(replay.Body), "secret", "after a day, even before the sweep")
	require.Equal(t, 201, replay.Status)
	for _, want := range []int{1, 0} {
		require.NoError(t, inTx(t, s, func(ctx context.Context, tx *store.Tx) error {
			n, err := store.PurgeSecrets(ctx, tx)
			require.Equal(t, want, n)
			return err
		}))
	}
}

func TestAuditLineNamesActorAndSubject(t *testing.T) {
	t.Parallel()
	s, db := openNotes(t)
	olive := modeltest.Operator()
	olive.Operation, olive.RequestID, olive.Subject = "decideClaim", "req-1", "u-17"
	for caller, do := range map[*actor.Actor]func(*store.Tx) error{
		&olive: func(tx *store.Tx) error {
			tx.Describe("acme", "clm_1", new("Because."))
			defer tx.WithActor(actor.System())() // the line names the caller all the same
			return tx.StoreResponse(store.StatusOK, "pay_1", wire.Person{})
		},
		new(modeltest.Partner("acme")): func(tx *store.Tx) error { tx.Describe("acme", "clm_1", nil); return nil },
		new(actor.System()):            func(*store.Tx) error { return nil },
	} {
		require.NoError(t, s.InTx(t.Context(), *caller, func(_ context.Context, tx *store.Tx) error { return do(tx) }))
	}
	var lines []store.AuditRow
	require.NoError(t, db.Bun.NewSelect().Model(&lines).Scan(t.Context()))
	require.Len(t, lines, 1, "only operators' changes are audited")
	line := lines[0]
	require.False(t, line.CreatedAt.IsZero())
	require.Equal(t, []string{"done", "decideClaim", "operator", "u-17", "console"}, []string{string(line.Outcome), line.Operation, string(line.ActorKind), line.Actor, line.Client})
	require.Equal(t, []string{modeltest.Issuer, "acme", "clm_1", "Because.", "req-1"}, []string{*line.Issuer, *line.Partner, *line.Subject, *line.Reason, *line.RequestID})
	require.EqualValues(t, 1, line.Times)
}

func TestAuditSubjectIsTheRecordOfTheResponse(t *testing.T) {
	t.Parallel()
	s, db := openNotes(t)
	require.NoError(t, s.InTx(t.Context(), modeltest.Operator(), func(_ context.Context, tx *store.Tx) error {
		return tx.StoreResponse(store.StatusOK, "pay_1", wire.Person{})
	}))
	var subject, operation string
	require.NoError(t, db.Pool.QueryRow(t.Context(), "select subject, operation from audit_entries").Scan(&subject, &operation))
	require.Equal(t, []string{"pay_1", "unnamed"}, []string{subject, operation})
}

func TestResponsesAreStoredCompressedWhereEveryReleaseReadsThem(t *testing.T) {
	t.Parallel()
	for _, minimum := range []int{46, 47} {
		s, db := openNotes(t)
		_, err := db.Pool.Exec(t.Context(), "update schema_compatibility set minimum_binary = $1", minimum)
		require.NoError(t, err)
		acme := modeltest.WithKey(modeltest.Partner("acme"), "k1", "a")
		for range 2 {
			replay, err := answer(t, s, acme, "first")
			require.NoError(t, err)
			if replay != nil {
				require.Contains(t, string(replay.Body), `{"name":"first"`)
			}
		}
		var frame bool
		require.NoError(t, db.Pool.QueryRow(t.Context(), "select get_byte(body, 0) = 1 from idempotency_keys").Scan(&frame))
		require.Equal(t, minimum == 47, frame)
	}
}
