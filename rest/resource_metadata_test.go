package rest_test

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"parapet/rest"
)

func TestResourceMetadata(t *testing.T) {
	t.Parallel()
	for base, change := range map[string]func(*rest.Config){
		"http://example.com": nil,
		"https://api.example.com": func(c *rest.Config) {
			c.BaseURL, c.Issuers = "https://api.example.com/", []string{"https://id.example.com"}
		},
	} {
		response := request{"GET", "/.well-known/oauth-protected-resource", "", []string{"Authorization: "}}.sendTo(t, newHandler(t, change))
		require.Equal(t, 200, response.StatusCode)
		var metadata map[string]any
		require.NoError(t, json.Unmarshal(response.Body, &metadata))
		require.Equal(t, base, metadata["resource"])
		require.Equal(t, []any{"header"}, metadata["bearer_methods_supported"])
		require.Contains(t, metadata["scopes_supported"], "quotes:write")
		require.Equal(t, change == nil, metadata["authorization_servers"] == nil)
	}
}
