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
	"parapet/internal/signin"
	"parapet/internal/visit"
	"parapet/model"
)

const audience = "parapet"

// world is an issuer, a desk in front of one page, and a clock.
type world struct {
	*devissuer.Issuer
	config signin.Config
	desk   *httptest.Server
	later  atomic.Int64                   // nanoseconds that the clock is ahead
	lie    func(map[string]any)           // about the token answer; nil is honest
	heard  func(who model.Actor, e error) // nil hears nothing
	asked  url.Values                     // with the last request for a token

	sessions sessions
}

// sessions are those that were ended, as two nodes share them.
type sessions struct {
	ended sync.Map
	down  atomic.Bool
}

var errSessionsDown = errors.New("the database is away")

func (s *sessions) EndSession(_ context.Context, id string, _ time.Time) error {
	if s.down.Load() {
		return errSessionsDown
	}
	s.ended.Store(id, true)
	return nil
}

func (s *sessions) SessionEnded(_ context.Context, id string) (bool, error) {
	if s.down.Load() {
		return false, errSessionsDown
	}
	_, ended := s.ended.Load(id)
	return ended, nil
}

func (w *world) now() time.Time { return time.Now().Add(time.Duration(w.later.Load())) }

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{}
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
			{Name: "nobody"},
		},
	})
	require.NoError(t, err)
	mux.Handle("/", w.Handler())
	mux.HandleFunc("POST /token", w.token)
	w.config = signin.Config{
		Issuer: issuer.URL, Client: "console", Keys: [][]byte{bytes.Repeat([]byte{1}, 32)}, Plain: true, Now: w.now,
		Links: []signin.Link{{Path: "/ops/page", Title: "A page"}}, Sessions: &w.sessions,
		Heard: func(_ context.Context, who model.Actor, refused error) {
			if w.heard != nil {
				w.heard(who, refused)
			}
		},
	}
	w.open(t)
	return w
}

// open serves a desk as it is configured now.
func (w *world) open(t *testing.T) {
	t.Helper()
	desk, err := signin.New(w.config)
	require.NoError(t, err)
	verifier, err := auth.New(auth.Config{Issuers: []string{w.config.Issuer}, Audience: audience, Now: w.now})
	require.NoError(t, err)
	mux := http.NewServeMux()
	for address, door := range desk.Doors() {
		mux.Handle(address, door)
	}
	mux.Handle("/ops/page", desk.Guard(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		who, _ := signin.Operator(r.Context())
		_, _ = io.WriteString(rw, string(who.Kind)+" "+who.Name+" by "+who.Client)
	})))
	w.desk = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		mux.ServeHTTP(rw, r.WithContext(visit.With(r.Context(), &visit.Visit{
			AdmitBy: func(ctx context.Context, by string) (model.Actor, error) {
				return verifier.Verify(ctx, strings.TrimPrefix(by, "Bearer "))
			},
			Known: func(model.Actor) {}, Blame: func(error) {},
		})))
	}))
	t.Cleanup(w.desk.Close)
}

// token is the issuer's, with a lie where a test wants one.
func (w *world) token(rw http.ResponseWriter, r *http.Request) {
	recorded := httptest.NewRecorder()
	_ = r.ParseForm()
	w.asked = r.PostForm
	w.Handler().ServeHTTP(recorded, r)
	var answer map[string]any
	if w.lie == nil || json.Unmarshal(recorded.Body.Bytes(), &answer) != nil {
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(recorded.Code)
		_, _ = rw.Write(recorded.Body.Bytes())
		return
	}
	w.lie(answer)
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(answer)
}

// browser keeps cookies and follows no redirect by itself.
type browser struct {
	t      *testing.T
	w      *world
	client *http.Client
}

func (w *world) browser(t *testing.T) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return &browser{t, w, &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// reply is an answer whose text was read.
type reply struct {
	status  int
	header  http.Header
	at      *url.URL // of the last request
	cookies []*http.Cookie
}

// ask is one request; its answer's text is read.
func (b *browser) ask(method, address string, form url.Values, headers ...string) (reply, string) {
	b.t.Helper()
	if strings.HasPrefix(address, "/") {
		address = b.w.desk.URL + address
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

// begin goes to a page and chooses a name at the issuer; it returns the address that
// the issuer sends the browser back to.
func (b *browser) begin(user, page string) *url.URL {
	b.t.Helper()
	answer, _ := b.ask(http.MethodGet, page, nil)
	require.Equal(b.t, http.StatusSeeOther, answer.status)
	require.Equal(b.t, "/ops/sign-in?to="+url.QueryEscape(page), answer.header.Get("Location"))
	answer, _ = b.ask(http.MethodGet, answer.header.Get("Location"), nil)
	require.Equal(b.t, http.StatusSeeOther, answer.status)
	asked, err := url.Parse(answer.header.Get("Location"))
	require.NoError(b.t, err)
	query := asked.Query()
	require.Equal(b.t, "S256", query.Get("code_challenge_method"))
	require.Len(b.t, query.Get("code_challenge"), 43)
	require.NotEmpty(b.t, query.Get("state"))
	require.NotEmpty(b.t, query.Get("nonce"))
	query.Set("user", user)
	answer, text := b.ask(http.MethodPost, b.w.config.Issuer+"/authorize", query)
	require.Equal(b.t, http.StatusSeeOther, answer.status, text)
	back, err := url.Parse(answer.header.Get("Location"))
	require.NoError(b.t, err)
	return back
}

func (b *browser) signIn(user string) (reply, string) {
	b.t.Helper()
	return b.ask(http.MethodGet, b.begin(user, "/ops/page").String(), nil)
}

func TestAnOperatorSignsIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.browser(t)
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
	_, text = b.ask(http.MethodGet, "/ops/page", nil)
	require.Equal(t, "operator olga by console", text)
	answer, text = b.ask(http.MethodGet, "/ops", nil)
	require.Equal(t, http.StatusOK, answer.status)
	require.Contains(t, text, `href="/ops/page"`)
	require.Contains(t, answer.header.Get("Content-Security-Policy"), "default-src 'none'")

	w.later.Add(int64(time.Hour))
	answer, _ = b.ask(http.MethodGet, "/ops/page", nil)
	require.Equal(t, http.StatusSeeOther, answer.status, "a sign-in lasts an hour")
	answer, _ = b.ask(http.MethodGet, "/ops/page", nil, "Sec-Fetch-Dest", "empty")
	require.Equal(t, http.StatusUnauthorized, answer.status, "a script cannot follow to the issuer")
}

func TestCookiesAreSecureOutsideDevelopment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.config.Plain = false
	w.open(t)
	answer, _ := w.browser(t).ask(http.MethodGet, "/ops/sign-in", nil)
	require.Len(t, answer.cookies, 1)
	require.True(t, answer.cookies[0].Secure)
	require.Contains(t, answer.cookies[0].Name, "__Secure-")
}

func TestWhoIsNoOperatorStaysOutside(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	heard := map[string]error{}
	w.heard = func(who model.Actor, err error) { heard[who.Partner] = err }
	for _, user := range []string{"acme", "source", "nobody"} {
		b := w.browser(t)
		answer, text := b.signIn(user)
		require.Equal(t, http.StatusForbidden, answer.status, user)
		require.Contains(t, text, "Not for you")
		answer, _ = b.ask(http.MethodGet, "/ops/page", nil)
		require.Equal(t, http.StatusSeeOther, answer.status, user)
	}
	require.Equal(t, model.CodeInsufficientScope, model.CodeOf(heard["acme"]))
}

func TestAnAnswerBelongsToTheSignInThatAskedForIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	victim, attacker := w.browser(t), w.browser(t)
	stolen := attacker.begin("olga", "/ops/page")

	answer, _ := victim.ask(http.MethodGet, stolen.String(), nil)
	require.Equal(t, http.StatusBadRequest, answer.status, "nothing was begun in this browser")

	victim.begin("olga", "/ops/page")
	answer, _ = victim.ask(http.MethodGet, stolen.String(), nil)
	require.Equal(t, http.StatusBadRequest, answer.status, "the state is another's")

	own := victim.begin("olga", "/ops/page")
	query := own.Query()
	query.Set("code", stolen.Query().Get("code"))
	own.RawQuery = query.Encode()
	answer, _ = victim.ask(http.MethodGet, own.String(), nil)
	require.Equal(t, http.StatusForbidden, answer.status, "the code's challenge is another's")
	answer, _ = victim.ask(http.MethodGet, own.String(), nil)
	require.Equal(t, http.StatusBadRequest, answer.status, "what was begun is good for one answer")

	own = victim.begin("olga", "/ops/page")
	query = own.Query()
	query.Set("iss", "https://elsewhere.example")
	own.RawQuery = query.Encode()
	answer, _ = victim.ask(http.MethodGet, own.String(), nil)
	require.Equal(t, http.StatusBadRequest, answer.status, "another issuer answers")

	late := victim.begin("olga", "/ops/page")
	w.later.Add(int64(11 * time.Minute))
	answer, _ = victim.ask(http.MethodGet, late.String(), nil)
	require.Equal(t, http.StatusBadRequest, answer.status, "it was begun too long ago")
}

func TestTheReceiptIsChecked(t *testing.T) {
	t.Parallel()
	receipt := func(w *world, change map[string]any) func(map[string]any) {
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
	for name, lie := range map[string]func(*world) func(map[string]any){
		"without a nonce": func(w *world) func(map[string]any) { return receipt(w, nil) },
		"another's nonce": func(w *world) func(map[string]any) { return receipt(w, map[string]any{"nonce": "another"}) },
		"another client":  func(w *world) func(map[string]any) { return receipt(w, map[string]any{"aud": "else"}) },
		"none": func(*world) func(map[string]any) {
			return func(answer map[string]any) { delete(answer, "id_token") }
		},
		"a receipt for a permission": func(*world) func(map[string]any) {
			return func(answer map[string]any) { answer["access_token"] = answer["id_token"] }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.lie = lie(w)
			answer, _ := w.browser(t).signIn("olga")
			require.Equal(t, http.StatusForbidden, answer.status)
		})
	}
}

func TestAnotherSiteCannotPressButtons(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.browser(t)
	b.signIn("olga")
	for _, headers := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"}} {
		for _, address := range []string{"/ops/page", "/ops/sign-out"} {
			answer, _ := b.ask(http.MethodPost, address, url.Values{}, headers...)
			require.Equal(t, http.StatusForbidden, answer.status, headers)
		}
	}
	answer, _ := b.ask(http.MethodPost, "/ops/page", url.Values{}, "Sec-Fetch-Site", "same-origin")
	require.Equal(t, http.StatusOK, answer.status)
}

func TestSigningOutEndsTheSessionAndNotOnlyTheCookie(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	address, err := url.Parse(w.desk.URL + "/ops")
	require.NoError(t, err)
	b, other := w.browser(t), w.browser(t)
	b.signIn("olga")
	other.signIn("olga")
	copied := b.client.Jar.Cookies(address)[0]
	open := func() int {
		answer, _ := w.browser(t).ask(http.MethodGet, "/ops/page", nil, "Cookie", copied.Name+"="+copied.Value)
		return answer.status
	}
	require.Equal(t, http.StatusOK, open())

	w.sessions.down.Store(true)
	require.Equal(t, http.StatusServiceUnavailable, open(), "a session that cannot be checked opens nothing")
	answer, _ := b.ask(http.MethodPost, "/ops/sign-out", url.Values{}, "Sec-Fetch-Site", "same-origin")
	require.Equal(t, http.StatusServiceUnavailable, answer.status)
	w.sessions.down.Store(false)
	require.Equal(t, http.StatusOK, open(), "nothing was ended, and the page said so")

	answer, _ = b.ask(http.MethodPost, "/ops/sign-out", url.Values{}, "Sec-Fetch-Site", "same-origin")
	require.Equal(t, http.StatusOK, answer.status)
	require.Equal(t, http.StatusSeeOther, open())
	answer, _ = b.ask(http.MethodGet, "/ops/page", nil)
	require.Equal(t, http.StatusSeeOther, answer.status)
	answer, _ = other.ask(http.MethodGet, "/ops/page", nil)
	require.Equal(t, http.StatusOK, answer.status, "another session of the same person goes on")
	answer, _ = w.browser(t).ask(http.MethodPost, "/ops/sign-out", url.Values{}, "Sec-Fetch-Site", "same-origin")
	require.Equal(t, http.StatusOK, answer.status, "who is not signed in may sign out")
}

func TestCookiesOfOurOwnOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.browser(t)
	b.signIn("olga")
	address, err := url.Parse(w.desk.URL + "/ops")
	require.NoError(t, err)
	session := b.client.Jar.Cookies(address)
	require.Len(t, session, 1)

	w.config.Keys = [][]byte{bytes.Repeat([]byte{2}, 32), bytes.Repeat([]byte{1}, 32)}
	w.open(t)
	try := func(cookie *http.Cookie) int {
		answer, _ := w.browser(t).ask(http.MethodGet, "/ops/page", nil, "Cookie", cookie.Name+"="+cookie.Value)
		return answer.status
	}
	require.Equal(t, http.StatusOK, try(session[0]), "an older key still opens")
	for _, value := range []string{"", "x", session[0].Value[1:], session[0].Value + "AAAA", strings.ToUpper(session[0].Value)} {
		require.Equal(t, http.StatusSeeOther, try(&http.Cookie{Name: session[0].Name, Value: value}))
	}
	answer, _ := w.browser(t).ask(http.MethodGet, "/ops/sign-in", nil)
	require.Equal(t, http.StatusSeeOther, try(&http.Cookie{Name: session[0].Name, Value: answer.cookies[0].Value}), "one cookie passes for another")
}

func TestComesBackToPagesOfOurs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, to := range []string{"https://evil.example/ops/", "//evil.example/ops/", `/ops/\evil.example`, `/\evil.example`, "/v1/quotes", "javascript:alert(1)", ""} {
		b := w.browser(t)
		answer, _ := b.ask(http.MethodGet, "/ops/sign-in?to="+url.QueryEscape(to), nil)
		asked, err := url.Parse(answer.header.Get("Location"))
		require.NoError(t, err)
		query := asked.Query()
		query.Set("user", "olga")
		answer, _ = b.ask(http.MethodPost, w.config.Issuer+"/authorize", query)
		answer, _ = b.ask(http.MethodGet, answer.header.Get("Location"), nil)
		require.Equal(t, "/ops", answer.header.Get("Location"), to)
	}
}

// Many issuers give a token for an API only to those who ask for it.
func TestAnIssuerIsAskedAsItWants(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.config.More = url.Values{"resource": {"urn:parapet"}}
	w.open(t)
	b := w.browser(t)
	answer, _ := b.ask(http.MethodGet, "/ops/sign-in", nil)
	asked, err := url.Parse(answer.header.Get("Location"))
	require.NoError(t, err)
	require.Equal(t, "urn:parapet", asked.Query().Get("resource"))
	require.Equal(t, "openid operator", asked.Query().Get("scope"))
	answer, text := b.signIn("olga")
	require.Equal(t, http.StatusSeeOther, answer.status, text)
	require.Equal(t, "urn:parapet", w.asked.Get("resource"))
}
