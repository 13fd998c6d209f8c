package model

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"parapet/model/wire"
)

// These are the statuses of a successful write: created, already existing, and accepted
// for later.
const (
	statusCreated  = 201
	statusOK       = 200
	statusAccepted = 202
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

type idempotencyRow struct {
	bun.BaseModel `bun:"table:idempotency_keys"`

	Owner       string `bun:",pk"`
	Operation   string `bun:",pk"`
	Key         string `bun:",pk"`
	RequestHash []byte
	Status      int
	ResourceID  string `bun:",nullzero"`
	Body        []byte
	CreatedAt   time.Time
	SealedUntil *time.Time // set when Body is sealed because it holds a secret
}

// idempotencyOwner returns the owner of the actor's keys: the partner, or otherwise the
// person.
func (a Actor) idempotencyOwner() string {
	if a.Partner != "" {
		return "partner/" + a.Partner
	}
	return "person/" + string(a.personID())
}

// acquireIdempotencyKey takes a transaction-level advisory lock on the key, so a crashed
// process holds nothing. The returned function reports idempotency_in_flight when another
// request holds the key, or a Replay when the request was completed before.
func (tx *Tx) acquireIdempotencyKey() (check func() error) {
	key := tx.actor.IdempotencyKey
	if key == nil {
		return func() error { return nil }
	}
	var free, done bool
	first := idempotencyRow{Owner: tx.actor.idempotencyOwner(), Operation: key.Operation, Key: key.Key}
	tx.batch.Queue("select pg_try_advisory_xact_lock(hashtextextended($1, 0))", "idempotency/"+first.Owner+"/"+key.Operation+"/"+key.Key).
		QueryRow(func(row pgx.Row) error { return row.Scan(&free) })
	tx.batch.Queue(`select request_hash, status, coalesce(resource_id, ''), body, sealed_until from idempotency_keys where owner = $1 and operation = $2 and key = $3`,
		first.Owner, key.Operation, key.Key).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			done = true
			if err := rows.Scan(&first.RequestHash, &first.Status, &first.ResourceID, &first.Body, &first.SealedUntil); err != nil {
				return err
			}
		}
		return rows.Err()
	})
	return func() error {
		switch {
		case !free:
			e := Fail(CodeIdempotencyInFlight, "A request with this Idempotency-Key is running; wait for it.")
			e.RetryAfter = time.Second
			return e
		case !done:
			return nil
		case !bytes.Equal(first.RequestHash, key.Request):
			return Fail(CodeIdempotencyKeyReused, "This Idempotency-Key was used for another request; use a new key.")
		default:
			return first.toReplay(tx.store.keys, tx.now)
		}
	}
}

// storeResponse stores the response under the request's key, in the transaction of its
// effect.
func (tx *Tx) storeResponse(status int, id string, record any) error {
	return tx.insertResponse(status, id, record, nil)
}

func (tx *Tx) insertResponse(status int, id string, record any, secretUntil *time.Time) error {
	if tx.audit.subject == "" {
		tx.audit.subject = id
	}
	key := tx.actor.IdempotencyKey
	if key == nil {
		return nil
	}
	row := idempotencyRow{
		Owner: tx.actor.idempotencyOwner(), Operation: key.Operation, Key: key.Key, RequestHash: key.Request,
		Status: status, ResourceID: id, CreatedAt: tx.now, SealedUntil: secretUntil,
	}
	body, err := wire.Encode(record)
	if err == nil && secretUntil != nil {
		body, err = tx.store.keys.seal(body, row.sealContext())
	}
	if err != nil {
		return fmt.Errorf("encode idempotent answer: %w", err)
	}
	row.Body = body
	tx.queueInsert(&row)
	return nil
}

// secretRetention is how long a stored response still shows its secret.
const secretRetention = 24 * time.Hour

// storeResponseSealed is storeResponse for a record that may show its secret: the
// response is sealed, and loses the secret after a day.
func (tx *Tx) storeResponseSealed(status int, endpoint *wire.WebhookEndpoint) error {
	if endpoint.Secret == nil {
		return tx.storeResponse(status, endpoint.ID, endpoint)
	}
	return tx.insertResponse(status, endpoint.ID, endpoint, new(tx.now.Add(secretRetention)))
}

// sealContext binds a sealed response to its key.
func (r *idempotencyRow) sealContext() []byte {
	return []byte("idempotency_keys/" + r.Owner + "/" + r.Operation + "/" + r.Key)
}

// toReplay returns the first response as a Replay.
func (r *idempotencyRow) toReplay(keys Keys, now time.Time) error {
	body, err := r.openBody(keys, now)
	if err != nil {
		return fmt.Errorf("open idempotent answer: %w", err)
	}
	return &Replay{Status: r.Status, ResourceID: r.ResourceID, Body: body}
}

// openBody returns the stored response without secrets that have expired.
func (r *idempotencyRow) openBody(keys Keys, now time.Time) ([]byte, error) {
	if r.SealedUntil == nil {
		return r.Body, nil
	}
	body, err := keys.open(r.Body, r.sealContext())
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

// purgeSecrets removes expired secrets from stored responses.
func purgeSecrets(ctx context.Context, tx *Tx) (int, error) {
	var rows []*idempotencyRow
	if err := lockBatch(tx.NewSelect().Model(&rows).Where("sealed_until <= ?", tx.now), sweepBatchSize).Scan(ctx); err != nil {
		return 0, fmt.Errorf("find answers with secrets: %w", err)
	}
	for _, row := range rows {
		body, err := row.openBody(tx.store.keys, tx.now)
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
