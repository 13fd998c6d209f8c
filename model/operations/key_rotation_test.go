package operations_test

import (
	"bytes"
	"encoding/base64"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/model/events/webhooks"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/seal"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/operations"
)

// newServiceWithSealKeys returns the service of a process with these keys; the first one
// seals.
func newServiceWithSealKeys(t *testing.T, b *modeltest.Bundle, keys ...seal.Key) *model.Service {
	t.Helper()
	return modeltest.NewServiceWithKeys(t, b, seal.Keys{Seal: keys, Fingerprint: modeltest.Keys().Fingerprint})
}

func TestSealKeysRotateWhileServersRun(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewClaimAboveApprovalLimit(b)
	payout := modeltest.OnlyPayout(t, b, claim)
	_, err := modeltest.ApprovePayoutAs(t, b, "ann", payout)
	require.NoError(t, err)
	url := "https://hooks.example.com/"
	caller := b.Acme
	caller.IdempotencyKey = &actor.IdempotencyKey{Operation: "createWebhookEndpoint", Key: "k1", Request: []byte("r")}
	endpoint, err := b.Service.Webhooks.CreateEndpoint(t.Context(), caller, webhooks.EndpointRequest{URL: &url})
	require.NoError(t, err)
	rotated, err := b.Service.Webhooks.RotateSecret(t.Context(), b.Acme, endpoint.ID)
	require.NoError(t, err)
	methods, err := b.Service.Payouts.GetMethods(t.Context(), b.Acme, claim.ID, store.PageRequest{})
	require.NoError(t, err)
	method := methods.Data[0]
	old := modeltest.Keys().Seal[0]
	sealed, err := b.Service.Operations.CountSecretsByKey(t.Context(), b.Operator)
	require.NoError(t, err)
	require.Equal(t, map[string]int64{old.ID: 4}, sealed, "an account, two secrets, and a stored response with a secret")

	young := seal.Key{ID: "k2", Secret: bytes.Repeat([]byte{7}, 32)}
	both := newServiceWithSealKeys(t, b, young, old)
	_, err = newServiceWithSealKeys(t, b, young).Operations.Reseal(t.Context(), b.Operator)
	require.ErrorContains(t, err, "no key", "the old key is needed until every secret is sealed again")
	for _, want := range []int64{3, 0} {
		n, err := both.Operations.Reseal(t.Context(), b.Operator)
		require.NoError(t, err)
		require.Equal(t, want, n, "rows")
	}
	sealed, err = both.Operations.CountSecretsByKey(t.Context(), b.Operator)
	require.NoError(t, err)
	require.Equal(t, map[string]int64{"k2": 4}, sealed)

	b.Service = newServiceWithSealKeys(t, b, young)
	same, err := b.Service.Payouts.GetMethod(t.Context(), b.Acme, method.ID)
	require.NoError(t, err)
	require.Equal(t, method, *same, "the partner's view is unchanged, including the fingerprint")
	freed, err := modeltest.ApprovePayoutAs(t, b, "bob", payout)
	require.NoError(t, err)
	require.Equal(t, "pending", freed.Status, "ann's approval is still valid")
	b.RunJobs()
	require.Equal(t, "released", modeltest.OnlyPayout(t, b, claim).Status)
	require.Equal(t, modeltest.IBANMethod("").Number, b.Rail.Orders[0].Number)

	var replay *store.Replay
	_, err = b.Service.Webhooks.CreateEndpoint(t.Context(), caller, webhooks.EndpointRequest{URL: &url})
	require.ErrorAs(t, err, &replay)
	require.Contains(t, string(replay.Body), *endpoint.Secret)
	b.Relay()
	b.AdvanceClock(time.Second)
	_, err = b.Service.Webhooks.StartDeliveries(t.Context())
	require.NoError(t, err)
	drain, ok := b.LastJob().(webhooks.DeliverEndpoint)
	require.True(t, ok)
	batch, err := b.Service.Webhooks.FetchBatch(t.Context(), drain)
	require.NoError(t, err)
	for i, secret := range []*string{rotated.Secret, endpoint.Secret} {
		want, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(*secret, "whsec_"))
		require.NoError(t, err)
		require.Equal(t, want, batch.Secrets[i], "deliveries are signed as before")
	}
}

// unsealedColumns are the bytea columns that are not sealed: hashes, signatures and the
// events sent to partners.
var unsealedColumns = []string{
	"event_checkpoints.hash", "event_checkpoints.signature", "event_sequence.hash", "event_redactions.data_hash", "event_redactions.redacted_hash",
	"event_redactions.signature", "events.data", "events.data_hash", "idempotency_keys.request_hash", "observations.digest",
	"observation_records.file_sha256", "observation_records.record", "price_histories.content", "quotes.offer",
}

func TestEverySealedColumnIsRotated(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	var columns []string
	err := b.DB.Bun.NewRaw(`select table_name || '.' || column_name from information_schema.columns
		where table_schema = 'public' and data_type = 'bytea' and not exists (select from pg_class where relname = table_name and relispartition) order by 1`).Scan(t.Context(), &columns)
	require.NoError(t, err)
	var rotated []string
	for _, part := range regexp.MustCompile(`'(\w+)'(?: as place)?, (\w+) from`).FindAllStringSubmatch(operations.SealedSecrets, -1) {
		rotated = append(rotated, part[1]+"."+part[2])
	}
	require.ElementsMatch(t, columns, append(rotated, unsealedColumns...), "a column of bytes is sealed and rotated, or not sealed")
}

// TestResealCanBeRepeated holds the lock of a secret in another transaction during the
// first run.
func TestResealCanBeRepeated(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	for range 3 {
		url := "https://hooks.example.com/"
		modeltest.Must(b.Service.Webhooks.CreateEndpoint(t.Context(), b.Acme, webhooks.EndpointRequest{URL: &url}))
	}
	old := modeltest.Keys().Seal[0]
	both := newServiceWithSealKeys(t, b, seal.Key{ID: "k2", Secret: bytes.Repeat([]byte{7}, 32)}, old)
	tx, err := b.DB.Pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "select from webhook_endpoints limit 1 for update")
	require.NoError(t, err)
	require.EqualValues(t, 2, modeltest.Must(both.Operations.Reseal(t.Context(), b.Operator)))
	require.Equal(t, map[string]int64{"k2": 2, old.ID: 1}, modeltest.Must(both.Operations.CountSecretsByKey(t.Context(), b.Operator)))
	require.NoError(t, tx.Rollback(t.Context()))
	require.EqualValues(t, 1, modeltest.Must(both.Operations.Reseal(t.Context(), b.Operator)))
	require.Equal(t, map[string]int64{"k2": 3}, modeltest.Must(both.Operations.CountSecretsByKey(t.Context(), b.Operator)))
}

// A key may have the right name and the wrong bytes.
func TestVerifyKeysDetectsWrongKey(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	right, wrong := modeltest.Keys(), bytes.Repeat([]byte{7}, 32)
	renamed := seal.Keys{Seal: []seal.Key{{ID: right.Seal[0].ID, Secret: wrong}}, Fingerprint: right.Fingerprint}
	require.NoError(t, modeltest.NewServiceWithKeys(t, b, renamed).Operations.VerifyKeys(t.Context(), b.Operator), "the key sealed nothing")
	url := "https://hooks.example.com/"
	_, err := b.Service.Webhooks.CreateEndpoint(t.Context(), b.Acme, webhooks.EndpointRequest{URL: &url})
	require.NoError(t, err)
	require.ErrorContains(t, modeltest.NewServiceWithKeys(t, b, renamed).Operations.VerifyKeys(t.Context(), b.Operator), "key test does not open what a key of this name sealed: the secret of whe_")
	b.RecordPayoutMethod(modeltest.IBANMethod(modeltest.NewApprovedClaim(b).ID))
	_, err = b.DB.Pool.Exec(t.Context(), "update webhook_endpoints set secret = ''")
	require.NoError(t, err)
	require.ErrorContains(t, modeltest.NewServiceWithKeys(t, b, renamed).Operations.VerifyKeys(t.Context(), b.Operator), "key test does not open what a key of this name sealed: the account of pmt_")
	require.ErrorContains(t, modeltest.NewServiceWithKeys(t, b, seal.Keys{Seal: right.Seal, Fingerprint: wrong}).Operations.VerifyKeys(t.Context(), b.Operator), "fingerprint key is not the one")
	lost := seal.Keys{Seal: []seal.Key{{ID: "young", Secret: wrong}}, Fingerprint: right.Fingerprint}
	require.ErrorContains(t, modeltest.NewServiceWithKeys(t, b, lost).Operations.VerifyKeys(t.Context(), b.Operator), "there is no key test, which sealed the account of pmt_")
	more := seal.Keys{Seal: append([]seal.Key{{ID: "young", Secret: wrong}}, right.Seal...), Fingerprint: right.Fingerprint}
	require.NoError(t, modeltest.NewServiceWithKeys(t, b, more).Operations.VerifyKeys(t.Context(), b.Operator))
	require.Equal(t, apperr.CodeInsufficientScope, apperr.CodeOf(b.Service.Operations.VerifyKeys(t.Context(), b.Acme)))
}

// Without any account, only the checkpoints show that the fingerprint key is another.
func TestVerifyKeysChecksTheNewestCheckpoint(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	right, wrong := modeltest.Keys(), bytes.Repeat([]byte{7}, 32)
	other := modeltest.NewServiceWithKeys(t, b, seal.Keys{Seal: right.Seal, Fingerprint: wrong})
	require.NoError(t, other.Operations.VerifyKeys(t.Context(), b.Operator), "there is no checkpoint")
	b.SignCheckpoint()
	require.ErrorContains(t, other.Operations.VerifyKeys(t.Context(), b.Operator), "is not the one that signed the newest checkpoint of events, of partner acme")
	require.NoError(t, b.Service.Operations.VerifyKeys(t.Context(), b.Operator))
	modeltest.ExecSQL(t, b, "insert into event_checkpoints select 'globex', sequence, hash, signed_at + interval '1 day', 'another' from event_checkpoints")
	require.NoError(t, b.Service.Operations.VerifyKeys(t.Context(), b.Operator), "a server with a wrong key signed the newest one")
}
