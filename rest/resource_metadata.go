package rest

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"parapet/model"
)

const metadataPath = "/.well-known/oauth-protected-resource"

// resourceMetadata tells a client that knows this address only where tokens come
// from (RFC 9728 section 2).
type resourceMetadata struct {
	Resource               string        `json:"resource"`
	ResourceName           string        `json:"resource_name"`
	AuthorizationServers   []string      `json:"authorization_servers,omitempty"`
	ScopesSupported        []model.Scope `json:"scopes_supported"`
	BearerMethodsSupported []string      `json:"bearer_methods_supported"`
	ResourceDocumentation  string        `json:"resource_documentation"`
}

func (d *door) resource(_ context.Context, c *call) error {
	origin := d.origin(c.request)
	return c.answer(http.StatusOK, resourceMetadata{
		Resource: origin, ResourceName: "Parapet", AuthorizationServers: d.Issuers, ScopesSupported: d.scopes(),
		BearerMethodsSupported: []string{"header"}, ResourceDocumentation: origin + "/docs",
	})
}

// origin is the configured one, or the one that was called.
func (d *door) origin(r *http.Request) string {
	switch {
	case d.BaseURL != "":
		return strings.TrimSuffix(d.BaseURL, "/")
	case r.TLS != nil:
		return "https://" + r.Host
	default:
		return "http://" + r.Host
	}
}

// scopes are those that the served operations name.
func (d *door) scopes() []model.Scope {
	var all []model.Scope
	for i := range d.routes {
		all = append(all, d.routes[i].scopes()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// scopes are those of which an operation needs one.
func (r *route) scopes() []model.Scope {
	if r.also == "" {
		return []model.Scope{r.scope}
	}
	return []model.Scope{r.scope, r.also}
}
