package model

import (
	"bytes"
	"context"
	"fmt"
	"time"

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

// once makes the unit the only one with this key, and returns the Replay when it
// was done before. The lock is the transaction's, so a killed process holds
// nothing.
func (u *unit) once(ctx context.Context) error {
	key := u.actor.Idempotency
	if key == nil {
		return nil
	}
	owner := u.actor.owner()
	var free bool
	lock := "idempotency/" + owner + "/" + key.Operation + "/" + key.Key
	if err := u.NewRaw("select pg_try_advisory_xact_lock(hashtextextended(?, 0))", lock).Scan(ctx, &free); err != nil {
		return fmt.Errorf("lock idempotency key: %w", err)
	}
	if !free {
		e := Fail(CodeIdempotencyInFlight, "A request with this Idempotency-Key is running; wait for it.")
		e.RetryAfter = time.Second
		return e
	}
	row := idempotencyRow{Owner: owner, Operation: key.Operation, Key: key.Key}
	if err := u.NewSelect().Model(&row).WherePK().Scan(ctx); err != nil {
		if absent(err) {
			return nil
		}
		return fmt.Errorf("look up idempotency key: %w", err)
	}
	if !bytes.Equal(row.RequestHash, key.Request) {
		return Fail(CodeIdempotencyKeyReused, "This Idempotency-Key was used for another request; use a new key.")
	}
	return &Replay{Status: row.Status, ResourceID: row.ResourceID, Body: row.Body}
}

// answered keeps the answer under the request's key, in the transaction of its
// effect.
func (u *unit) answered(ctx context.Context, status int, id string, record any) error {
	key := u.actor.Idempotency
	if key == nil {
		return nil
	}
	body, err := wire.Encode(record)
	if err != nil {
		return err
	}
	row := idempotencyRow{
		Owner: u.actor.owner(), Operation: key.Operation, Key: key.Key, RequestHash: key.Request,
		Status: status, ResourceID: id, Body: body, CreatedAt: u.now,
	}
	if _, err := u.NewInsert().Model(&row).Exec(ctx); err != nil {
		return fmt.Errorf("keep idempotent answer: %w", err)
	}
	return nil
}
