package store

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/compress"
	"parapet/model/kernel/seal"
	"parapet/model/kernel/wal"
	"parapet/model/wire"
)

// These are the statuses of a successful write: created, already existing, and accepted
// for later.
const (
	StatusCreated  = 201
	StatusOK       = 200
	StatusAccepted = 202
)

// Replay is returned instead of repeating an operation: it has the first response, byte
// for byte.
type Replay struct {
	Status     int
	ResourceID string
	Body       []byte
}

// Error implements error; APIs answer a Replay with its stored response.
func (*Replay) Error() string { return "this request was answered before" }

// IdempotencyRow is a stored response to a request with an idempotency key.
type IdempotencyRow struct {
	bun.BaseModel `bun:"table:idempotency_keys"`

	Owner       string `bun:",pk"`
	Operation   string `bun:",pk"`
	Key         string `bun:",pk"`
	RequestHash []byte
	Status      int
	ResourceID  string `bun:",nullzero"`
	Body        []byte // sealed, compressed or plain
	CreatedAt   time.Time
	SealedUntil *time.Time // set when Body is sealed because it holds a secret
}

// idempotencyOwner returns the owner of the actor's keys: the partner, or otherwise the
// person.
func idempotencyOwner(a actor.Actor) string {
	if a.Partner != "" {
		return "partner/" + a.Partner
	}
	return "person/" + string(a.PersonID())
}

// acquireIdempotencyKey takes a transaction-level advisory lock on the key, so a crashed
// process holds nothing. The returned function reports idempotency_in_flight when another
// request holds the key, or a Replay when the request was completed before. A transaction that
// assumes that neither is so gets guards instead.
func (tx *Tx) acquireIdempotencyKey() (check func() error) {
	key := tx.Actor.IdempotencyKey
	if key == nil {
		return func() error { return nil }
	}
	var free, done bool
	first := IdempotencyRow{Owner: idempotencyOwner(tx.Actor), Operation: key.Operation, Key: key.Key}
	const lock, stored = "pg_try_advisory_xact_lock(hashtextextended($1, 0))", "from idempotency_keys where owner = $1 and operation = $2 and key = $3"
	name := "idempotency/" + first.Owner + "/" + key.Operation + "/" + key.Key
	if tx.reads.Assumed {
		tx.reads.Guard(lock, name)
		tx.reads.Guard("not exists (select "+stored+")", first.Owner, key.Operation, key.Key)
		return func() error { return nil }
	}
	tx.Batch.Queue("select "+lock, name).QueryRow(func(row pgx.Row) error { return row.Scan(&free) })
	tx.Batch.Queue("select request_hash, status, coalesce(resource_id, ''), body, sealed_until "+stored,
		first.Owner, key.Operation, key.Key).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			done = true
			if err := rows.Scan(&first.RequestHash, &first.Status, &first.ResourceID, &first.Body, &first.SealedUntil); err != nil {
				return err
			}
		}
		return rows.Err()
	})
	wal.QueuePosition(tx.Ctx, &tx.Batch) // of a replay: it was committed before
	return func() error {
		switch {
		case !free:
			e := apperr.Fail(apperr.CodeIdempotencyInFlight, "A request with this Idempotency-Key is running; wait for it.")
			e.RetryAfter = time.Second
			return e
		case !done:
			return nil
		case !bytes.Equal(first.RequestHash, key.Request):
			return apperr.Fail(apperr.CodeIdempotencyKeyReused, "This Idempotency-Key was used for another request; use a new key.")
		default:
			return first.toReplay(tx.Store.Keys, tx.Now)
		}
	}
}

// StoreResponse stores the response under the request's key, in the transaction of its
// effect.
func (tx *Tx) StoreResponse(status int, id string, record any) error {
	return tx.insertResponse(status, id, record, nil)
}

func (tx *Tx) insertResponse(status int, id string, record any, secretUntil *time.Time) error {
	if tx.Audit.subject == "" {
		tx.Audit.subject = id
	}
	key := tx.Actor.IdempotencyKey
	if key == nil {
		return nil
	}
	row := IdempotencyRow{
		Owner: idempotencyOwner(tx.Actor), Operation: key.Operation, Key: key.Key, RequestHash: key.Request,
		Status: status, ResourceID: id, CreatedAt: tx.Now, SealedUntil: secretUntil,
	}
	var err error
	if row.Body, err = wire.Encode(record); err != nil {
		return fmt.Errorf("encode idempotent answer: %w", err)
	}
	if err := row.packBody(tx); err != nil {
		return fmt.Errorf("store idempotent answer: %w", err)
	}
	tx.QueueInsert(&row)
	return nil
}

// packBody seals a response that holds a secret, and compresses any other.
func (r *IdempotencyRow) packBody(tx *Tx) (err error) {
	if r.SealedUntil != nil {
		r.Body, err = tx.Store.Keys.SealBytes(r.Body, r.SealContext())
		return err
	}
	compressed, err := AllReleasesKnow(tx.Ctx, tx, compressionMigration)
	if compressed {
		r.Body = compress.Compress(r.Body)
	}
	return err
}

// secretRetention is how long a stored response still shows its secret.
const secretRetention = 24 * time.Hour

// StoreResponseSealed is StoreResponse for a record that may show its secret: the
// response is sealed, and loses the secret after a day.
func (tx *Tx) StoreResponseSealed(status int, endpoint *wire.WebhookEndpoint) error {
	if endpoint.Secret == nil {
		return tx.StoreResponse(status, endpoint.ID, endpoint)
	}
	return tx.insertResponse(status, endpoint.ID, endpoint, new(tx.Now.Add(secretRetention)))
}

// SealContext binds a sealed response to its key.
func (r *IdempotencyRow) SealContext() []byte {
	return []byte("idempotency_keys/" + r.Owner + "/" + r.Operation + "/" + r.Key)
}

// toReplay returns the first response as a Replay.
func (r *IdempotencyRow) toReplay(keys seal.Keys, now time.Time) error {
	body, err := r.openBody(keys, now)
	if err != nil {
		return fmt.Errorf("open idempotent answer: %w", err)
	}
	return &Replay{Status: r.Status, ResourceID: r.ResourceID, Body: body}
}

// openBody returns the stored response without secrets that have expired.
func (r *IdempotencyRow) openBody(keys seal.Keys, now time.Time) ([]byte, error) {
	if r.SealedUntil == nil {
		return compress.Decompress(r.Body)
	}
	body, err := keys.OpenBytes(r.Body, r.SealContext())
	if err != nil || now.Before(*r.SealedUntil) {
		return body, err
	}
	var endpoint wire.WebhookEndpoint
	if err := wire.Decode(body, &endpoint); err != nil {
		return nil, err
	}
	endpoint.Secret = nil
	return wire.Encode(&endpoint)
}

// PurgeSecrets removes expired secrets from stored responses.
func PurgeSecrets(ctx context.Context, tx *Tx) (int, error) {
	var rows []*IdempotencyRow
	if err := LockBatch(tx.NewSelect().Model(&rows).Where("sealed_until <= ?", tx.Now), SweepBatchSize).Scan(ctx); err != nil {
		return 0, fmt.Errorf("find answers with secrets: %w", err)
	}
	for _, row := range rows {
		body, err := row.openBody(tx.Store.Keys, tx.Now)
		if err != nil {
			return 0, fmt.Errorf("open idempotent answer: %w", err)
		}
		row.Body, row.SealedUntil = body, nil
		if _, err := tx.NewUpdate().Model(row).Column("body", "sealed_until").WherePK().Exec(ctx); err != nil {
			return 0, fmt.Errorf("take secret out of an answer: %w", err)
		}
	}
	return len(rows), nil
}
