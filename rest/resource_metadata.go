package rest

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"parapet/model/kernel/actor"
)

const metadataPath = "/.well-known/oauth-protected-resource"

// resourceMetadata lets a client that knows only this address find the token issuers (RFC
// 9728 section 2).
type resourceMetadata struct {
	Resource               string        `json:"resource"`
	ResourceName           string        `json:"resource_name"`
	AuthorizationServers   []string      `json:"authorization_servers,omitempty"`
	ScopesSupported        []actor.Scope `json:"scopes_supported"`
	BearerMethodsSupported []string      `json:"bearer_methods_supported"`
	ResourceDocumentation  string        `json:"resource_documentation"`
}

func (s *server) getResourceMetadata(_ context.Context, c *requestContext) error {
	origin := s.publicOrigin(c.request)
	return c.writeRecord(http.StatusOK, resourceMetadata{
		Resource: origin, ResourceName: "Parapet", AuthorizationServers: s.Issuers, ScopesSupported: s.allScopes(),
		BearerMethodsSupported: []string{"header"}, ResourceDocumentation: origin + "/docs",
	})
}

// publicOrigin returns the configured origin, or the one that was called.
func (s *server) publicOrigin(r *http.Request) string {
	switch {
	case s.BaseURL != "":
		return strings.TrimSuffix(s.BaseURL, "/")
	case r.TLS != nil:
		return "https://" + r.Host
	default:
		return "http://" + r.Host
	}
}

// allScopes returns the scopes of all served operations.
func (s *server) allScopes() []actor.Scope {
	var all []actor.Scope
	for i := range s.routes {
		all = append(all, s.routes[i].acceptedScopes()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// acceptedScopes returns the scopes, one of which an operation needs.
func (r *route) acceptedScopes() []actor.Scope {
	if r.alternativeScope == "" {
		return []actor.Scope{r.scope}
	}
	return []actor.Scope{r.scope, r.alternativeScope}
}
