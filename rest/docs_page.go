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

// pageFiles are the files of /docs by address. The renderer is redoc, see
// page/*.LICENSE.txt; this server delivers it, so that the page works offline.
var pageFiles = map[string]struct{ file, mediaType string }{
	"/docs":          {"page/index.html", "text/html; charset=utf-8"},
	"/docs/life.svg": {"page/life.svg", "image/svg+xml"},
	"/docs/page.css": {"page/page.css", "text/css; charset=utf-8"},
	"/docs/page.js":  {"page/page.js", "text/javascript; charset=utf-8"},
	"/docs/redoc.js": {"page/redoc-2.5.4.js", "text/javascript; charset=utf-8"},
}

// pagePolicy allows the page to run this server's code and to connect to this server
// only. The renderer inlines styles and creates its own search worker.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; " +
	"img-src 'self' data:; worker-src blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// registerDocsPage serves the HTML documentation without authentication.
func (s *server) registerDocsPage() error {
	for _, address := range slices.Sorted(maps.Keys(pageFiles)) {
		entry := pageFiles[address]
		content, err := pageFS.ReadFile(entry.file)
		if err != nil {
			return fmt.Errorf("the page at %s: %w", address, err)
		}
		s.mux.Handle("GET "+address, s.publicHandler(func(_ context.Context, c *requestContext) error {
			header := c.Header()
			header.Set("Content-Security-Policy", pagePolicy)
			header.Set("Referrer-Policy", "no-referrer")
			header.Set("Cache-Control", "no-cache") // revalidated each time, usually without sending it again
			c.writeBody(http.StatusOK, entry.mediaType, content)
			return nil
		}))
	}
	return nil
}
