package rest

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"reflect"

	"parapet/internal/auth"
	"parapet/internal/errormap"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/replica"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// route is one row of the contract: an address, the required scope, the input and output
// types, and the function that serves it.
type route struct {
	method, path     string
	scope            actor.Scope
	alternativeScope actor.Scope // also sufficient; empty for most
	operationID      string      // operationId: the method name in generated clients
	tag              string
	summary          string
	description      string // text below the summary in the document

	inputType, outputType reflect.Type  // nil without a body
	createdType           reflect.Type  // body of 201 if it differs from 200; nil otherwise
	successStatuses       []int         // the usual one first
	bodyLimit             int64         // of the request's body, in bytes
	fileMember            string        // member with a file in base64; empty for most
	location              string        // collection of the record that Location names; empty without one
	isPaged               bool          // takes limit and cursor
	filters               []string      // further query parameters
	extraCodes            []apperr.Code // error codes beyond those of its form
	returnsFile           bool          // responds with the bytes of a file
	takesEmptyBody        bool          // takes no body, or an object without members
	isSandboxOnly         bool          // exists in development only

	// matchTarget returns the id of the record that a write changes, for If-Match; nil if
	// the write changes no existing record.
	matchTarget func(c *requestContext, in any) string
	serve       func(context.Context, *requestContext) error
}

// The contract's limits of a body, in bytes.
const (
	bodyLimit       = 1 << 20
	attachmentLimit = 15 << 20
)

// getRoute is a GET of one record.
func getRoute[Out any](path string, scope actor.Scope, get func(context.Context, *requestContext) (*Out, error)) route {
	return route{
		method: http.MethodGet, path: path, scope: scope, outputType: reflect.TypeFor[Out](), successStatuses: []int{http.StatusOK},
		serve: func(ctx context.Context, c *requestContext) error {
			record, err := get(ctx, c)
			if err != nil {
				return err
			}
			return c.writeRecord(http.StatusOK, record)
		},
	}
}

// listRoute is a GET of a page of records.
func listRoute[Out any](path string, scope actor.Scope, get func(context.Context, *requestContext, store.PageRequest) (*store.Page[Out], error)) route {
	return searchRoute(path, scope, nil, func(ctx context.Context, c *requestContext, _ store.Filter, page store.PageRequest) (*store.Page[Out], error) {
		return get(ctx, c, page)
	})
}

// filteredListRoute is listRoute with its own query parameters.
func filteredListRoute[Out any](path string, scope actor.Scope, filters []string, get func(context.Context, *requestContext, store.PageRequest) (*store.Page[Out], error)) route {
	r := listRoute(path, scope, get)
	r.filters = filters
	return r
}

// searchRoute is a GET of a page of the records that match a filter.
func searchRoute[Out any](path string, scope actor.Scope, filters []string, get func(context.Context, *requestContext, store.Filter, store.PageRequest) (*store.Page[Out], error)) route {
	r := getRoute(path, scope, func(ctx context.Context, c *requestContext) (*wire.List[Out], error) {
		filter, in := c.query.listFilter(), c.query.pageRequest()
		if err := c.query.err(); err != nil {
			return nil, err
		}
		page, err := get(ctx, c, filter, in)
		if err != nil {
			return nil, err
		}
		c.readToEnd = in.Cursor != "" && !page.HasMore
		return &page.List, nil
	})
	r.isPaged, r.filters = true, filters
	return r
}

// downloadRoute is a GET of a file's bytes.
func downloadRoute(path string, scope actor.Scope, serve func(context.Context, *requestContext) error) route {
	return route{method: http.MethodGet, path: path, scope: scope, successStatuses: []int{http.StatusOK}, returnsFile: true, serve: serve}
}

// createRoute is a POST that always creates a record.
func createRoute[In, Out any](path string, scope actor.Scope, do func(context.Context, *requestContext, In) (*Out, error)) route {
	r := createOrFindRoute(path, scope, func(ctx context.Context, c *requestContext, in In) (*Out, bool, error) {
		record, err := do(ctx, c, in)
		return record, true, err
	})
	r.successStatuses = []int{http.StatusCreated}
	return r
}

// createOrFindRoute is a POST that creates a record or returns the existing one.
func createOrFindRoute[In, Out any](path string, scope actor.Scope, do func(context.Context, *requestContext, In) (*Out, bool, error)) route {
	return route{
		method: http.MethodPost, path: path, scope: scope, inputType: reflect.TypeFor[In](), outputType: reflect.TypeFor[Out](),
		successStatuses: []int{http.StatusCreated, http.StatusOK}, bodyLimit: bodyLimit,
		serve: func(ctx context.Context, c *requestContext) error {
			in, faults, err := decodeRequest[In](c)
			if err != nil {
				return err
			}
			if err := c.setMatchCondition(in); err != nil {
				return err
			}
			record, created, err := do(apperr.WithFieldErrors(ctx, faults...), c, in)
			if err != nil {
				return err
			}
			return c.writeRecord(c.route.successStatus(created), record)
		},
	}
}

// updateRoute is a PATCH of one record: it changes the members in the body and keeps the
// others.
func updateRoute[In, Out any](path string, scope actor.Scope, do func(context.Context, *requestContext, In) (*Out, error)) route {
	r := createOrFindRoute(path, scope, func(ctx context.Context, c *requestContext, in In) (*Out, bool, error) {
		record, err := do(ctx, c, in)
		return record, false, err
	})
	r.method, r.successStatuses = http.MethodPatch, []int{http.StatusOK}
	return r
}

// actionRoute is a POST that needs no body.
func actionRoute[Out any](path string, scope actor.Scope, status int, do func(context.Context, *requestContext) (*Out, error)) route {
	return route{
		method: http.MethodPost, path: path, scope: scope, outputType: reflect.TypeFor[Out](), successStatuses: []int{status}, bodyLimit: bodyLimit, takesEmptyBody: true,
		serve: func(ctx context.Context, c *requestContext) error {
			if err := c.readEmptyBody(); err != nil {
				return err
			}
			if err := c.setMatchCondition(nil); err != nil {
				return err
			}
			record, err := do(ctx, c)
			if err != nil {
				return err
			}
			return c.writeRecord(status, record)
		},
	}
}

// queryRoute is a POST with a body that creates no record of its own.
func queryRoute[In, Out any](path string, scope actor.Scope, do func(context.Context, *requestContext, In) (*Out, error)) route {
	r := createOrFindRoute(path, scope, func(ctx context.Context, c *requestContext, in In) (*Out, bool, error) {
		answer, err := do(ctx, c, in)
		return answer, false, err
	})
	r.successStatuses = []int{http.StatusOK}
	return r
}

// deleteRoute is a DELETE of one record.
func deleteRoute(path string, scope actor.Scope, do func(context.Context, *requestContext) error) route {
	return route{
		method: http.MethodDelete, path: path, scope: scope, successStatuses: []int{http.StatusNoContent},
		serve: func(ctx context.Context, c *requestContext) error {
			if err := c.setMatchCondition(nil); err != nil {
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

// describedAs sets a route's description in the document.
func (r route) describedAs(id, tag, summary, about string) route {
	r.operationID, r.tag, r.summary, r.description = id, tag, summary, about
	return r
}

// orScope sets a second sufficient scope.
func (r route) orScope(scope actor.Scope) route { r.alternativeScope = scope; return r }

// requiresMatch sets the record whose version If-Match checks.
func (r route) requiresMatch(held func(*requestContext, any) string) route {
	r.matchTarget = held
	return r
}

// returnsOn201 sets the body of 201 if it differs from 200.
func (r route) returnsOn201(record reflect.Type) route { r.createdType = record; return r }

// withErrorCodes adds error codes to those of the route's form.
func (r route) withErrorCodes(with ...apperr.Code) route { r.extraCodes = with; return r }

// withFilters sets further query parameters.
func (r route) withFilters(names ...string) route { r.filters = names; return r }

// withLocation adds the Location of the created record.
func (r route) withLocation() route { r.location = r.path; return r }

// withBodyLimit sets the limit of the body, in bytes.
func (r route) withBodyLimit(limit int64) route { r.bodyLimit = limit; return r }

// withFileMember sets the member that is a file in base64.
func (r route) withFileMember(member string) route { r.fileMember = member; return r }

// registerRoute adds a route to the router.
func (s *server) registerRoute(r *route) {
	s.mux.HandleFunc(r.method+" "+versionPath+r.path, func(w http.ResponseWriter, request *http.Request) {
		c := w.(*requestContext)
		c.request, c.route = request, r
		if err := s.serveRoute(request.Context(), c); err != nil {
			s.writeProblem(request.Context(), c, err)
		}
		s.noteEvidence(request.Context(), c)
	})
}

// serveRoute answers in the contract's order: authentication, content negotiation, input,
// then the domain.
func (s *server) serveRoute(ctx context.Context, c *requestContext) error {
	if err := s.authenticateAndLimit(ctx, c, c.request.Header.Values("Authorization")...); err != nil {
		return err
	}
	if err := c.checkScope(); err != nil {
		return err
	}
	if err := c.checkAccept(); err != nil {
		return err
	}
	if err := c.parseQuery(); err != nil {
		return err
	}
	if c.route.method == http.MethodGet {
		ctx = replica.Allow(withReadAfter(ctx, c.request))
	}
	err := c.route.serve(ctx, c)
	if first := (*store.Replay)(nil); errors.As(err, &first) {
		c.writeReplay(first)
		return nil
	}
	return err
}

// checkScope rejects a caller without the scope before the body is read, so that it
// cannot explore the schema. The operation checks the scope again.
func (c *requestContext) checkScope() error {
	err := c.actor.RequireScope(c.route.scope)
	if err != nil && c.route.alternativeScope != "" && c.actor.RequireScope(c.route.alternativeScope) == nil {
		return nil
	}
	return err
}

// authenticateAndLimit authenticates the caller, applies the rate limit, and checks the
// header that all operations take.
func (s *server) authenticateAndLimit(ctx context.Context, c *requestContext, authorization ...string) error {
	token, err := auth.BearerFrom(authorization...)
	if err == nil {
		c.actor, err = s.Authenticate(ctx, token)
		c.actor.RequestID, c.actor.Operation = c.requestID, cmp.Or(c.route.operationID, c.route.path)
	}
	if err == nil {
		if err := c.checkRateLimit(ctx, s.Limiter, c.actor.CallerName()); err != nil {
			return err
		}
		s.Service.Bulk.CountRequest()
		return c.checkReadAfter()
	}
	if status := errormap.MeaningOf(apperr.CodeOf(err)).Status; s.AddressLimiter != nil && !c.countedByAddress && status == http.StatusUnauthorized {
		if limited := c.checkRateLimit(ctx, s.AddressLimiter, addressKey(c.request)); limited != nil {
			return limited
		}
	}
	return err
}
