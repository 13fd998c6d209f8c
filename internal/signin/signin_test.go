package signin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/internal/auth"
	"parapet/internal/devissuer"
	"parapet/internal/gateway"
	"parapet/internal/signin"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
)

const audience = "parapet"

// testSite is an issuer, an operator UI with one page, and a clock.
type testSite struct {
	*devissuer.Issuer
	config       signin.Config
	uiServer     *httptest.Server
	clockOffset  atomic.Int64                   // nanoseconds that the clock is ahead
	falsifyToken func(map[string]any)           // changes the token response; nil changes nothing
	onSignIn     func(who actor.Actor, e error) // receives the result of a sign-in; may be nil
	tokenForm    url.Values                     // with the last request for a token

	sessions testSessions
}

// testSessions are the ended sessions, shared by two nodes.
type testSessions struct {
	ended sync.Map
	down  atomic.Bool
}

var errSessionsDown = errors.New("the database is away")

func (s *testSessions) EndSession(_ context.Context, id string, _ time.Time) error {
	if s.down.Load() {
		return errSessionsDown
	}
	s.ended.Store(id, true)
	return nil
}

func (s *testSessions) IsSessionEnded(_ context.Context, id string) (bool, error) {
	if s.down.Load() {
		return false, errSessionsDown
	}
	_, ended := s.ended.Load(id)
	return ended, nil
}

func (w *testSite) now() time.Time { return time.Now().Add(time.Duration(w.clockOffset.Load())) }

func newTestSite(t *testing.T) *testSite {
	t.Helper()
	w := &testSite{}
	mux := http.NewServeMux()
	issuer := httptest.NewServer(mux)
	t.Cleanup(issuer.Close)
	var err error
	scopes := []string{"operator", "quotes:read", "observations:write"}
	w.Issuer, err = devissuer.New(devissuer.Options{
		Issuer: issuer.URL, Audience: audience, Now: w.now, TokenLifetime: 8 * time.Hour,
		Clients: []devissuer.Client{{ID: "console", Scopes: scopes, AnyLoopback: true}},
		Users: []devissuer.User{
			{Name: "olga", Scopes: []string{"operator"}},
			{Name: "acme", Scopes: []string{"quotes:read"}, Partner: "acme"},
			{Name: "source", Scopes: []string{"observations:write"}},
			{Name: "unscoped"},
		},
	})
	require.NoError(t, err)
	mux.Handle("/", w.Handler())
	mux.HandleFunc("POST /token", w.serveToken)
	w.config = signin.Config{
		Issuer: issuer.URL, Client: "console", Keys: [][]byte{bytes.Repeat([]byte{1}, 32)}, InsecureCookies: true, Now: w.now,
		Links: []signin.Link{{Path: "/ops/page", Title: "A page"}}, Sessions: &w.sessions,
		OnSignIn: func(_ context.Context, who actor.Actor, refused error) {
			if w.onSignIn != nil {
				w.onSignIn(who, refused)
			}
		},
	}
	w.serveUI(t)
	return w
}

// serveUI serves an operator UI with the current configuration.
func (w *testSite) serveUI(t *testing.T) {
	t.Helper()
	ui, err := signin.New(w.config)
	require.NoError(t, err)
	verifier, err := auth.New(auth.Config{Issuers: []string{w.config.Issuer}, Audience: audience, Now: w.now})
	require.NoError(t, err)
	mux := http.NewServeMux()
	for address, handler := range ui.Handlers() {
		mux.Handle(address, handler)
	}
	mux.Handle("/ops/page", ui.Guard(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		who, _ := signin.Operator(r.Context())
		_, _ = io.WriteString(rw, string(who.Kind)+" "+who.Name+" by "+who.Client)
	})))
	w.uiServer = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		mux.ServeHTTP(rw, r.WithContext(gateway.NewContext(r.Context(), &gateway.Request{
			AuthenticateWith: func(ctx context.Context, by string) (actor.Actor, error) {
				return verifier.Verify(ctx, strings.TrimPrefix(by, "Bearer "))
			},
			SetActor: func(actor.Actor) {}, LogCause: func(error) {},
		})))
	}))
	t.Cleanup(w.uiServer.Close)
}

// serveToken serves the issuer's token response, changed by falsifyToken.
func (w *testSite) serveToken(rw http.ResponseWriter, r *http.Request) {
	recorded := httptest.NewRecorder()
	_ = r.ParseForm()
	w.tokenForm = r.PostForm
	w.Handler().ServeHTTP(recorded, r)
	var answer map[string]any
	if w.falsifyToken == nil || json.Unmarshal(recorded.Body.Bytes(), &answer) != nil {
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(recorded.Code)
		_, _ = rw.Write(recorded.Body.Bytes())
		return
	}
	w.falsifyToken(answer)
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(answer)
}

// browser keeps cookies and follows no redirect by itself.
type browser struct {
	t      *testing.T
	site   *testSite
	client *http.Client
}

func (w *testSite) newBrowser(t *testing.T) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return &browser{t, w, &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// reply is an answer whose text was read.
type reply struct {
	status   int
	header   http.Header
	finalURL *url.URL // of the last request
	cookies  []*http.Cookie
}

// sendRequest sends a request and reads the text of its response.
func (b *browser) sendRequest(method, address string, form url.Values, headers ...string) (reply, string) {
	b.t.Helper()
	if strings.HasPrefix(address, "/") {
		address = b.site.uiServer.URL + address
	}
	request, err := http.NewRequestWithContext(b.t.Context(), method, address, strings.NewReader(form.Encode()))
	require.NoError(b.t, err)
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	answer, err := b.client.Do(request)
	require.NoError(b.t, err)
	text, err := io.ReadAll(answer.Body)
	require.NoError(b.t, err)
	require.NoError(b.t, answer.Body.Close())
	return reply{answer.StatusCode, answer.Header, answer.Request.URL, answer.Cookies()}, string(text)
}

// startSignIn opens a page and chooses a name at the issuer; it returns the address to
// which the issuer redirects the browser.
func (b *browser) startSignIn(user, page string) *url.URL {
	b.t.Helper()
	answer, _ := b.sendRequest(http.MethodGet, page, nil)
	require.Equal(b.t, http.StatusSeeOther, answer.status)
	require.Equal(b.t, "/ops/sign-in?to="+url.QueryEscape(page), answer.header.Get("Location"))
	answer, _ = b.sendRequest(http.MethodGet, answer.header.Get("Location"), nil)
	require.Equal(b.t, http.StatusSeeOther, answer.status)
	asked, err := url.Parse(answer.header.Get("Location"))
	require.NoError(b.t, err)
	query := asked.Query()
	require.Equal(b.t, "S256", query.Get("code_challenge_method"))
	require.Len(b.t, query.Get("code_challenge"), 43)
	require.NotEmpty(b.t, query.Get("state"))
	require.NotEmpty(b.t, query.Get("nonce"))
	query.Set("user", user)
	answer, text := b.sendRequest(http.MethodPost, b.site.config.Issuer+"/authorize", query)
	require.Equal(b.t, http.StatusSeeOther, answer.status, text)
	back, err := url.Parse(answer.header.Get("Location"))
	require.NoError(b.t, err)
	return back
}

func (b *browser) signIn(user string) (reply, string) {
	b.t.Helper()
	return b.sendRequest(http.MethodGet, b.startSignIn(user, "/ops/page").String(), nil)
}

func TestAnOperatorSignsIn(t *testing.T) {
	t.Parallel()
	w := newTestSite(t)
	b := w.newBrowser(t)
	answer, text := b.signIn("olga")
	require.Equal(t, http.StatusSeeOther, answer.status, text)
	require.Equal(t, "/ops/page", answer.header.Get("Location"))
	for _, cookie := range answer.cookies {
		require.True(t, cookie.HttpOnly)
		require.Equal(t, http.SameSiteLaxMode, cookie.SameSite)
		require.Equal(t, "/ops", cookie.Path)
		require.LessOrEqual(t, cookie.MaxAge, 3600)
		require.NotContains(t, cookie.Value, "olga")
	}
	_, text = b.sendRequest(http.MethodGet, "/ops/page", nil)
	require.Equal(t, "operator olga by console", text)
	answer, text = b.sendRequest(http.MethodGet, "/ops", nil)
	require.Equal(t, http.StatusOK, answer.status)
	require.Contains(t, text, `href="/ops/page"`)
	require.Contains(t, answer.header.Get("Content-Security-Policy"), "default-src 'none'")

	w.clockOffset.Add(int64(time.Hour))
	answer, _ = b.sendRequest(http.MethodGet, "/ops/page", nil)
	require.Equal(t, http.StatusSeeOther, answer.status, "a sign-in lasts an hour")
	answer, _ = b.sendRequest(http.MethodGet, "/ops/page", nil, "Sec-Fetch-Dest", "empty")
	require.Equal(t, http.StatusUnauthorized, answer.status, "a script cannot follow to the issuer")
}

func TestCookiesAreSecureOutsideDevelopment(t *testing.T) {
	t.Parallel()
	w := newTestSite(t)
	w.config.InsecureCookies = false
	w.serveUI(t)
	answer, _ := w.newBrowser(t).sendRequest(http.MethodGet, "/ops/sign-in", nil)
	require.Len(t, answer.cookies, 1)
	require.True(t, answer.cookies[0].Secure)
	require.Contains(t, answer.cookies[0].Name, "__Secure-")
}

func TestOnlyOperatorsCanSignIn(t *testing.T) {
	t.Parallel()
	w := newTestSite(t)
	heard := map[string]error{}
	w.onSignIn = func(who actor.Actor, err error) { heard[who.Partner] = err }
	for _, user := range []string{"acme", "source", "unscoped"} {
		b := w.newBrowser(t)
		answer, text := b.signIn(user)
		require.Equal(t, http.StatusForbidden, answer.status, user)
		require.Contains(t, text, "Not for you")
		answer, _ = b.sendRequest(http.MethodGet, "/ops/page", nil)
		require.Equal(t, http.StatusSeeOther, answer.status, user)
	}
	require.Equal(t, apperr.CodeInsufficientScope, apperr.CodeOf(heard["acme"]))
}

func TestCallbackRequiresItsOwnSignIn(t *testing.T) {
	t.Parallel()
	w := newTestSite(t)
	victim, attacker := w.newBrowser(t), w.newBrowser(t)
	stolen := attacker.startSignIn("olga", "/ops/page")

	answer, _ := victim.sendRequest(http.MethodGet, stolen.String(), nil)
	require.Equal(t, http.StatusBadRequest, answer.status, "nothing was begun in this browser")

	victim.startSignIn("olga", "/ops/page")
	answer, _ = victim.sendRequest(http.MethodGet, stolen.String(), nil)
	require.Equal(t, http.StatusBadRequest, answer.status, "the state is another's")

	own := victim.startSignIn("olga", "/ops/page")
	query := own.Query()
	query.Set("code", stolen.Query().Get("code"))
	own.RawQuery = query.Encode()
	answer, _ = victim.sendRequest(http.MethodGet, own.String(), nil)
	require.Equal(t, http.StatusForbidden, answer.status, "the code's challenge is another's")
	answer, _ = victim.sendRequest(http.MethodGet, own.String(), nil)
	require.Equal(t, http.StatusBadRequest, answer.status, "what was begun is good for one answer")

	own = victim.startSignIn("olga", "/ops/page")
	query = own.Query()
	query.Set("iss", "https://elsewhere.example")
	own.RawQuery = query.Encode()
	answer, _ = victim.sendRequest(http.MethodGet, own.String(), nil)
	require.Equal(t, http.StatusBadRequest, answer.status, "another issuer answers")

	late := victim.startSignIn("olga", "/ops/page")
	w.clockOffset.Add(int64(11 * time.Minute))
	answer, _ = victim.sendRequest(http.MethodGet, late.String(), nil)
	require.Equal(t, http.StatusBadRequest, answer.status, "it was begun too long ago")
}

func TestIDTokenIsVerified(t *testing.T) {
	t.Parallel()
	receipt := func(w *testSite, change map[string]any) func(map[string]any) {
		return func(answer map[string]any) {
			claims := map[string]any{
				"iss": w.config.Issuer, "aud": "console", "sub": "olga",
				"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
			}
			for name, value := range change {
				claims[name] = value
			}
			answer["id_token"], _ = w.Sign("JWT", claims)
		}
	}
	for name, lie := range map[string]func(*testSite) func(map[string]any){
		"without a nonce": func(w *testSite) func(map[string]any) { return receipt(w, nil) },
		"another's nonce": func(w *testSite) func(map[string]any) { return receipt(w, map[string]any{"nonce": "another"}) },
		"another client":  func(w *testSite) func(map[string]any) { return receipt(w, map[string]any{"aud": "else"}) },
		"none": func(*testSite) func(map[string]any) {
			return func(answer map[string]any) { delete(answer, "id_token") }
		},
		"a receipt for a permission": func(*testSite) func(map[string]any) {
			return func(answer map[string]any) { answer["access_token"] = answer["id_token"] }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTestSite(t)
			w.falsifyToken = lie(w)
			answer, _ := w.newBrowser(t).signIn("olga")
			require.Equal(t, http.StatusForbidden, answer.status)
		})
	}
}

func TestCrossSiteRequestsAreRefused(t *testing.T) {
	t.Parallel()
	w := newTestSite(t)
	b := w.newBrowser(t)
	b.signIn("olga")
	for _, headers := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"}} {
		for _, address := range []string{"/ops/page", "/ops/sign-out"} {
			answer, _ := b.sendRequest(http.MethodPost, address, url.Values{}, headers...)
			require.Equal(t, http.StatusForbidden, answer.status, headers)
		}
	}
	answer, _ := b.sendRequest(http.MethodPost, "/ops/page", url.Values{}, "Sec-Fetch-Site", "same-origin")
	require.Equal(t, http.StatusOK, answer.status)
}

func TestSignOutEndsTheSession(t *testing.T) {
	t.Parallel()
	w := newTestSite(t)
	address, err := url.Parse(w.uiServer.URL + "/ops")
	require.NoError(t, err)
	b, other := w.newBrowser(t), w.newBrowser(t)
	b.signIn("olga")
	other.signIn("olga")
	copied := b.client.Jar.Cookies(address)[0]
	open := func() int {
		answer, _ := w.newBrowser(t).sendRequest(http.MethodGet, "/ops/page", nil, "Cookie", copied.Name+"="+copied.Value)
		return answer.status
	}
	require.Equal(t, http.StatusOK, open())

	w.sessions.down.Store(true)
	require.Equal(t, http.StatusServiceUnavailable, open(), "a session that cannot be checked opens nothing")
	answer, _ := b.sendRequest(http.MethodPost, "/ops/sign-out", url.Values{}, "Sec-Fetch-Site", "same-origin")
	require.Equal(t, http.StatusServiceUnavailable, answer.status)
	w.sessions.down.Store(false)
	require.Equal(t, http.StatusOK, open(), "nothing was ended, and the page said so")

	answer, _ = b.sendRequest(http.MethodPost, "/ops/sign-out", url.Values{}, "Sec-Fetch-Site", "same-origin")
	require.Equal(t, http.StatusOK, answer.status)
	require.Equal(t, http.StatusSeeOther, open())
	answer, _ = b.sendRequest(http.MethodGet, "/ops/page", nil)
	require.Equal(t, http.StatusSeeOther, answer.status)
	answer, _ = other.sendRequest(http.MethodGet, "/ops/page", nil)
	require.Equal(t, http.StatusOK, answer.status, "another session of the same person goes on")
	answer, _ = w.newBrowser(t).sendRequest(http.MethodPost, "/ops/sign-out", url.Values{}, "Sec-Fetch-Site", "same-origin")
	require.Equal(t, http.StatusOK, answer.status, "who is not signed in may sign out")
}

func TestForeignCookiesAreIgnored(t *testing.T) {
	t.Parallel()
	w := newTestSite(t)
	b := w.newBrowser(t)
	b.signIn("olga")
	address, err := url.Parse(w.uiServer.URL + "/ops")
	require.NoError(t, err)
	session := b.client.Jar.Cookies(address)
	require.Len(t, session, 1)

	w.config.Keys = [][]byte{bytes.Repeat([]byte{2}, 32), bytes.Repeat([]byte{1}, 32)}
	w.serveUI(t)
	try := func(cookie *http.Cookie) int {
		answer, _ := w.newBrowser(t).sendRequest(http.MethodGet, "/ops/page", nil, "Cookie", cookie.Name+"="+cookie.Value)
		return answer.status
	}
	require.Equal(t, http.StatusOK, try(session[0]), "an older key still opens")
	for _, value := range []string{"", "x", session[0].Value[1:], session[0].Value + "AAAA", strings.ToUpper(session[0].Value)} {
		require.Equal(t, http.StatusSeeOther, try(&http.Cookie{Name: session[0].Name, Value: value}))
	}
	answer, _ := w.newBrowser(t).sendRequest(http.MethodGet, "/ops/sign-in", nil)
	require.Equal(t, http.StatusSeeOther, try(&http.Cookie{Name: session[0].Name, Value: answer.cookies[0].Value}), "one cookie passes for another")
}

func TestSignInRedirectsOnlyToLocalPages(t *testing.T) {
	t.Parallel()
	w := newTestSite(t)
	for _, to := range []string{"https://evil.example/ops/", "//evil.example/ops/", `/ops/\evil.example`, `/\evil.example`, "/v1/quotes", "javascript:alert(1)", ""} {
		b := w.newBrowser(t)
		answer, _ := b.sendRequest(http.MethodGet, "/ops/sign-in?to="+url.QueryEscape(to), nil)
		asked, err := url.Parse(answer.header.Get("Location"))
		require.NoError(t, err)
		query := asked.Query()
		query.Set("user", "olga")
		answer, _ = b.sendRequest(http.MethodPost, w.config.Issuer+"/authorize", query)
		answer, _ = b.sendRequest(http.MethodGet, answer.header.Get("Location"), nil)
		require.Equal(t, "/ops", answer.header.Get("Location"), to)
	}
}

// Many issuers return a token for an API only if the client requests it.
func TestAuthParamsAreSentToTheIssuer(t *testing.T) {
	t.Parallel()
	w := newTestSite(t)
	w.config.AuthParams = url.Values{"resource": {"urn:parapet"}}
	w.serveUI(t)
	b := w.newBrowser(t)
	answer, _ := b.sendRequest(http.MethodGet, "/ops/sign-in", nil)
	asked, err := url.Parse(answer.header.Get("Location"))
	require.NoError(t, err)
	require.Equal(t, "urn:parapet", asked.Query().Get("resource"))
	require.Equal(t, "openid operator", asked.Query().Get("scope"))
	answer, text := b.signIn("olga")
	require.Equal(t, http.StatusSeeOther, answer.status, text)
	require.Equal(t, "urn:parapet", w.tokenForm.Get("resource"))
}
