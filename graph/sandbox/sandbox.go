// Package sandbox serves a browser page for trying GraphQL: an editor with the schema and
// sign-in at the issuer. The page loads everything from this server and connects only to
// this server and the issuers.
package sandbox

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// Config configures the page.
type Config struct {
	// Client is the public OAuth client for sign-in.
	Client string
	// Issuers are the addresses of token issuers; the first one is used for sign-in.
	Issuers []string
	// Scope and OperatorScope are the scopes that a partner's and an operator's sign-in
	// request, separated by spaces. A token with both is rejected, so request both only
	// if the issuer grants each person their own scopes.
	Scope, OperatorScope string
	// Params are additional parameters that the issuer needs in the authorization and
	// token requests, such as a resource. A scope among them replaces OperatorScope.
	Params url.Values
}

// Path is the address of the page; its files are below it.
const Path = "/sandbox"

//go:embed page
var pageFS embed.FS

// files are the files of the page by address. The editor is GraphiQL, on React; see
// page/*.LICENSE.txt.
var files = map[string]struct{ name, mediaType string }{
	Path:                    {"page/index.html", "text/html; charset=utf-8"},
	Path + "/page.css":      {"page/page.css", "text/css; charset=utf-8"},
	Path + "/page.js":       {"page/page.js", "text/javascript; charset=utf-8"},
	Path + "/examples.json": {"page/examples.json", "application/json"},
	Path + "/graphiql.css":  {"page/graphiql-4.1.2.css", "text/css; charset=utf-8"},
	Path + "/graphiql.js":   {"page/graphiql-4.1.2.js", "text/javascript; charset=utf-8"},
	Path + "/react.js":      {"page/react-18.3.1.js", "text/javascript; charset=utf-8"},
	Path + "/react-dom.js":  {"page/react-dom-18.3.1.js", "text/javascript; charset=utf-8"},
}

// New returns the handlers of the page by address. Errors: an invalid issuer address.
func New(config Config) (map[string]http.Handler, error) {
	policy, err := contentSecurityPolicy(config.Issuers)
	if err != nil {
		return nil, err
	}
	handlers := map[string]http.Handler{}
	for address, file := range files {
		content, err := pageFS.ReadFile(file.name)
		if err != nil {
			return nil, fmt.Errorf("the page at %s: %w", address, err)
		}
		if address == Path {
			if content, err = fillTemplate(content, config); err != nil {
				return nil, fmt.Errorf("the page at %s: %w", address, err)
			}
		}
		handlers["GET "+address] = serveFile(file.mediaType, policy, content)
	}
	return handlers, nil
}

func fillTemplate(content []byte, config Config) ([]byte, error) {
	form, err := template.New("page").Parse(string(content))
	if err != nil {
		return nil, err
	}
	further := map[string]string{}
	for name := range config.Params {
		if name != "scope" {
			further[name] = config.Params.Get(name)
		}
	}
	if config.Params.Has("scope") {
		config.OperatorScope = config.Params.Get("scope")
	}
	params, err := json.Marshal(further, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	var filled bytes.Buffer
	err = form.Execute(&filled, map[string]any{"Config": config, "Params": string(params)})
	return filled.Bytes(), err
}

// contentSecurityPolicy allows the page to run this server's code and to connect to it
// and the issuers. The editor inlines styles and embeds its fonts.
func contentSecurityPolicy(issuers []string) (string, error) {
	talksTo := []string{"'self'"}
	for _, issuer := range issuers {
		address, err := url.Parse(issuer)
		if err != nil || address.Host == "" {
			return "", fmt.Errorf("the issuer %q is not an absolute address", issuer)
		}
		talksTo = append(talksTo, address.Scheme+"://"+address.Host)
	}
	return "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self' data:; img-src 'self' data:; connect-src " +
		strings.Join(talksTo, " ") + "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'", nil
}

func serveFile(mediaType, policy string, content []byte) http.Handler {
	sum := sha256.Sum256(content)
	tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:]) + `"`
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Type", mediaType)
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cache-Control", "no-cache") // revalidated each time, usually without sending it again
		header.Set("ETag", tag)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	})
}
