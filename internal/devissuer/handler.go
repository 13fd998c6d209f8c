package devissuer

import (
	"encoding/json"
	"net/http"
	"strings"
)

// maxFormBytes limits the body of a form, in bytes.
const maxFormBytes = 64 << 10

// Handler serves discovery, /jwks, /token and /authorize below the path of the issuer's
// address.
func (i *Issuer) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+i.prefix+"/.well-known/openid-configuration", i.serveDiscovery)
	mux.HandleFunc("GET "+i.prefix+"/.well-known/oauth-authorization-server", i.serveDiscovery)
	if i.prefix != "" { // the address of RFC 8414 section 3.1
		mux.HandleFunc("GET /.well-known/oauth-authorization-server"+i.prefix, i.serveDiscovery)
	}
	mux.HandleFunc("GET "+i.prefix+"/jwks", i.serveJWKS)
	mux.HandleFunc("POST "+i.prefix+"/token", i.serveToken)
	mux.HandleFunc("GET "+i.prefix+"/authorize", i.showForm)
	mux.HandleFunc("POST "+i.prefix+"/authorize", i.submitForm)
	return http.MaxBytesHandler(mux, maxFormBytes)
}

// pageAddress returns the absolute address of one of the issuer's pages.
func (i *Issuer) pageAddress(page string) string {
	return strings.TrimSuffix(i.options.Issuer, "/") + page
}

func (i *Issuer) serveDiscovery(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{
		"issuer":                                         i.options.Issuer,
		"jwks_uri":                                       i.pageAddress("/jwks"),
		"token_endpoint":                                 i.pageAddress("/token"),
		"authorization_endpoint":                         i.pageAddress("/authorize"),
		"response_types_supported":                       []string{"code"},
		"response_modes_supported":                       []string{"query"},
		"grant_types_supported":                          []string{"authorization_code", "client_credentials"},
		"code_challenge_methods_supported":               []string{"S256"},
		"token_endpoint_auth_methods_supported":          []string{"client_secret_basic", "client_secret_post", "none"},
		"subject_types_supported":                        []string{"public"},
		"id_token_signing_alg_values_supported":          []string{i.keys.currentKey().Algorithm},
		"scopes_supported":                               i.supportedScopes(),
		"authorization_response_iss_parameter_supported": true,
	})
}

// supportedScopes returns openid and the scopes of all clients, in order of mention.
func (i *Issuer) supportedScopes() []string {
	scopes, seen := []string{"openid"}, map[string]bool{"openid": true}
	for _, client := range i.options.Clients {
		for _, scope := range client.Scopes {
			if !seen[scope] {
				scopes, seen[scope] = append(scopes, scope), true
			}
		}
	}
	return scopes
}

func (i *Issuer) serveJWKS(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, i.keys.publicKeys())
}

// oauthError is an error of RFC 6749 section 5.2.
type oauthError struct {
	Code        string `json:"error"`
	Description string `json:"error_description"`
}

// writeJSON writes JSON that is not cached. Any origin may read it: without cookies a
// browser holds no credentials that another page could use.
func writeJSON(w http.ResponseWriter, status int, body any) {
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Cache-Control", "no-store")
	header.Set("Access-Control-Allow-Origin", "*")
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // an error means that the reader has left
}
