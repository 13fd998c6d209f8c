package rest

import (
	"bytes"
	"context"
	"fmt"
	"html/template"
	"net/http"
	"strings"
)

// homeLink is one entry of the page at /. Path is also the address of the handler that
// must exist for it, as in SharedHandlers; handlers of this package always exist.
type homeLink struct {
	Path, Title, Text string
	isShared          bool
}

var homeLinks = []homeLink{
	{Path: "/docs", Title: "Documentation", Text: "From the first token to a payout: guides, the REST and GraphQL references, and how to run it."},
	{Path: "/v1/openapi.yaml", Title: "OpenAPI document", Text: "For client generators; also at /v1/openapi.json."},
	{Path: "/console", Title: "Console", Text: "Quotes, policies, claims and payouts on a screen, for partners and operators.", isShared: true},
	{Path: "/sandbox", Title: "GraphQL sandbox", Text: "An editor for queries, with sign-in.", isShared: true},
	{Path: "/verify", Title: "Verify a receipt", Text: "Recomputes receipts of quotes and claims in your browser."},
	{Path: "/ops", Title: "Operators", Text: "Jobs and the audit log, for operators.", isShared: true},
	{Path: "/readyz", Title: "Health", Text: "Whether the database, the schema and the token keys are usable."},
}

// registerHomePage serves links to browsers that open the server's address. Other clients
// get the usual error for an unknown address.
func (s *server) registerHomePage() error {
	form, err := template.ParseFS(pageFS, "page/home.html")
	if err != nil {
		return fmt.Errorf("the page at /: %w", err)
	}
	var links []homeLink
	for _, link := range homeLinks {
		if _, mounted := s.SharedHandlers["GET "+link.Path]; mounted || !link.isShared {
			links = append(links, link)
		}
	}
	var content bytes.Buffer
	if err := form.Execute(&content, links); err != nil {
		return fmt.Errorf("the page at /: %w", err)
	}
	s.mux.Handle("GET /{$}", s.publicHandler(func(_ context.Context, c *requestContext) error {
		c.Header().Set("Vary", "Accept")
		if !acceptsHTML(c.request.Header.Values("Accept")) {
			return unknownAddress()
		}
		c.writePage(http.StatusOK, htmlType, pagePolicy, content.Bytes())
		return nil
	}))
	return nil
}

// acceptsHTML reports whether Accept names HTML, which browsers do and programs do not.
func acceptsHTML(accept []string) bool {
	best, accepted := mediaWeight(strings.Join(accept, ","), map[string]int{"text/html": 1})
	return best > 0 && accepted
}
