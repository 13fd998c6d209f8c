package rest

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"reflect"

	"parapet/internal/auth"
	"parapet/internal/refusal"
	"parapet/model"
	"parapet/model/wire"
)

// route is one row of the contract: an address, who may use it, what goes in and
// out, and the method that does it.
type route struct {
	method, path string
	scope        model.Scope
	also         model.Scope // suffices as well; empty for most
	id           string      // operationId: the name of the method in generated clients
	tag          string
	summary      string
	about        string // what the document says below the summary

	in, out  reflect.Type // nil without a body
	made     reflect.Type // what 201 answers, where 200 can answer more; nil otherwise
	statuses []int        // of success, the usual one first
	limit    int64        // bytes of the request's body
	content  string       // the member that is a file in base64; empty for most
	located  bool         // 201 carries the Location of the record
	listed   bool         // takes limit and cursor
	filters  []string     // further query parameters
	refusals []model.Code // further codes than those of codes
	file     bool         // answers with bytes of a type of their own
	bare     bool         // takes no body, or an object without members
	sandbox  bool         // exists in development only

	// held is the id of the record that a write is about, for its If-Match; nil
	// where the write is about none.
	held  func(c *call, in any) string
	serve func(context.Context, *call) error
}

// The contract's bounds of a body, in bytes.
const (
	bodyLimit       = 1 << 20
	attachmentLimit = 15 << 20
)

// reads is a GET of one record.
func reads[Out any](path string, scope model.Scope, get func(context.Context, *call) (*Out, error)) route {
	return route{
		method: http.MethodGet, path: path, scope: scope, out: reflect.TypeFor[Out](), statuses: []int{http.StatusOK},
		serve: func(ctx context.Context, c *call) error {
			record, err := get(ctx, c)
			if err != nil {
				return err
			}
			return c.answer(http.StatusOK, record)
		},
	}
}

// lists is a GET of a page of records.
func lists[Out any](path string, scope model.Scope, get func(context.Context, *call, model.PageRequest) (*model.Page[Out], error)) route {
	return finds(path, scope, nil, func(ctx context.Context, c *call, _ model.Filter, page model.PageRequest) (*model.Page[Out], error) {
		return get(ctx, c, page)
	})
}

// listsSome is lists with query parameters of its own.
func listsSome[Out any](path string, scope model.Scope, filters []string, get func(context.Context, *call, model.PageRequest) (*model.Page[Out], error)) route {
	r := lists(path, scope, get)
	r.filters = filters
	return r
}

// finds is a GET of a page of the records that fit a filter.
func finds[Out any](path string, scope model.Scope, filters []string, get func(context.Context, *call, model.Filter, model.PageRequest) (*model.Page[Out], error)) route {
	r := reads(path, scope, func(ctx context.Context, c *call) (*wire.List[Out], error) {
		filter, in := c.query.filter(), c.query.page()
		if err := c.query.refusal(); err != nil {
			return nil, err
		}
		page, err := get(ctx, c, filter, in)
		if err != nil {
			return nil, err
		}
		return &page.List, nil
	})
	r.listed, r.filters = true, filters
	return r
}

// downloads is a GET of a file's bytes.
func downloads(path string, scope model.Scope, serve func(context.Context, *call) error) route {
	return route{method: http.MethodGet, path: path, scope: scope, statuses: []int{http.StatusOK}, file: true, serve: serve}
}

// creates is a POST that always makes a record.
func creates[In, Out any](path string, scope model.Scope, do func(context.Context, *call, In) (*Out, error)) route {
	r := records(path, scope, func(ctx context.Context, c *call, in In) (*Out, bool, error) {
		record, err := do(ctx, c, in)
		return record, true, err
	})
	r.statuses = []int{http.StatusCreated}
	return r
}

// records is a POST that makes a record, or finds the one there is.
func records[In, Out any](path string, scope model.Scope, do func(context.Context, *call, In) (*Out, bool, error)) route {
	return route{
		method: http.MethodPost, path: path, scope: scope, in: reflect.TypeFor[In](), out: reflect.TypeFor[Out](),
		statuses: []int{http.StatusCreated, http.StatusOK}, limit: bodyLimit,
		serve: func(ctx context.Context, c *call) error {
			in, faults, err := decode[In](c)
			if err != nil {
				return err
			}
			if err := c.matched(in); err != nil {
				return err
			}
			record, created, err := do(model.WithFaults(ctx, faults...), c, in)
			if err != nil {
				return err
			}
			return c.answer(map[bool]int{true: http.StatusCreated, false: http.StatusOK}[created], record)
		},
	}
}

// changes is a PATCH of one record: what the body names changes, the rest stays.
func changes[In, Out any](path string, scope model.Scope, do func(context.Context, *call, In) (*Out, error)) route {
	r := records(path, scope, func(ctx context.Context, c *call, in In) (*Out, bool, error) {
		record, err := do(ctx, c, in)
		return record, false, err
	})
	r.method, r.statuses = http.MethodPatch, []int{http.StatusOK}
	return r
}

// acts is a POST that needs no body.
func acts[Out any](path string, scope model.Scope, status int, do func(context.Context, *call) (*Out, error)) route {
	return route{
		method: http.MethodPost, path: path, scope: scope, out: reflect.TypeFor[Out](), statuses: []int{status}, limit: bodyLimit, bare: true,
		serve: func(ctx context.Context, c *call) error {
			if err := c.bare(); err != nil {
				return err
			}
			if err := c.matched(nil); err != nil {
				return err
			}
			record, err := do(ctx, c)
			if err != nil {
				return err
			}
			return c.answer(status, record)
		},
	}
}

// answers is a POST that asks something and changes nothing.
func answers[In, Out any](path string, scope model.Scope, do func(context.Context, *call, In) (*Out, error)) route {
	r := records(path, scope, func(ctx context.Context, c *call, in In) (*Out, bool, error) {
		answer, err := do(ctx, c, in)
		return answer, false, err
	})
	r.statuses = []int{http.StatusOK}
	return r
}

// removes is a DELETE of one record.
func removes(path string, scope model.Scope, do func(context.Context, *call) error) route {
	return route{
		method: http.MethodDelete, path: path, scope: scope, statuses: []int{http.StatusNoContent},
		serve: func(ctx context.Context, c *call) error {
			if err := c.matched(nil); err != nil {
				return err
			}
			if err := do(ctx, c); err != nil {
				return err
			}
			c.WriteHeader(http.StatusNoContent)
			return nil
		},
	}
}

// named gives a route its place in the document.
func (r route) named(id, tag, summary, about string) route {
	r.id, r.tag, r.summary, r.about = id, tag, summary, about
	return r
}

// or names a second scope that suffices.
func (r route) or(scope model.Scope) route { r.also = scope; return r }

// heldTo names the record whose version an If-Match must name.
func (r route) heldTo(held func(*call, any) string) route {
	r.held = held
	return r
}

// makes says what 201 answers, where 200 can answer more.
func (r route) makes(record reflect.Type) route { r.made = record; return r }

// refuses with more than every operation of its form does.
func (r route) refuses(with ...model.Code) route { r.refusals = with; return r }

// atLocation promises the Location of what was made.
func (r route) atLocation() route { r.located = true; return r }

// upTo sets the bound of the body.
func (r route) upTo(limit int64) route { r.limit = limit; return r }

// carrying names the member that is a file in base64.
func (r route) carrying(member string) route { r.content = member; return r }

// rehearsed exists in development only.
func (r route) rehearsed() route { r.sandbox = true; return r }

// handle puts a route on the router.
func (d *door) handle(r *route) {
	d.mux.HandleFunc(r.method+" "+version+r.path, func(w http.ResponseWriter, request *http.Request) {
		c := w.(*call)
		c.request, c.route = request, r
		if err := d.serve(request.Context(), c); err != nil {
			d.refuse(request.Context(), c, err)
		}
	})
}

// serve answers in the contract's order: who asks, how they want to be answered,
// what they say, and then the domain.
func (d *door) serve(ctx context.Context, c *call) error {
	if err := d.admit(ctx, c, c.request.Header.Values("Authorization")...); err != nil {
		return err
	}
	if err := c.permitted(); err != nil {
		return err
	}
	if err := c.acceptable(); err != nil {
		return err
	}
	if err := c.parameters(); err != nil {
		return err
	}
	err := c.route.serve(ctx, c)
	if first := (*model.Replay)(nil); errors.As(err, &first) {
		c.replay(first)
		return nil
	}
	return err
}

// permitted refuses who lacks the scope before a body is read: the schema is not
// theirs to explore. The operation asks again, for it is the one that knows.
func (c *call) permitted() error {
	err := c.actor.May(c.route.scope)
	if err != nil && c.route.also != "" && c.actor.May(c.route.also) == nil {
		return nil
	}
	return err
}

// admit finds out who asks, and whether not too often.
func (d *door) admit(ctx context.Context, c *call, authorization ...string) error {
	token, err := auth.BearerFrom(authorization...)
	if err == nil {
		c.actor, err = d.Authenticate(ctx, token)
		c.actor.Request, c.actor.Doing = c.id, cmp.Or(c.route.id, c.route.path)
	}
	if err == nil {
		return c.limited(ctx, d.Limiter, holder(c.actor))
	}
	if status := refusal.KindOf(model.CodeOf(err)).Status; d.Strangers != nil && !c.counted && status == http.StatusUnauthorized {
		if limited := c.limited(ctx, d.Strangers, address(c.request)); limited != nil {
			return limited
		}
	}
	return err
}
