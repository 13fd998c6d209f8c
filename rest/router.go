package rest

import (
	"context"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"parapet/model/kernel/apperr"
)

// versionPath is the base address of the router.
const versionPath = "/v1"

// routeRequest finds the route. It writes its own response if there is none, because the
// router's responses are plain text.
func (s *server) routeRequest(ctx context.Context, c *requestContext, r *http.Request) {
	if err := s.limitByAddress(ctx, c); err != nil {
		s.writeProblem(ctx, c, err)
		return
	}
	r = s.stripBasePath(c, r.WithContext(ctx))
	if path.Clean(r.URL.Path) != r.URL.Path {
		s.writeProblem(ctx, c, unknownAddress()) // the router would redirect
		return
	}
	router, pattern := s.mux.Handler(r)
	if pattern == "" {
		s.writeProblem(ctx, c, routingError(c, router, r))
		return
	}
	s.mux.ServeHTTP(c, r)
}

// stripBasePath records the request's base address and replaces it by the router's, so
// that all base addresses behave alike.
func (s *server) stripBasePath(c *requestContext, r *http.Request) *http.Request {
	c.basePath = versionPath
	for _, base := range s.basePaths[1:] {
		if !strings.HasPrefix(r.URL.Path, base+"/") {
			continue
		}
		c.basePath = base
		prefix := strings.TrimSuffix(base, versionPath)
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

// routingError returns an error with the methods that the router would accept.
func routingError(c *requestContext, router http.Handler, r *http.Request) *apperr.Error {
	probe := &probeWriter{header: http.Header{}}
	router.ServeHTTP(probe, r)
	if probe.status != http.StatusMethodNotAllowed || r.URL.Path == "/" { // for programs there is nothing at /
		return unknownAddress()
	}
	allow := probe.header.Get("Allow")
	c.Header().Set("Allow", allow)
	return apperr.Fail(apperr.CodeMethodNotAllowed, "This address accepts %s.", allow)
}

func unknownAddress() *apperr.Error {
	return apperr.Fail(apperr.CodeNotFound, "There is no operation at this address; the OpenAPI document lists the operations.")
}

// probeWriter receives the router's response without sending it.
type probeWriter struct {
	header http.Header
	status int
}

func (p *probeWriter) Header() http.Header { return p.header }

func (p *probeWriter) WriteHeader(status int) { p.status = status }

func (p *probeWriter) Write(text []byte) (int, error) { return len(text), nil }

// pathParameterNames returns the names in a route's path, in order.
func pathParameterNames(path string) []string {
	var names []string
	for segment := range strings.SplitSeq(path, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			names = append(names, strings.TrimSuffix(name, "}"))
		}
	}
	return slices.Clip(names)
}
