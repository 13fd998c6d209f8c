package model

import (
	"bytes"
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

// The two statuses of a successful write: the contract's words for «made» and
// «was there».
const (
	statusCreated = 201
	statusOK      = 200
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
}

// owner is whose keys these are: the partner's, else the client's.
func (a Actor) owner() string {
	if a.Partner != "" {
		return "partner/" + a.Partner
	}
	return "client/" + a.Client
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
	first, owner := new(Replay), u.actor.owner()
	var request []byte
	u.later.Queue("select pg_try_advisory_xact_lock(hashtextextended($1, 0))", "idempotency/"+owner+"/"+key.Operation+"/"+key.Key).
		QueryRow(func(row pgx.Row) error { return row.Scan(&free) })
	u.later.Queue(`select request_hash, status, coalesce(resource_id, ''), body from idempotency_keys where owner = $1 and operation = $2 and key = $3`,
		owner, key.Operation, key.Key).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			done = true
			if err := rows.Scan(&request, &first.Status, &first.ResourceID, &first.Body); err != nil {
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
		case !bytes.Equal(request, key.Request):
			return Fail(CodeIdempotencyKeyReused, "This Idempotency-Key was used for another request; use a new key.")
		default:
			return first
		}
	}
}

// answered keeps the answer under the request's key, in the transaction of its
// effect.
func (u *unit) answered(status int, id string, record any) error {
	key := u.actor.Idempotency
	if key == nil {
		return nil
	}
	body, err := wire.Encode(record)
	if err != nil {
		return err
	}
	u.insert(&idempotencyRow{
		Owner: u.actor.owner(), Operation: key.Operation, Key: key.Key, RequestHash: key.Request,
		Status: status, ResourceID: id, Body: body, CreatedAt: u.now,
	})
	return nil
}
