package devissuer_test

import (
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/internal/devissuer"
)

// browser does not follow the redirect back to the client.
var browser = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func authorizationParams(change url.Values) url.Values {
	form := url.Values{
		"client_id": {"console"}, "redirect_uri": {"http://127.0.0.1:49152/callback"}, "response_type": {"code"},
		"scope": {"openid quotes:read operator"}, "state": {"st&te"}, "nonce": {"n-1"},
		"code_challenge": {pkceChallenge()}, "code_challenge_method": {"S256"}, "user": {"ana"},
	}
	for key, values := range change {
		form[key] = values
	}
	return form
}

// submitSignIn submits the form; back is the address of the redirect, nil without a
// redirect.
func (s *testIssuer) submitSignIn(t *testing.T, form url.Values) (status int, back url.Values) {
	t.Helper()
	response, err := browser.PostForm(s.address+"/authorize", form)
	require.NoError(t, err)
	defer response.Body.Close()
	if location, err := response.Location(); err == nil {
		back = location.Query()
	}
	return response.StatusCode, back
}

func redemptionForm(code string) url.Values {
	return url.Values{
		"grant_type": {"authorization_code"}, "client_id": {"console"}, "code": {code},
		"redirect_uri": {"http://127.0.0.1:49152/callback"}, "code_verifier": {verifier},
	}
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	s := newTestIssuer(t)
	status, back := s.submitSignIn(t, authorizationParams(nil))
	require.Equal(t, http.StatusSeeOther, status)
	require.Equal(t, "st&te", back.Get("state"))
	require.Equal(t, s.address, back.Get("iss"))

	status, body := s.postForm(t, redemptionForm(back.Get("code")))
	require.Equal(t, 200, status, body)
	require.Equal(t, "openid quotes:read", body["scope"], "what both the client and the user may")
	access := s.verifyClaims(t, "api", body["access_token"].(string))
	require.Equal(t, "ana", access["sub"])
	require.Equal(t, "acme", access["partner"])
	require.NotContains(t, access, "nonce")
	receipt := s.verifyClaims(t, "console", body["id_token"].(string))
	require.Equal(t, "n-1", receipt["nonce"])

	status, body = s.postForm(t, redemptionForm(back.Get("code")))
	require.Equal(t, 400, status)
	require.Equal(t, "invalid_grant", body["error"], "a code works once")
}

func TestInvalidCodesAreRejected(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(s *testIssuer, form url.Values){
		"too late":         func(s *testIssuer, _ url.Values) { s.at = s.at.Add(time.Minute) },
		"another verifier": func(_ *testIssuer, form url.Values) { form.Set("code_verifier", verifier+"x") },
		"no verifier":      func(_ *testIssuer, form url.Values) { form.Del("code_verifier") },
		"another address":  func(_ *testIssuer, form url.Values) { form.Set("redirect_uri", callback) },
		"another client": func(_ *testIssuer, form url.Values) {
			form.Set("client_id", "acme")
			form.Set("client_secret", "s3cret/+ %")
		},
	} {
		s := newTestIssuer(t)
		_, back := s.submitSignIn(t, authorizationParams(nil))
		form := redemptionForm(back.Get("code"))
		change(s, form)
		status, body := s.postForm(t, form)
		require.Equal(t, 400, status, name)
		require.Equal(t, "invalid_grant", body["error"], name)
	}
}

func TestInvalidSignInsAreRejected(t *testing.T) {
	t.Parallel()
	s := newTestIssuer(t)
	for name, test := range map[string]struct {
		change url.Values
		status int
		code   string // error code in the redirect; empty: no redirect
	}{
		"unknown client":        {url.Values{"client_id": {"unknown"}}, 400, ""},
		"foreign address":       {url.Values{"redirect_uri": {"https://evil.test/callback"}}, 400, ""},
		"other path":            {url.Values{"redirect_uri": {"http://127.0.0.1:1/other"}}, 400, ""},
		"loopback by name":      {url.Values{"redirect_uri": {"http://localhost:1/callback"}}, 400, ""},
		"somebody in address":   {url.Values{"redirect_uri": {"http://a@127.0.0.1:1/callback"}}, 400, ""},
		"no address":            {url.Values{"redirect_uri": nil}, 400, ""},
		"implicit":              {url.Values{"response_type": {"token"}}, 303, "unsupported_response_type"},
		"no PKCE":               {url.Values{"code_challenge": nil}, 303, "invalid_request"},
		"plain PKCE":            {url.Values{"code_challenge_method": {"plain"}}, 303, "invalid_request"},
		"scope of another":      {url.Values{"scope": {"quotes:write"}}, 303, "invalid_scope"},
		"unknown user":          {url.Values{"user": {"eve"}}, 401, ""},
		"password missing":      {url.Values{"user": {"olu"}}, 401, ""},
		"password wrong":        {url.Values{"user": {"olu"}, "password": {"hunter3"}}, 401, ""},
		"password right":        {url.Values{"user": {"olu"}, "password": {"hunter2"}}, 303, ""},
		"a parameter, repeated": {url.Values{"state": {"a", "b"}}, 400, ""},
	} {
		status, back := s.submitSignIn(t, authorizationParams(test.change))
		require.Equal(t, test.status, status, name)
		require.Equal(t, test.code, back.Get("error"), name)
	}
}

func TestSignInForm(t *testing.T) {
	t.Parallel()
	s := newTestIssuer(t, func(o *devissuer.Options) {
		o.Users = append(o.Users, devissuer.User{Name: `<script>alert(1)</script>`})
	})
	response, err := http.Get(s.address + "/authorize?" + authorizationParams(url.Values{"state": {`"><b>`}}).Encode())
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, 200, response.StatusCode)
	require.Contains(t, response.Header.Get("Content-Security-Policy"), "default-src 'none'")
	require.Contains(t, string(text), "Sign in to console")
	require.NotContains(t, string(text), "<script>")
	require.NotContains(t, string(text), "<b>")
}

func TestIssuerUnderAPath(t *testing.T) {
	t.Parallel()
	s := newTestIssuer(t, func(o *devissuer.Options) { o.Issuer += "/tenant" })
	token, err := s.Token("acme")
	require.NoError(t, err)
	require.Equal(t, s.address, s.verifyClaims(t, "api", token)["iss"])
}

func TestAnyLoopbackAllowsOnlyLoopbackRedirects(t *testing.T) {
	t.Parallel()
	s := newTestIssuer(t, func(o *devissuer.Options) {
		o.Clients = []devissuer.Client{{ID: "console", Scopes: []string{"quotes:read"}, AnyLoopback: true}}
	})
	for redirect, status := range map[string]int{
		"http://127.0.0.1:9999/any/path": 200, "http://localhost:1/": 200, "http://[::1]:3000/cb": 200,
		"http://10.0.0.1/cb": 400, "https://evil.test/cb": 400, "http://127.0.0.1.evil.test/cb": 400, "http://a@127.0.0.1/cb": 400, "": 400,
	} {
		query := url.Values{
			"client_id": {"console"}, "redirect_uri": {redirect}, "response_type": {"code"},
			"code_challenge": {"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"}, "code_challenge_method": {"S256"},
		}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.address+"/authorize?"+query.Encode(), http.NoBody)
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, status, answer.StatusCode, redirect)
	}
}
