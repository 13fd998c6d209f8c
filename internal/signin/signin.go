// Package signin guarantees that whoever reaches an operators' page in a browser
// was signed in by the issuer as an operator, within the hour, and meant to press
// what they pressed. A browser sends no bearer token when somebody follows a link,
// so the token of an authorization code with PKCE (RFC 7636) is judged once, by the
// verifier that judges every caller's, and becomes a sealed cookie.
package signin

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"parapet/internal/visit"
	"parapet/model"
)

// Path is the operators' page; everything behind the sign-in is below.
const Path = "/ops"

const (
	enterPath = Path + "/sign-in"
	backPath  = Path + "/callback"
	leavePath = Path + "/sign-out"
)

const (
	// sessionLife bounds a sign-in: the issuer does not say when somebody stops being an
	// operator, so it is asked again every hour.
	sessionLife = time.Hour
	signInLife  = 10 * time.Minute // to type a password and find the second factor
	issuerTime  = 10 * time.Second
)

// Config is what the sign-in stands on.
type Config struct {
	Issuer string // signs people in; its access tokens are judged by the visit
	Client string // OAuth client, which returns to /ops/callback
	Secret string // of the client; empty for a public one
	// More is what this issuer wants to be asked with besides, so that its access token
	// is one for us: a resource, an audience, or scopes of its own.
	More url.Values
	// Origin is this server as browsers see it, such as https://api.example.com; empty
	// takes what the request names.
	Origin string
	Keys   [][]byte // 32 bytes each: the first seals cookies, all open them
	// Plain lets cookies go over http, for a server on this machine. For development.
	Plain bool
	Now   func() time.Time
	HTTP  *http.Client // to reach the issuer; nil means one that follows no redirect
	Links []Link       // what the operators' page leads to
	// Sessions ends sessions before they expire, on every node. Required.
	Sessions Sessions
	// Heard is told of who signed in, and of who was refused with why; nil tells nobody.
	Heard func(ctx context.Context, who model.Actor, refused error)
}

// Sessions remembers which sessions were ended. Its methods may be called from several
// goroutines.
type Sessions interface {
	EndSession(ctx context.Context, id string, expiresAt time.Time) error
	SessionEnded(ctx context.Context, id string) (bool, error)
}

// Link leads to a page behind the sign-in.
type Link struct{ Path, Title, About string }

// Desk signs operators in. Its methods may be called from several goroutines.
type Desk struct {
	config  Config
	sealing sealing
	origins *http.CrossOriginProtection

	mu       sync.Mutex
	provider *oidc.Provider // nil until the issuer answered
}

// New makes a desk. It asks the issuer nothing yet, so a service starts while its
// issuer is down.
func New(config Config) (*Desk, error) {
	if config.Issuer == "" || config.Client == "" || config.Now == nil || config.Sessions == nil {
		return nil, errors.New("sign-in needs an issuer, a client, a clock and a store of ended sessions")
	}
	if config.HTTP == nil {
		config.HTTP = &http.Client{Timeout: issuerTime, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	d := &Desk{config: config, origins: http.NewCrossOriginProtection()}
	if config.Origin != "" {
		if err := d.origins.AddTrustedOrigin(config.Origin); err != nil {
			return nil, fmt.Errorf("sign-in: %w", err)
		}
	}
	d.origins.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		show(w, http.StatusForbidden, content{Title: "Refused", Text: "Another site asked for this. Nothing was done."})
	}))
	var err error
	d.sealing, err = newSealing(config.Keys)
	return d, err
}

// Doors are the pages of the sign-in itself, by address.
func (d *Desk) Doors() map[string]http.Handler {
	return map[string]http.Handler{
		"GET " + Path:       d.Guard(http.HandlerFunc(d.welcome)),
		"GET " + enterPath:  http.HandlerFunc(d.enter),
		"GET " + backPath:   http.HandlerFunc(d.back),
		"POST " + leavePath: d.origins.Handler(http.HandlerFunc(d.leave)),
	}
}

func (d *Desk) welcome(w http.ResponseWriter, r *http.Request) {
	who, _ := Operator(r.Context())
	show(w, http.StatusOK, content{Title: "Operators' desk", Who: who.Name, Until: who.Until, Links: d.config.Links, Leave: leavePath})
}

// enter begins a sign-in: state ties the answer to this browser, nonce the ID token
// to this sign-in, and PKCE the code.
func (d *Desk) enter(w http.ResponseWriter, r *http.Request) {
	oauth, _, err := d.client(r)
	if err != nil {
		d.fail(w, r, http.StatusServiceUnavailable, "The issuer does not answer. Try again in a minute.", err)
		return
	}
	query := r.URL.Query()
	p := pending{
		State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), To: inside(query.Get("to")),
		Until: d.config.Now().Add(signInLife),
	}
	options := append(d.more(), oidc.Nonce(p.Nonce), oauth2.S256ChallengeOption(p.Verifier))
	if query.Has("again") {
		options = append(options, oauth2.SetAuthURLParam("prompt", "select_account"))
	}
	if err := d.write(w, pendingCookie, p, p.Until); err != nil {
		d.fail(w, r, http.StatusInternalServerError, "The sign-in could not begin.", err)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, oauth.AuthCodeURL(p.State, options...), http.StatusSeeOther) //nolint:gosec // to the configured issuer
}

// back ends a sign-in. What was begun is good for one answer.
func (d *Desk) back(w http.ResponseWriter, r *http.Request) {
	var p pending
	known := d.read(r, pendingCookie, &p)
	d.drop(w, pendingCookie)
	query := r.URL.Query()
	switch {
	case !known || !d.config.Now().Before(p.Until) || query.Get("state") != p.State || cmp.Or(query.Get("iss"), d.config.Issuer) != d.config.Issuer:
		d.fail(w, r, http.StatusBadRequest, "This sign-in was not begun in this browser, or too long ago.", nil)
		return
	case query.Get("code") == "":
		d.fail(w, r, http.StatusForbidden, "The issuer did not sign you in.", nil)
		return
	}
	who, err := d.redeem(r, p, query.Get("code"))
	if err == nil && who.Kind != model.ActorOperator {
		err = model.Fail(model.CodeInsufficientScope, "These pages are for operators: the scope %s is missing.", model.ScopeOperator)
	}
	if d.config.Heard != nil {
		d.config.Heard(r.Context(), who, err)
	}
	if err != nil {
		d.refuse(w, r, err)
		return
	}
	until := d.config.Now().Add(sessionLife)
	if !who.Until.IsZero() && who.Until.Before(until) {
		until = who.Until
	}
	if err := d.write(w, sessionCookie, session{ID: rand.Text(), Issuer: who.Issuer, Subject: who.Subject, Client: who.Client, Until: until}, until); err != nil {
		d.fail(w, r, http.StatusInternalServerError, "The sign-in could not be kept.", err)
		return
	}
	http.Redirect(w, r, p.To, http.StatusSeeOther)
}

// redeem exchanges the code, checks the receipt (the ID token) and has the
// permission (the access token) judged as every caller's is.
func (d *Desk) redeem(r *http.Request, p pending, code string) (model.Actor, error) {
	oauth, provider, err := d.client(r)
	if err != nil {
		return model.Actor{}, err
	}
	ctx := oidc.ClientContext(r.Context(), d.config.HTTP)
	token, err := oauth.Exchange(ctx, code, append(d.more(), oauth2.VerifierOption(p.Verifier))...)
	if err != nil {
		return model.Actor{}, fmt.Errorf("redeem code: %w", err)
	}
	raw, _ := token.Extra("id_token").(string)
	receipt, err := provider.Verifier(&oidc.Config{ClientID: d.config.Client, Now: d.config.Now}).Verify(ctx, raw)
	if err != nil {
		return model.Actor{}, fmt.Errorf("id token: %w", err)
	}
	if receipt.Nonce != p.Nonce {
		return model.Actor{}, errors.New("id token: it is of another sign-in")
	}
	return visit.From(r.Context()).AdmitBy(r.Context(), "Bearer "+token.AccessToken)
}

// more is said to the issuer with both requests (RFC 8707 section 2).
func (d *Desk) more() (options []oauth2.AuthCodeOption) {
	for name := range d.config.More {
		options = append(options, oauth2.SetAuthURLParam(name, d.config.More.Get(name)))
	}
	return options
}

// leave ends the session on every node, so that a copy of the cookie opens nothing.
func (d *Desk) leave(w http.ResponseWriter, r *http.Request) {
	if s, known := d.session(r); known {
		if err := d.config.Sessions.EndSession(r.Context(), s.ID, s.Until); err != nil {
			d.fail(w, r, http.StatusServiceUnavailable, "You could not be signed out. Try again in a minute.", err)
			return
		}
	}
	d.drop(w, sessionCookie)
	show(w, http.StatusOK, content{Title: "Signed out", Text: "You are signed out here. The issuer may still know you.", Enter: enterPath + "?again"})
}

// client is the OAuth client as the issuer describes itself, asked once.
func (d *Desk) client(r *http.Request) (*oauth2.Config, *oidc.Provider, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.provider == nil {
		provider, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(r.Context()), d.config.HTTP), d.config.Issuer)
		if err != nil {
			return nil, nil, fmt.Errorf("discover issuer: %w", err)
		}
		d.provider = provider
	}
	endpoint := d.provider.Endpoint()
	if d.config.Secret == "" {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return &oauth2.Config{
		ClientID: d.config.Client, ClientSecret: d.config.Secret, Endpoint: endpoint, RedirectURL: d.origin(r) + backPath,
		Scopes: []string{oidc.ScopeOpenID, string(model.ScopeOperator)},
	}, d.provider, nil
}

func (d *Desk) origin(r *http.Request) string {
	switch {
	case d.config.Origin != "":
		return strings.TrimSuffix(d.config.Origin, "/")
	case r.TLS != nil:
		return "https://" + r.Host
	default:
		return "http://" + r.Host
	}
}

// inside is where to go after the sign-in: a page of ours, whatever was asked for.
func inside(to string) string {
	if parsed, err := url.Parse(to); err == nil && parsed.Scheme == "" && parsed.Host == "" && strings.HasPrefix(parsed.Path, Path+"/") && !strings.Contains(to, `\`) {
		return to
	}
	return Path
}
