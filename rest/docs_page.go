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
var page embed.FS

// pageFiles are what /docs is made of, by address. The renderer is redoc, see
// page/*.LICENSE.txt; it comes from here, so that the page works offline.
var pageFiles = map[string]struct{ file, mediaType string }{
	"/docs":          {"page/index.html", "text/html; charset=utf-8"},
	"/docs/page.css": {"page/page.css", "text/css; charset=utf-8"},
	"/docs/page.js":  {"page/page.js", "text/javascript; charset=utf-8"},
	"/docs/redoc.js": {"page/redoc-2.5.4.js", "text/javascript; charset=utf-8"},
}

// pagePolicy lets the page run what this server sends and talk to it alone. The
// renderer writes styles into the page and searches in a worker of its own making.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; " +
	"img-src 'self' data:; worker-src blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// publishPage serves the reading form of the document to everybody.
func (d *door) publishPage() error {
	for _, address := range slices.Sorted(maps.Keys(pageFiles)) {
		entry := pageFiles[address]
		content, err := page.ReadFile(entry.file)
		if err != nil {
			return fmt.Errorf("the page at %s: %w", address, err)
		}
		d.mux.Handle("GET "+address, d.public(func(_ context.Context, c *call) error {
			header := c.Header()
			header.Set("Content-Security-Policy", pagePolicy)
			header.Set("Referrer-Policy", "no-referrer")
			header.Set("Cache-Control", "no-cache") // asked for again, and mostly not sent again
			c.send(http.StatusOK, entry.mediaType, content)
			return nil
		}))
	}
	return nil
}
