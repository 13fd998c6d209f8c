package rest

import (
	"context"
	"net/http"

	"parapet/model/kernel/apperr"
	"parapet/model/kernel/replica"
	"parapet/model/kernel/wal"
)

// readAfterHeader carries the position of a write in the database's log. Every write
// answers it after its commit. A request that sends it back sees that write: the primary
// answers unless a replica has replayed the position.
const readAfterHeader = "Parapet-Read-After"

// checkReadAfter rejects a position that no write answered.
func (c *requestContext) checkReadAfter() error {
	given := c.request.Header.Values(readAfterHeader)
	if len(given) == 0 {
		return nil
	}
	if _, ok := wal.Parse(given[0]); !ok || len(given) > 1 {
		return apperr.Fail(apperr.CodeParameterInvalid, "%s is one position that a write answered, such as 1:0/16B3748; send it unchanged or leave it out.", readAfterHeader)
	}
	return nil
}

// withReadAfter returns a context whose reads see the write that the request names.
func withReadAfter(ctx context.Context, r *http.Request) context.Context {
	if position, ok := wal.Parse(r.Header.Get(readAfterHeader)); ok {
		return replica.WithReadAfter(ctx, position)
	}
	return ctx
}
