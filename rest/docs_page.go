package rest

import (
	"context"
	"embed"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"

	"parapet/docs"
)

//go:embed page
var pageFS embed.FS

// pageFile is a file that this server delivers, so that its pages work offline.
type pageFile struct{ file, mediaType, policy string }

const (
	htmlType       = "text/html; charset=utf-8"
	cssType        = "text/css; charset=utf-8"
	javascriptType = "text/javascript; charset=utf-8"
)

// verifyFiles are the files of /verify by address. make generate compiles its program.
var verifyFiles = map[string]pageFile{
	"/verify":                {"page/verify/index.html", htmlType, verifyPolicy},
	"/verify/page.css":       {"page/verify/page.css", cssType, pagePolicy},
	"/verify/page.js":        {"page/verify/page.js", javascriptType, pagePolicy},
	"/verify/wasm_exec.js":   {"page/verify/wasm_exec.js", javascriptType, pagePolicy},
	"/verify/verify.wasm.gz": {"page/verify/verify.wasm.gz", "application/gzip", pagePolicy},
}

// Content-Security-Policy of the pages: they run this server's code and connect to this
// server only. verifyPolicy also lets /verify compile WebAssembly, and svgPolicy lets a
// picture have the styles that it contains.
const (
	ownFiles = "default-src 'none'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; " +
		"frame-ancestors 'none'; require-trusted-types-for 'script'; script-src 'self'"
	pagePolicy   = ownFiles
	verifyPolicy = ownFiles + " 'wasm-unsafe-eval'"
	svgPolicy    = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
)

// docsTypes are the media types of the files of /docs.
var docsTypes = map[string]string{
	".html": htmlType, ".css": cssType, ".js": javascriptType, ".svg": "image/svg+xml", ".json": jsonType,
}

// registerDocsPages serves the documentation and /verify without authentication.
func (s *server) registerDocsPages() error {
	for _, address := range slices.Sorted(maps.Keys(verifyFiles)) {
		entry := verifyFiles[address]
		content, err := pageFS.ReadFile(entry.file)
		if err != nil {
			return fmt.Errorf("the page at %s: %w", address, err)
		}
		s.mux.Handle("GET "+address, s.publicHandler(func(_ context.Context, c *requestContext) error {
			c.writePage(http.StatusOK, entry.mediaType, entry.policy, content)
			return nil
		}))
	}
	files, err := docs.Files()
	if err != nil {
		return fmt.Errorf("the pages at /docs: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		address, status := "/docs/"+strings.TrimSuffix(name, ".html"), http.StatusOK
		switch name {
		case "index.html":
			address = "/docs"
		case "404.html":
			address, status = "/docs/{path...}", http.StatusNotFound
		}
		s.mux.Handle("GET "+address, s.publicHandler(func(_ context.Context, c *requestContext) error {
			c.route = &route{method: c.request.Method, path: address}
			return c.writeDocsFile(status, path.Ext(name), files[name])
		}))
	}
	return nil
}

// writeDocsFile writes a file of the documentation, compressed for callers that accept it.
// Only browsers get a page about an address that does not exist.
func (c *requestContext) writeDocsFile(status int, extension string, file docs.File) error {
	if status == http.StatusNotFound && !acceptsHTML(c.request.Header.Values("Accept")) {
		return unknownAddress()
	}
	policy, content := pagePolicy, file.Content
	if extension == ".svg" {
		policy = svgPolicy
	}
	c.Header().Set("Vary", "Accept-Encoding")
	codings := strings.Join(c.request.Header.Values("Accept-Encoding"), ",")
	if _, accepted := mediaWeight(codings, map[string]int{"*": 1, "gzip": 2}); accepted {
		c.Header().Set("Content-Encoding", "gzip")
		content = file.Gzip
	}
	c.writePage(status, docsTypes[extension], policy, content)
	return nil
}

// writePage writes a page or a part of one. The address of a part names its version, so
// browsers may keep it; pages are revalidated each time, usually without being sent again.
func (c *requestContext) writePage(status int, mediaType, policy string, content []byte) {
	header := c.Header()
	header.Set("Content-Security-Policy", policy)
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cache-Control", "no-cache")
	if c.request.URL.Query().Has("v") {
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	c.writeBody(status, mediaType, content)
}
