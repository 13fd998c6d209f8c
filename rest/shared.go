package rest

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync"

	"parapet/internal/gateway"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
)

// maxLoggedCauses limits the causes in one log line, because a stream can fail often.
const maxLoggedCauses = 20

// mount runs another handler behind the shared middleware.
func (s *server) mount(address string, handler http.Handler) http.Handler {
	shared := &route{path: address}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := w.(*requestContext)
		c.request, c.route = r, shared
		var blaming sync.Mutex
		blamed := 0
		ctx := gateway.NewContext(withReadAfter(r.Context(), r), &gateway.Request{
			RequestID: c.requestID,
			Authenticate: func(ctx context.Context) (actor.Actor, error) {
				return s.authenticate(ctx, c, c.request.Header.Values("Authorization")...)
			},
			AuthenticateWith: func(ctx context.Context, by string) (actor.Actor, error) { return s.authenticate(ctx, c, by) },
			SetActor:         func(actor actor.Actor) { c.actor = actor },
			WithoutDeadline:  c.withoutDeadline,
			PublicError: func(ctx context.Context, err error) *apperr.Error {
				shown := s.publicError(ctx, err)
				operation := cmp.Or(gateway.Operation(ctx), c.actor.Operation)
				s.reportDenial(c, shown, operation)
				blaming.Lock()
				defer blaming.Unlock()
				c.addCall(cmp.Or(operation, address), shown)
				return shown
			},
			SetErrorHeaders: func(e *apperr.Error) { s.setErrorHeaders(c, e) },
			MarkReplayed:    c.markReplayed,
			LimitBodyTime:   c.limitBodyTime,
			OpenBody:        c.openBody,
			GiveUpBody:      c.discardBody,
			IncompleteBody:  c.incompleteBody,
			RecordCall: func(operation string, refusal *apperr.Error) {
				blaming.Lock()
				defer blaming.Unlock()
				c.addCall(operation, refusal)
			},
			LogCause: func(cause error) {
				blaming.Lock()
				defer blaming.Unlock()
				if blamed++; blamed <= maxLoggedCauses {
					c.cause, c.failureReported = errors.Join(c.cause, cause), true
				}
			},
		})
		handler.ServeHTTP(c, r.WithContext(ctx))
	})
}

// authenticate is authenticateAndLimit for handlers that write their own errors: it also
// sets the error headers.
func (s *server) authenticate(ctx context.Context, c *requestContext, authorization ...string) (actor.Actor, error) {
	err := s.authenticateAndLimit(ctx, c, authorization...)
	if err != nil {
		s.setErrorHeaders(c, s.publicError(ctx, err))
	}
	return c.actor, err
}
