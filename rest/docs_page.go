package rest

import (
	"context"
	"embed"
	"fmt"
	"maps"
	"net/http"
	"slices"
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

// pageFiles are the files of /docs and /verify by address. The renderer of /docs is redoc,
// see page/*.LICENSE.txt. make generate compiles the program of /verify.
var pageFiles = map[string]pageFile{
	"/docs":          {"page/index.html", htmlType, pagePolicy},
	"/docs/life.svg": {"page/life.svg", "image/svg+xml", pagePolicy},
	"/docs/page.css": {"page/page.css", cssType, pagePolicy},
	"/docs/page.js":  {"page/page.js", javascriptType, pagePolicy},
	"/docs/redoc.js": {"page/redoc-2.5.4.js", javascriptType, pagePolicy},

	"/verify":                {"page/verify/index.html", htmlType, verifyPolicy},
	"/verify/page.css":       {"page/verify/page.css", cssType, pagePolicy},
	"/verify/page.js":        {"page/verify/page.js", javascriptType, pagePolicy},
	"/verify/wasm_exec.js":   {"page/verify/wasm_exec.js", javascriptType, pagePolicy},
	"/verify/verify.wasm.gz": {"page/verify/verify.wasm.gz", "application/gzip", pagePolicy},
}

// pagePolicy allows the page to run this server's code and to connect to this server
// only. The renderer inlines styles and creates its own search worker.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; " +
	"img-src 'self' data:; worker-src blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// verifyPolicy allows the page /verify to compile WebAssembly of this server, and nothing
// that is made from text.
const verifyPolicy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; " +
	"img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// registerDocsPage serves the pages of the manual and of /verify without authentication.
func (s *server) registerDocsPage() error {
	for _, address := range slices.Sorted(maps.Keys(pageFiles)) {
		entry := pageFiles[address]
		content, err := pageFS.ReadFile(entry.file)
		if err != nil {
			return fmt.Errorf("the page at %s: %w", address, err)
		}
		s.mux.Handle("GET "+address, s.publicHandler(func(_ context.Context, c *requestContext) error {
			header := c.Header()
			header.Set("Content-Security-Policy", entry.policy)
			header.Set("Referrer-Policy", "no-referrer")
			header.Set("Cache-Control", "no-cache") // revalidated each time, usually without sending it again
			c.writeBody(http.StatusOK, entry.mediaType, content)
			return nil
		}))
	}
	return nil
}
