package rest

import (
	"crypto/sha256"
	"net/http"
	"strings"

	"parapet/internal/strictjson"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
)

const maxIdempotencyKey = 255

// setIdempotencyKey sets the actor's idempotency key. The request's identity is its
// method, its path below the base address and its body, independent of white space, the
// order of members and the spelling of numbers.
func (c *requestContext) setIdempotencyKey(body []byte) error {
	given := c.request.Header.Values("Idempotency-Key")
	if len(given) == 0 || c.request.Method != http.MethodPost {
		return nil // PATCH and DELETE are idempotent themselves
	}
	if len(given) > 1 || len(given[0]) > maxIdempotencyKey || !isVisibleASCII(given[0]) {
		return apperr.Fail(apperr.CodeIdempotencyKeyInvalid, "Use one Idempotency-Key of 1 to %d visible ASCII characters.", maxIdempotencyKey)
	}
	canonical, err := strictjson.Canonicalize(body)
	if err != nil {
		return err // impossible: the body was decoded before
	}
	operation := c.request.Method + " " + strings.TrimPrefix(c.request.URL.Path, versionPath)
	sum := sha256.Sum256([]byte(operation + "\x00" + string(canonical)))
	c.actor.IdempotencyKey = &actor.IdempotencyKey{Operation: operation, Key: given[0], Request: sum[:]}
	return nil
}
