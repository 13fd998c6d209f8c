package actor

import (
	"parapet/model/kernel/apperr"
	"parapet/model/wire"
)

// Precondition is a caller's condition on a record: the record must still be as the
// caller saw it (If-Match, RFC 9110 section 13.1.1). It is checked in the writing
// transaction, with the record locked, so that no other change can come between. It is
// checked after the lookup of the idempotency key, so that a repeated request gets its
// first response although the first one changed the record.
type Precondition struct {
	ID    string                 // id of a quote, policy, claim, payout or webhook endpoint
	Check func(record any) error // gets the v1 record; a non-nil error refuses the write
}

// RequireVersion requires that a record still has this version.
func RequireVersion(id string, version int64) *Precondition {
	return &Precondition{ID: id, Check: func(record any) error {
		if now := record.(interface{ Head() wire.Header }).Head().Version; now != version {
			return apperr.Fail(apperr.CodeVersionMismatch, "It has version %d now; read it again before you change it.", now)
		}
		return nil
	}}
}

// IdempotencyKey identifies repetitions of one request.
type IdempotencyKey struct {
	Operation string // the operation of the request, POST /v1/quotes
	Key       string // 1 to 255 visible ASCII characters
	Request   []byte // SHA-256 of the canonical request
}
