package rest

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync"

	"parapet/internal/visit"
	"parapet/model"
)

// mostBlamed is how many causes one line of log tells: what lasts can fail often.
const mostBlamed = 20

// beside serves another door's address.
func (d *door) beside(address string, handler http.Handler) http.Handler {
	shared := &route{path: address}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := w.(*call)
		c.request, c.route = r, shared
		var blaming sync.Mutex
		blamed := 0
		ctx := visit.With(r.Context(), &visit.Visit{
			RequestID: c.id,
			Admit: func(ctx context.Context) (model.Actor, error) {
				return d.welcome(ctx, c, c.request.Header.Values("Authorization")...)
			},
			AdmitBy: func(ctx context.Context, by string) (model.Actor, error) { return d.welcome(ctx, c, by) },
			Known:   func(actor model.Actor) { c.actor = actor },
			Lasting: c.lasting,
			Shown: func(ctx context.Context, err error) *model.Error {
				shown := d.shown(ctx, err)
				d.deny(c, shown, cmp.Or(visit.Done(ctx), c.actor.Doing))
				return shown
			},
			Hint:       func(e *model.Error) { d.hint(c, e) },
			Replayed:   c.replayed,
			Hurry:      c.hurry,
			Receive:    c.receive,
			GiveUpBody: c.giveUpBody,
			CutOff:     c.cutOff,
			Blame: func(cause error) {
				blaming.Lock()
				defer blaming.Unlock()
				if blamed++; blamed <= mostBlamed {
					c.cause, c.whole = errors.Join(c.cause, cause), true
				}
			},
		})
		handler.ServeHTTP(c, r.WithContext(ctx))
	})
}

// welcome is admit for a door that writes its own refusals: their headers are the
// same everywhere.
func (d *door) welcome(ctx context.Context, c *call, authorization ...string) (model.Actor, error) {
	err := d.admit(ctx, c, authorization...)
	if err != nil {
		d.hint(c, d.shown(ctx, err))
	}
	return c.actor, err
}
