package rest

import (
	"bytes"
	"crypto/sha256"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"parapet/model"
)

const maxIdempotencyKey = 255

// idempotency gives the actor the request's key. The request is its method, its
// path below the base address and its body without regard to white space and the
// order of members; numbers are compared as they are written.
func (c *call) idempotency(body []byte) error {
	given := c.request.Header.Values("Idempotency-Key")
	if len(given) == 0 || c.request.Method != http.MethodPost {
		return nil // PATCH and DELETE do the same again by themselves
	}
	if len(given) > 1 || len(given[0]) > maxIdempotencyKey || !visible(given[0]) {
		return model.Fail(model.CodeIdempotencyKeyInvalid, "Use one Idempotency-Key of 1 to %d visible ASCII characters.", maxIdempotencyKey)
	}
	canonical := jsontext.Value(bytes.Clone(body))
	if err := canonical.Format(jsontext.ReorderRawObjects(true)); err != nil {
		return err // cannot be: the body was read before
	}
	operation := c.request.Method + " " + strings.TrimPrefix(c.request.URL.Path, version)
	sum := sha256.Sum256([]byte(operation + "\x00" + string(canonical)))
	c.actor.Idempotency = &model.IdempotencyKey{Operation: operation, Key: given[0], Request: sum[:]}
	return nil
}
