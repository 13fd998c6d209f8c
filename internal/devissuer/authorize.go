package devissuer

import (
	"crypto/rand"
	_ "embed"
	"html/template"
	"maps"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	codeLifetime    = time.Minute
	maxPendingCodes = 1000 // codes waiting at once; more is an attempt to exhaust memory
)

// authorizationRequest is a sign-in request whose client and redirect address are valid.
type authorizationRequest struct {
	client    Client
	redirect  string
	state     string
	nonce     string
	challenge string
	scope     string
}

// codeGrant is the grant behind an authorization code.
type codeGrant struct {
	request   authorizationRequest
	identity  identity
	scopes    []string
	expiresAt time.Time
}

//go:embed signin.html
var signInText string

var signInPage = template.Must(template.New("signin").Parse(signInText))

// formContent is the content of the sign-in form, or an error.
type formContent struct {
	Client   string
	Scopes   []string
	Users    []User
	Password bool // a user has a password
	Failed   bool
	Refused  string            // error shown instead of the form
	Hidden   map[string]string // the request's parameters, passed through the form
}

func (i *Issuer) showForm(w http.ResponseWriter, r *http.Request) {
	asked, ok := i.readAuthorizationRequest(w, r, r.URL.Query())
	if ok {
		i.renderForm(w, http.StatusOK, i.newFormContent(asked))
	}
}

// submitForm checks the form and redirects the browser with a code.
func (i *Issuer) submitForm(w http.ResponseWriter, r *http.Request) {
	form, refused := readForm(r)
	if refused != nil {
		i.renderForm(w, http.StatusBadRequest, formContent{Refused: refused.Description})
		return
	}
	asked, ok := i.readAuthorizationRequest(w, r, form)
	if !ok {
		return
	}
	user, known := i.users[form.Get("user")]
	if same := equalSecrets(form.Get("password"), user.Password); !known || user.Password != "" && !same {
		again := i.newFormContent(asked)
		again.Failed = true
		i.renderForm(w, http.StatusUnauthorized, again)
		return
	}
	allowed := append([]string{"openid"}, user.Scopes...)
	scopes := slices.DeleteFunc(asked.requestedScopes(), func(scope string) bool { return !slices.Contains(allowed, scope) })
	who := identity{subject: user.Name, partner: user.Partner, signedInAt: i.options.Now()}
	code, ok := i.saveCode(codeGrant{request: asked, identity: who, scopes: scopes})
	if !ok {
		i.redirectToClient(w, r, asked, url.Values{"error": {"temporarily_unavailable"}})
		return
	}
	i.redirectToClient(w, r, asked, url.Values{"code": {code}})
}

// challengePattern matches an S256 challenge: SHA-256 in base64url.
var challengePattern = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// readAuthorizationRequest writes the response and returns false when the sign-in cannot
// continue. While the client or the address is not validated it does not redirect (RFC
// 6749 section 4.1.2.1); later errors are redirected to the client.
func (i *Issuer) readAuthorizationRequest(w http.ResponseWriter, r *http.Request, form url.Values) (authorizationRequest, bool) {
	client, known := i.clients[form.Get("client_id")]
	asked := authorizationRequest{
		client: client, redirect: form.Get("redirect_uri"), state: form.Get("state"), nonce: form.Get("nonce"),
		challenge: form.Get("code_challenge"), scope: form.Get("scope"),
	}
	if !known || !client.allowsRedirect(asked.redirect) {
		i.renderForm(w, http.StatusBadRequest, formContent{Refused: "The client is unknown, or the address to return to is not one of its own."})
		return asked, false
	}
	code, description := "", ""
	switch {
	case form.Get("response_type") != "code":
		code, description = "unsupported_response_type", "The response_type is code."
	case form.Get("code_challenge_method") != "S256" || !challengePattern.MatchString(asked.challenge):
		code, description = "invalid_request", "PKCE with S256 is required."
	default:
		if _, refused := restrictScopes(asked.scope, append([]string{"openid"}, client.Scopes...)); refused != nil {
			code, description = refused.Code, refused.Description
		}
	}
	if code == "" {
		return asked, true
	}
	i.redirectToClient(w, r, asked, url.Values{"error": {code}, "error_description": {description}})
	return asked, false
}

// requestedScopes returns the requested scopes, or all scopes of the client without a
// request.
func (r authorizationRequest) requestedScopes() []string {
	scopes, _ := restrictScopes(r.scope, append([]string{"openid"}, r.client.Scopes...))
	return slices.Clone(scopes)
}

// allowsRedirect compares exactly, except for the port of a public client's loopback
// address, which the system chooses (RFC 8252 section 7.3).
func (c Client) allowsRedirect(redirect string) bool {
	if redirect == "" {
		return false
	}
	if target, err := url.Parse(redirect); c.AnyLoopback && err == nil && target.Scheme == "http" && target.User == nil && target.Fragment == "" && isLoopback(target.Hostname()) {
		return true
	}
	return slices.ContainsFunc(c.RedirectURIs, func(registered string) bool {
		return redirect == registered || c.Secret == "" && isSameLoopback(redirect, registered)
	})
}

func isSameLoopback(redirect, registered string) bool {
	a, errA := url.Parse(redirect)
	b, errB := url.Parse(registered)
	if errA != nil || errB != nil || a.Scheme != "http" || a.User != nil || !isLoopback(a.Hostname()) {
		return false
	}
	a.Host, b.Host = a.Hostname(), b.Hostname()
	return a.String() == b.String()
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// redirectToClient redirects to the client. It adds the issuer's name (RFC 9207), so that
// a client of several issuers cannot receive another issuer's code.
func (i *Issuer) redirectToClient(w http.ResponseWriter, r *http.Request, asked authorizationRequest, result url.Values) {
	target, err := url.Parse(asked.redirect)
	if err != nil {
		i.renderForm(w, http.StatusBadRequest, formContent{Refused: "The address to return to is not a URL."})
		return
	}
	query := target.Query()
	maps.Copy(query, result)
	query.Set("iss", i.options.Issuer)
	if asked.state != "" {
		query.Set("state", asked.state)
	}
	target.RawQuery = query.Encode()
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, target.String(), http.StatusSeeOther)
}

func (i *Issuer) newFormContent(asked authorizationRequest) formContent {
	return formContent{
		Client: asked.client.ID, Scopes: asked.requestedScopes(), Users: i.options.Users,
		Password: slices.ContainsFunc(i.options.Users, func(user User) bool { return user.Password != "" }),
		Hidden: map[string]string{
			"client_id": asked.client.ID, "redirect_uri": asked.redirect, "response_type": "code", "scope": asked.scope,
			"state": asked.state, "nonce": asked.nonce, "code_challenge": asked.challenge, "code_challenge_method": "S256",
		},
	}
}

func (i *Issuer) renderForm(w http.ResponseWriter, status int, content formContent) {
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
	// No form-action: browsers apply it to the redirect that follows the form.
	header.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'")
	w.WriteHeader(status)
	_ = signInPage.Execute(w, content) // an error means that the reader has left
}

// saveCode stores a grant under a new code of 128 random bits.
func (i *Issuer) saveCode(granted codeGrant) (string, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := i.options.Now()
	maps.DeleteFunc(i.codes, func(_ string, old codeGrant) bool { return !now.Before(old.expiresAt) })
	if len(i.codes) >= maxPendingCodes {
		return "", false
	}
	granted.expiresAt = now.Add(codeLifetime)
	code := strings.ToLower(rand.Text())
	i.codes[code] = granted
	return code, true
}

// takeCode returns a grant once.
func (i *Issuer) takeCode(code string) (codeGrant, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	granted, known := i.codes[code]
	delete(i.codes, code)
	return granted, known && i.options.Now().Before(granted.expiresAt)
}
