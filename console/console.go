// Package console serves the web console of partners and operators: a program in the
// browser that is a client of /graphql like any other, without rights of its own. Its
// sources are in src; dist has what build.mjs made of them, embedded and compressed, so
// that building the server needs no Node. The handlers are safe for concurrent use.
package console

import (
	"bytes"
	"compress/gzip"
	"context"
	"embed"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
)

// Path is the address of the console; its pages and files are below it.
const Path = "/console"

//go:embed dist
var dist embed.FS

// Config configures the console.
type Config struct {
	// Client is the public OAuth client of the sign-in; it returns to Path.
	Client string
	// Scope and OperatorScope are the scopes that a partner's and an operator's sign-in
	// request, separated by spaces.
	Scope, OperatorScope string
	// Params are further parameters of the authorization and token requests; a scope
	// among them replaces OperatorScope.
	Params url.Values
	// Discover returns the issuer's endpoints. It is called until it succeeds once.
	Discover func(context.Context) (Endpoints, error)
	// Rehearsal says that the server rehearses: the console offers the sandbox's pages.
	Rehearsal bool
}

// Endpoints are the addresses of an issuer that the browser uses.
type Endpoints struct {
	Issuer        string `json:"issuer"`
	Authorization string `json:"authorization"`
	Token         string `json:"token"`
}

// pageConfig is what the page reads from its own document.
type pageConfig struct {
	Endpoints
	Client        string            `json:"client"`
	Scope         string            `json:"scope"`
	OperatorScope string            `json:"operator_scope"`
	Params        map[string]string `json:"params"`
	Rehearsal     bool              `json:"rehearsal"`
}

// New returns the handlers of the console by address.
func New(config Config) (map[string]http.Handler, error) {
	text, err := dist.ReadFile("dist/index.html")
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	form, err := template.New("console").Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	p := &page{config: config, form: form}
	return map[string]http.Handler{
		"GET " + Path:                    p,
		"GET " + Path + "/{page...}":     p,
		"GET " + Path + "/assets/{file}": http.HandlerFunc(serveAsset),
	}, nil
}

// Documents returns the text of every GraphQL document of the console by its SHA-256 in
// hexadecimal, for a server that runs trusted documents only.
func Documents() (map[string]string, error) {
	text, err := dist.ReadFile("dist/documents.json")
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	var documents map[string]string
	return documents, json.Unmarshal(text, &documents)
}

// page serves the document of every address of the console; the browser's program shows
// the page that the address names.
type page struct {
	config Config
	form   *template.Template

	mu        sync.Mutex
	endpoints *Endpoints
}

func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	found, err := p.discover(r.Context())
	if err != nil {
		header.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		header.Set("Retry-After", "5")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "<!doctype html><title>Parapet</title><p>The issuer of sign-ins cannot be reached. Load this page again in a moment.")
		return
	}
	content, err := p.fill(found)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	header.Set("Content-Security-Policy", contentSecurityPolicy(found))
	_, _ = w.Write(content) // an error means that the reader has left
}

// discover returns the issuer's endpoints, once known without asking again.
func (p *page) discover(ctx context.Context) (Endpoints, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.endpoints == nil {
		found, err := p.config.Discover(ctx)
		if err != nil {
			return Endpoints{}, err
		}
		p.endpoints = &found
	}
	return *p.endpoints, nil
}

func (p *page) fill(found Endpoints) ([]byte, error) {
	c := pageConfig{Endpoints: found, Client: p.config.Client, Scope: p.config.Scope, OperatorScope: p.config.OperatorScope, Rehearsal: p.config.Rehearsal, Params: map[string]string{}}
	for name := range p.config.Params {
		if value := p.config.Params.Get(name); name == "scope" {
			c.OperatorScope = value
		} else {
			c.Params[name] = value
		}
	}
	text, err := json.Marshal(c, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	var filled bytes.Buffer
	err = p.form.Execute(&filled, string(text))
	return filled.Bytes(), err
}

// contentSecurityPolicy lets the page run this server's code only, and connect to this
// server and to the issuer's token endpoint only.
func contentSecurityPolicy(found Endpoints) string {
	connect := "'self'"
	if token, err := url.Parse(found.Token); err == nil && token.Host != "" {
		connect += " " + token.Scheme + "://" + token.Host
	}
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src " + connect +
		"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
}

// serveAsset serves a file whose name contains its hash, in the best encoding that the
// caller accepts.
func serveAsset(w http.ResponseWriter, r *http.Request) {
	name := "dist/assets/" + path.Base(r.PathValue("file"))
	compressed, err := fs.ReadFile(dist, name+".gz")
	if err != nil {
		http.NotFound(w, r)
		return
	}
	header, accepted := w.Header(), r.Header.Get("Accept-Encoding")
	header.Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
	header.Set("Cache-Control", "public, max-age=31536000, immutable")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Vary", "Accept-Encoding")
	switch {
	case accepts(accepted, "br"):
		if compressed, err = fs.ReadFile(dist, name+".br"); err != nil {
			http.NotFound(w, r)
			return
		}
		header.Set("Content-Encoding", "br")
	case accepts(accepted, "gzip"):
		header.Set("Content-Encoding", "gzip")
	default:
		if plain, err := gzip.NewReader(bytes.NewReader(compressed)); err == nil {
			_, _ = io.Copy(w, plain) //nolint:gosec // our own file
		}
		return
	}
	_, _ = w.Write(compressed) //nolint:gosec // our own file
}

// accepts reports whether an Accept-Encoding header names a coding and does not refuse it.
func accepts(header, coding string) bool {
	for part := range strings.SplitSeq(header, ",") {
		name, weight, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.TrimSpace(name) == coding {
			q := strings.ReplaceAll(weight, " ", "")
			return q != "q=0" && q != "q=0.0" && q != "q=0.00" && q != "q=0.000"
		}
	}
	return false
}
