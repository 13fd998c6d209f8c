package rest

import (
	"context"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"parapet/model"
)

// version is the base address that the router itself knows.
const version = "/v1"

// dispatch finds the route, and answers itself where there is none: the router's
// own answers would be plain text.
func (d *door) dispatch(ctx context.Context, c *call, r *http.Request) {
	if err := d.limitWithoutToken(ctx, c); err != nil {
		d.refuse(ctx, c, err)
		return
	}
	r = d.rebase(c, r.WithContext(ctx))
	if path.Clean(r.URL.Path) != r.URL.Path {
		d.refuse(ctx, c, noSuchAddress()) // the router would redirect
		return
	}
	router, pattern := d.mux.Handler(r)
	if pattern == "" {
		d.refuse(ctx, c, unrouted(c, router, r))
		return
	}
	d.mux.ServeHTTP(c, r)
}

// rebase notes under which base address the request came and gives it the one
// the router knows, so that all of them answer alike.
func (d *door) rebase(c *call, r *http.Request) *http.Request {
	c.base = version
	for _, base := range d.bases[1:] {
		if !strings.HasPrefix(r.URL.Path, base+"/") {
			continue
		}
		c.base = base
		prefix := strings.TrimSuffix(base, version)
		short := new(http.Request)
		*short = *r
		short.URL = new(url.URL)
		*short.URL = *r.URL
		short.URL.Path = strings.TrimPrefix(r.URL.Path, prefix)
		short.URL.RawPath = strings.TrimPrefix(r.URL.RawPath, prefix)
		return short
	}
	return r
}

// unrouted asks the router which methods it would take, and says so.
func unrouted(c *call, router http.Handler, r *http.Request) *model.Error {
	probe := &probe{header: http.Header{}}
	router.ServeHTTP(probe, r)
	if probe.status != http.StatusMethodNotAllowed || r.URL.Path == "/" { // for programs there is nothing at /
		return noSuchAddress()
	}
	allow := probe.header.Get("Allow")
	c.Header().Set("Allow", allow)
	return model.Fail(model.CodeMethodNotAllowed, "This address takes %s.", allow)
}

func noSuchAddress() *model.Error {
	return model.Fail(model.CodeNotFound, "There is nothing at this address; the OpenAPI document lists what there is.")
}

// probe takes the router's answer without sending it.
type probe struct {
	header http.Header
	status int
}

func (p *probe) Header() http.Header { return p.header }

func (p *probe) WriteHeader(status int) { p.status = status }

func (p *probe) Write(text []byte) (int, error) { return len(text), nil }

// parameters are the names in a route's path, in order.
func parameters(path string) []string {
	var names []string
	for segment := range strings.SplitSeq(path, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			names = append(names, strings.TrimSuffix(name, "}"))
		}
	}
	return slices.Clip(names)
}
