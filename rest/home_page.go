package rest

import (
	"bytes"
	"context"
	"fmt"
	"html/template"
	"net/http"
	"strings"
)

// homeLink is one entry of the page at /. Path is also the address of the door that must
// exist for it, as Beside names it; doors of this package always exist.
type homeLink struct {
	Path, Title, Text string
	beside            bool
}

var homeLinks = []homeLink{
	{Path: "/docs", Title: "Manual", Text: "A guide from the first token to a payout, and every operation of the REST API."},
	{Path: "/v1/openapi.yaml", Title: "OpenAPI document", Text: "For generators of clients; also at /v1/openapi.json."},
	{Path: "/sandbox", Title: "GraphQL sandbox", Text: "An editor that knows the schema, with sign-in.", beside: true},
	{Path: "/ops", Title: "Operators", Text: "Jobs and the audit log, for operators.", beside: true},
	{Path: "/readyz", Title: "Health", Text: "Whether the database, the schema and the token keys are usable."},
}

// publishHome serves links to people who open the server's address in a browser. Programs
// get what they get at every address without a resource.
func (d *door) publishHome() error {
	form, err := template.ParseFS(page, "page/home.html")
	if err != nil {
		return fmt.Errorf("the page at /: %w", err)
	}
	var links []homeLink
	for _, link := range homeLinks {
		if _, mounted := d.Beside["GET "+link.Path]; mounted || !link.beside {
			links = append(links, link)
		}
	}
	var content bytes.Buffer
	if err := form.Execute(&content, links); err != nil {
		return fmt.Errorf("the page at /: %w", err)
	}
	d.mux.Handle("GET /{$}", d.public(func(_ context.Context, c *call) error {
		header := c.Header()
		header.Set("Vary", "Accept")
		if !takesHTML(c.request.Header.Values("Accept")) {
			return noSuchAddress()
		}
		header.Set("Content-Security-Policy", pagePolicy)
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cache-Control", "no-cache") // asked for again, and mostly not sent again
		c.send(http.StatusOK, "text/html; charset=utf-8", content.Bytes())
		return nil
	}))
	return nil
}

// takesHTML reports whether Accept names HTML, as browsers do and programs do not.
func takesHTML(accept []string) bool {
	best, accepted := mediaWeight(strings.Join(accept, ","), map[string]int{"text/html": 1})
	return best > 0 && accepted
}
