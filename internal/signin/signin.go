// Package signin authenticates operators in a browser: authorization code with PKCE (RFC
// 7636), verified by the same token verifier as API calls, then a sealed session cookie
// of at most one hour.
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

	"parapet/internal/gateway"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
)

// Path is the operators' page; all pages behind the sign-in are below it.
const Path = "/ops"

const (
	signInPath   = Path + "/sign-in"
	callbackPath = Path + "/callback"
	signOutPath  = Path + "/sign-out"
)

const (
	// sessionLifetime limits a sign-in: the issuer does not report when a person stops
	// being an operator, so it is asked again every hour.
	sessionLifetime = time.Hour
	signInTimeout   = 10 * time.Minute // time to enter a password and a second factor
	issuerTimeout   = 10 * time.Second
)

// Config configures the sign-in.
type Config struct {
	Issuer string // signs people in; the API's token verifier checks its access tokens
	Client string // OAuth client with the redirect address /ops/callback
	Secret string // of the client; empty for a public one
	// AuthParams are extra authorization and token parameters of the issuer, such as
	// resource or audience.
	AuthParams url.Values
	// Origin is this server's origin in browsers, such as https://api.example.com; empty
	// takes it from the request.
	Origin string
	Keys   [][]byte // 32 bytes each: the first seals cookies, all open them
	// InsecureCookies allows cookies over http, for a server on this machine. For
	// development.
	InsecureCookies bool
	Now             func() time.Time
	HTTP            *http.Client // for requests to the issuer; nil means a client that follows no redirect
	Links           []Link       // links on the operators' page
	// Sessions ends sessions before they expire, on every node. Required.
	Sessions SessionStore
	// OnSignIn is called with each signed-in person, and with each rejected one and the
	// reason; nil is allowed.
	OnSignIn func(ctx context.Context, who actor.Actor, refused error)
}

// SessionStore stores which sessions were ended. It is safe for concurrent use.
type SessionStore interface {
	EndSession(ctx context.Context, id string, expiresAt time.Time) error
	IsSessionEnded(ctx context.Context, id string) (bool, error)
}

// Link is a link to a page behind the sign-in.
type Link struct{ Path, Title, About string }

// OperatorUI signs operators in. It is safe for concurrent use.
type OperatorUI struct {
	config      Config
	cookieKeys  cookieKeys
	crossOrigin *http.CrossOriginProtection

	mu       sync.Mutex
	provider *oidc.Provider // nil until the issuer has answered
}

// New returns an operator UI. It makes no request yet, so a service starts while its
// issuer is down.
func New(config Config) (*OperatorUI, error) {
	if config.Issuer == "" || config.Client == "" || config.Now == nil || config.Sessions == nil {
		return nil, errors.New("sign-in needs an issuer, a client, a clock and a store of ended sessions")
	}
	if config.HTTP == nil {
		config.HTTP = &http.Client{Timeout: issuerTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	u := &OperatorUI{config: config, crossOrigin: http.NewCrossOriginProtection()}
	if config.Origin != "" {
		if err := u.crossOrigin.AddTrustedOrigin(config.Origin); err != nil {
			return nil, fmt.Errorf("sign-in: %w", err)
		}
	}
	u.crossOrigin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		renderPage(w, http.StatusForbidden, pageContent{Title: "Refused", Text: "Another site asked for this. Nothing was done."})
	}))
	var err error
	u.cookieKeys, err = newCookieKeys(config.Keys)
	return u, err
}

// Handlers returns the pages of the sign-in by address.
func (u *OperatorUI) Handlers() map[string]http.Handler {
	return map[string]http.Handler{
		"GET " + Path:         u.Guard(http.HandlerFunc(u.showHome)),
		"GET " + signInPath:   http.HandlerFunc(u.startSignIn),
		"GET " + callbackPath: http.HandlerFunc(u.finishSignIn),
		"POST " + signOutPath: u.crossOrigin.Handler(http.HandlerFunc(u.signOut)),
	}
}

func (u *OperatorUI) showHome(w http.ResponseWriter, r *http.Request) {
	who, _ := Operator(r.Context())
	renderPage(w, http.StatusOK, pageContent{Title: "Operators' desk", Who: who.Name, Until: who.ExpiresAt, Links: u.config.Links, Leave: signOutPath})
}

// startSignIn begins a sign-in: state ties the response to this browser, nonce ties the
// ID token to this sign-in, and PKCE ties the code to it.
func (u *OperatorUI) startSignIn(w http.ResponseWriter, r *http.Request) {
	oauth, _, err := u.oauthClient(r)
	if err != nil {
		u.renderFailure(w, r, http.StatusServiceUnavailable, "The issuer does not answer. Try again in a minute.", err)
		return
	}
	query := r.URL.Query()
	p := pendingSignIn{
		State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), To: localTarget(query.Get("to")),
		Until: u.config.Now().Add(signInTimeout),
	}
	options := append(u.authParamOptions(), oidc.Nonce(p.Nonce), oauth2.S256ChallengeOption(p.Verifier))
	if query.Has("again") {
		options = append(options, oauth2.SetAuthURLParam("prompt", "select_account"))
	}
	if err := u.setSealedCookie(w, pendingCookie, p, p.Until); err != nil {
		u.renderFailure(w, r, http.StatusInternalServerError, "The sign-in could not begin.", err)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, oauth.AuthCodeURL(p.State, options...), http.StatusSeeOther) //nolint:gosec // to the configured issuer
}

// finishSignIn completes a sign-in. A pending sign-in accepts one response.
func (u *OperatorUI) finishSignIn(w http.ResponseWriter, r *http.Request) {
	var p pendingSignIn
	known := u.openSealedCookie(r, pendingCookie, &p)
	u.deleteCookie(w, pendingCookie)
	query := r.URL.Query()
	switch {
	case !known || !u.config.Now().Before(p.Until) || query.Get("state") != p.State || cmp.Or(query.Get("iss"), u.config.Issuer) != u.config.Issuer:
		u.renderFailure(w, r, http.StatusBadRequest, "This sign-in was not begun in this browser, or too long ago.", nil)
		return
	case query.Get("code") == "":
		u.renderFailure(w, r, http.StatusForbidden, "The issuer did not sign you in.", nil)
		return
	}
	who, err := u.exchangeCode(r, p, query.Get("code"))
	if err == nil && who.Kind != actor.KindOperator {
		err = apperr.Fail(apperr.CodeInsufficientScope, "These pages are for operators: the scope %s is missing.", actor.ScopeOperator)
	}
	if u.config.OnSignIn != nil {
		u.config.OnSignIn(r.Context(), who, err)
	}
	if err != nil {
		u.renderDenial(w, r, err)
		return
	}
	until := u.config.Now().Add(sessionLifetime)
	if !who.ExpiresAt.IsZero() && who.ExpiresAt.Before(until) {
		until = who.ExpiresAt
	}
	if err := u.setSealedCookie(w, sessionCookie, session{ID: rand.Text(), Issuer: who.Issuer, Subject: who.Subject, Client: who.Client, Until: until}, until); err != nil {
		u.renderFailure(w, r, http.StatusInternalServerError, "The sign-in could not be stored.", err)
		return
	}
	http.Redirect(w, r, p.To, http.StatusSeeOther)
}

// exchangeCode exchanges the code, checks the ID token and verifies the access token like
// that of any caller.
func (u *OperatorUI) exchangeCode(r *http.Request, p pendingSignIn, code string) (actor.Actor, error) {
	oauth, provider, err := u.oauthClient(r)
	if err != nil {
		return actor.Actor{}, err
	}
	ctx := oidc.ClientContext(r.Context(), u.config.HTTP)
	token, err := oauth.Exchange(ctx, code, append(u.authParamOptions(), oauth2.VerifierOption(p.Verifier))...)
	if err != nil {
		return actor.Actor{}, fmt.Errorf("redeem code: %w", err)
	}
	raw, _ := token.Extra("id_token").(string)
	receipt, err := provider.Verifier(&oidc.Config{ClientID: u.config.Client, Now: u.config.Now}).Verify(ctx, raw)
	if err != nil {
		return actor.Actor{}, fmt.Errorf("id token: %w", err)
	}
	if receipt.Nonce != p.Nonce {
		return actor.Actor{}, errors.New("id token: it is of another sign-in")
	}
	return gateway.FromContext(r.Context()).AuthenticateWith(r.Context(), "Bearer "+token.AccessToken)
}

// authParamOptions returns the extra parameters of both requests to the issuer (RFC 8707
// section 2).
func (u *OperatorUI) authParamOptions() (options []oauth2.AuthCodeOption) {
	for name := range u.config.AuthParams {
		options = append(options, oauth2.SetAuthURLParam(name, u.config.AuthParams.Get(name)))
	}
	return options
}

// signOut ends the session on every node, so that a copy of the cookie is useless.
func (u *OperatorUI) signOut(w http.ResponseWriter, r *http.Request) {
	if s, known := u.readSession(r); known {
		if err := u.config.Sessions.EndSession(r.Context(), s.ID, s.Until); err != nil {
			u.renderFailure(w, r, http.StatusServiceUnavailable, "You could not be signed out. Try again in a minute.", err)
			return
		}
	}
	u.deleteCookie(w, sessionCookie)
	renderPage(w, http.StatusOK, pageContent{Title: "Signed out", Text: "You are signed out here. The issuer may still know you.", Enter: signInPath + "?again"})
}

// oauthClient returns the OAuth client for the issuer's endpoints, which it discovers
// once.
func (u *OperatorUI) oauthClient(r *http.Request) (*oauth2.Config, *oidc.Provider, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.provider == nil {
		provider, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(r.Context()), u.config.HTTP), u.config.Issuer)
		if err != nil {
			return nil, nil, fmt.Errorf("discover issuer: %w", err)
		}
		u.provider = provider
	}
	endpoint := u.provider.Endpoint()
	if u.config.Secret == "" {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return &oauth2.Config{
		ClientID: u.config.Client, ClientSecret: u.config.Secret, Endpoint: endpoint, RedirectURL: u.publicOrigin(r) + callbackPath,
		Scopes: []string{oidc.ScopeOpenID, string(actor.ScopeOperator)},
	}, u.provider, nil
}

func (u *OperatorUI) publicOrigin(r *http.Request) string {
	switch {
	case u.config.Origin != "":
		return strings.TrimSuffix(u.config.Origin, "/")
	case r.TLS != nil:
		return "https://" + r.Host
	default:
		return "http://" + r.Host
	}
}

// localTarget returns the page to open after the sign-in, which is always below Path.
func localTarget(to string) string {
	if parsed, err := url.Parse(to); err == nil && parsed.Scheme == "" && parsed.Host == "" && strings.HasPrefix(parsed.Path, Path+"/") && !strings.Contains(to, `\`) {
		return to
	}
	return Path
}
