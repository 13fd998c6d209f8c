package main

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"
)

// minCompressedSize is the size from which an answer is compressed: below it, the time costs
// more than the bytes.
const minCompressedSize = 2048

// compressedTag ends the entity tags of compressed answers, which are other
// representations (RFC 9110 section 8.8.3.3).
const compressedTag = "-gzip"

// compressedTypes are compressed. Pages are not: they are compressed beforehand, or show
// secrets of a session, whose length must not depend on what a caller sends.
var compressedTypes = []string{
	"application/json", "application/problem+json", "application/graphql-response+json", "application/yaml", "application/openapi+json", "application/openapi+yaml",
	"application/json; charset=utf-8", "application/graphql-response+json; charset=utf-8", "text/csv", "text/csv; charset=utf-8", "text/plain; charset=utf-8",
}

// compressResponses compresses large answers for clients that accept gzip. Streams and
// WebSockets stay as they are.
func compressResponses(next http.Handler) (http.Handler, error) {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(minCompressedSize), gzhttp.CompressionLevel(gzip.BestSpeed), gzhttp.ContentTypes(compressedTypes), gzhttp.SuffixETag(compressedTag))
	if err != nil {
		return nil, fmt.Errorf("compression: %w", err)
	}
	compressed := wrap(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "" || strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
			next.ServeHTTP(w, r)
			return
		}
		if strings.Contains(r.Header.Get("If-Match")+r.Header.Get("If-None-Match"), compressedTag+`"`) {
			r = r.Clone(r.Context()) // a handler must not change its request
			for _, name := range []string{"If-Match", "If-None-Match"} {
				for i, tag := range r.Header.Values(name) {
					r.Header[name][i] = strings.ReplaceAll(tag, compressedTag+`"`, `"`)
				}
			}
			w = tagWriter{w}
		}
		compressed.ServeHTTP(w, r)
	}), nil
}

// tagWriter answers 304 with the tag of the compressed representation, which the caller has.
type tagWriter struct{ http.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w tagWriter) WriteHeader(status int) {
	if tag := w.Header().Get("ETag"); status == http.StatusNotModified && tag != "" {
		w.Header().Set("ETag", strings.TrimSuffix(tag, `"`)+compressedTag+`"`)
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap gives http.ResponseController access to the connection.
func (w tagWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
