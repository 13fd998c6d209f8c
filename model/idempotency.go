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

// IdempotencyKey is a caller's promise that a request is one and the same.
type IdempotencyKey struct {
	Operation string // the operation it is used on, POST /v1/quotes
	Key       string // 1 to 255 visible ASCII characters
	Request   []byte // SHA-256 of the canonical request
}

// The statuses of a successful write: the contract's words for «made», «was there»
// and «will be done».
const (
	statusCreated  = 201
	statusOK       = 200
	statusAccepted = 202
)

// Replay is returned instead of acting twice: the answer of the first time, to
// the byte.
type Replay struct {
	Status     int
	ResourceID string
	Body       []byte
}

// Error says what happened; doors turn a Replay into its answer.
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
	SecretUntil *time.Time // set: Body is sealed, because it holds a secret
}

// owner is whose keys these are: the partner's, else the person's.
func (a Actor) owner() string {
	if a.Partner != "" {
		return "partner/" + a.Partner
	}
	return "person/" + string(a.personID())
}

// once makes the unit the only one with this key: a transaction's lock, so a killed
// process holds nothing. What it returns tells, when both statements were sent,
// that somebody else has the key, or gives the Replay when it was done before.
func (u *unit) once() (judge func() error) {
	key := u.actor.Idempotency
	if key == nil {
		return func() error { return nil }
	}
	var free, done bool
	first := idempotencyRow{Owner: u.actor.owner(), Operation: key.Operation, Key: key.Key}
	u.later.Queue("select pg_try_advisory_xact_lock(hashtextextended($1, 0))", "idempotency/"+first.Owner+"/"+key.Operation+"/"+key.Key).
		QueryRow(func(row pgx.Row) error { return row.Scan(&free) })
	u.later.Queue(`select request_hash, status, coalesce(resource_id, ''), body, secret_until from idempotency_keys where owner = $1 and operation = $2 and key = $3`,
		first.Owner, key.Operation, key.Key).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			done = true
			if err := rows.Scan(&first.RequestHash, &first.Status, &first.ResourceID, &first.Body, &first.SecretUntil); err != nil {
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
			return first.replay(u.svc.keys, u.now)
		}
	}
}

// answered keeps the answer under the request's key, in the transaction of its
// effect.
func (u *unit) answered(status int, id string, record any) error {
	return u.keepAnswer(status, id, record, nil)
}

func (u *unit) keepAnswer(status int, id string, record any, secretUntil *time.Time) error {
	if u.deed.subject == "" {
		u.deed.subject = id
	}
	key := u.actor.Idempotency
	if key == nil {
		return nil
	}
	row := idempotencyRow{
		Owner: u.actor.owner(), Operation: key.Operation, Key: key.Key, RequestHash: key.Request,
		Status: status, ResourceID: id, CreatedAt: u.now, SecretUntil: secretUntil,
	}
	body, err := wire.Encode(record)
	if err == nil && secretUntil != nil {
		body, err = u.svc.keys.seal(body, row.place())
	}
	if err != nil {
		return fmt.Errorf("encode idempotent answer: %w", err)
	}
	row.Body = body
	u.insert(&row)
	return nil
}

// keepSecret is how long a secret can be had again from a stored answer.
const keepSecret = 24 * time.Hour

// answeredSecretly is answered for a record that may show its secret: the answer is
// sealed, and loses the secret after a day.
func (u *unit) answeredSecretly(status int, endpoint *wire.WebhookEndpoint) error {
	if endpoint.Secret == nil {
		return u.answered(status, endpoint.ID, endpoint)
	}
	return u.keepAnswer(status, endpoint.ID, endpoint, new(u.now.Add(keepSecret)))
}

// place binds a sealed answer to its key.
func (r *idempotencyRow) place() []byte {
	return []byte("idempotency_keys/" + r.Owner + "/" + r.Operation + "/" + r.Key)
}

// replay is the answer of the first time.
func (r *idempotencyRow) replay(keys Keys, now time.Time) error {
	body, err := r.open(keys, now)
	if err != nil {
		return fmt.Errorf("open idempotent answer: %w", err)
	}
	return &Replay{Status: r.Status, ResourceID: r.ResourceID, Body: body}
}

// open is the answer as it may be shown now.
func (r *idempotencyRow) open(keys Keys, now time.Time) ([]byte, error) {
	if r.SecretUntil == nil {
		return r.Body, nil
	}
	body, err := keys.open(r.Body, r.place())
	if err != nil || now.Before(*r.SecretUntil) {
		return body, err
	}
	var endpoint wire.WebhookEndpoint
	if err := wire.Decode(body, &endpoint); err != nil {
		return nil, err
	}
	endpoint.Secret = nil
	return wire.Encode(&endpoint)
}

// forgetSecrets takes secrets out of stored answers when their time is over.
func (u *unit) forgetSecrets(ctx context.Context) (int, error) {
	var rows []*idempotencyRow
	if err := due(u.NewSelect().Model(&rows).Where("secret_until <= ?", u.now), sweepSize).Scan(ctx); err != nil {
		return 0, fmt.Errorf("find answers with secrets: %w", err)
	}
	for _, row := range rows {
		body, err := row.open(u.svc.keys, u.now)
		if err != nil {
			return 0, fmt.Errorf("open idempotent answer: %w", err)
		}
		row.Body, row.SecretUntil = body, nil
		if _, err := u.NewUpdate().Model(row).Column("body", "secret_until").WherePK().Exec(ctx); err != nil {
			return 0, fmt.Errorf("take secret out of an answer: %w", err)
		}
	}
	return len(rows), nil
}
