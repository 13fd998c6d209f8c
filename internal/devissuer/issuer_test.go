package devissuer_test

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"parapet/internal/devissuer"
)

const (
	callback = "http://127.0.0.1/callback"
	verifier = "a-verifier-of-at-least-43-characters-0123456789"
)

func pkceChallenge() string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// testIssuer is an issuer on a real port; only the test advances its clock.
type testIssuer struct {
	*devissuer.Issuer
	address string
	at      time.Time
}

func newTestIssuer(t *testing.T, change ...func(*devissuer.Options)) *testIssuer {
	t.Helper()
	s := &testIssuer{at: time.Now()}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.Handler().ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	s.address = server.URL
	options := devissuer.Options{
		Issuer: server.URL, Audience: "api", Now: func() time.Time { return s.at },
		Clients: []devissuer.Client{
			{ID: "acme", Secret: "s3cret/+ %", Scopes: []string{"quotes:read", "quotes:write"}, Partner: "acme"},
			{ID: "console", Scopes: []string{"quotes:read", "operator"}, RedirectURIs: []string{callback}},
		},
		Users: []devissuer.User{
			{Name: "ana", Scopes: []string{"quotes:read"}, Partner: "acme"},
			{Name: "olu", Password: "hunter2", Scopes: []string{"operator"}},
		},
	}
	for _, apply := range change {
		apply(&options)
	}
	s.address = options.Issuer
	var err error
	s.Issuer, err = devissuer.New(options)
	require.NoError(t, err)
	return s
}

// postForm sends a form and returns the status and the members of the response.
func (s *testIssuer) postForm(t *testing.T, form url.Values, basic ...string) (int, map[string]any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.address+"/token", strings.NewReader(form.Encode()))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if len(basic) == 2 {
		request.SetBasicAuth(url.QueryEscape(basic[0]), url.QueryEscape(basic[1]))
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, "no-store", response.Header.Get("Cache-Control"))
	var body map[string]any
	require.NoError(t, json.UnmarshalRead(response.Body, &body))
	return response.StatusCode, body
}

// verifyClaims verifies a token with the published keys, as any resource server would.
func (s *testIssuer) verifyClaims(t *testing.T, audience, token string) map[string]any {
	t.Helper()
	provider, err := oidc.NewProvider(t.Context(), s.address)
	require.NoError(t, err)
	config := &oidc.Config{ClientID: audience, Now: func() time.Time { return s.at }}
	verified, err := provider.Verifier(config).Verify(t.Context(), token)
	require.NoError(t, err)
	var claims map[string]any
	require.NoError(t, verified.Claims(&claims))
	return claims
}

func TestClientCredentials(t *testing.T) {
	t.Parallel()
	s := newTestIssuer(t)
	id, secret := "acme", "s3cret/+ %"
	grant := url.Values{"grant_type": {"client_credentials"}}

	status, body := s.postForm(t, grant, id, secret)
	require.Equal(t, 200, status, body)
	require.Equal(t, "quotes:read quotes:write", body["scope"])
	require.InDelta(t, 3600, body["expires_in"], 0)
	claims := s.verifyClaims(t, "api", body["access_token"].(string))
	require.Equal(t, "acme", claims["partner"])
	require.Equal(t, "acme", claims["client_id"])
	require.NotContains(t, claims, "source")
	header, _, _ := strings.Cut(body["access_token"].(string), ".")
	text, err := base64.RawURLEncoding.DecodeString(header)
	require.NoError(t, err)
	require.Contains(t, string(text), `"at+jwt"`)

	grant.Set("scope", "quotes:read")
	grant.Set("client_id", id)
	grant.Set("client_secret", secret)
	status, body = s.postForm(t, grant)
	require.Equal(t, 200, status, body)
	require.Equal(t, "quotes:read", s.verifyClaims(t, "api", body["access_token"].(string))["scope"])
}

func TestInvalidTokenRequestsAreRejected(t *testing.T) {
	t.Parallel()
	s := newTestIssuer(t)
	good := url.Values{"grant_type": {"client_credentials"}, "client_id": {"acme"}, "client_secret": {"s3cret/+ %"}}
	for name, test := range map[string]struct {
		change url.Values
		status int
		code   string
	}{
		"secret":         {url.Values{"client_secret": {"wrong"}}, 401, "invalid_client"},
		"client":         {url.Values{"client_id": {"unknown"}}, 401, "invalid_client"},
		"no client":      {url.Values{"client_id": nil, "client_secret": nil}, 401, "invalid_client"},
		"scope":          {url.Values{"scope": {"operator"}}, 400, "invalid_scope"},
		"grant":          {url.Values{"grant_type": {"password"}}, 400, "unsupported_grant_type"},
		"no grant":       {url.Values{"grant_type": nil}, 400, "invalid_request"},
		"twice":          {url.Values{"scope": {"a", "b"}}, 400, "invalid_request"},
		"public client":  {url.Values{"client_id": {"console"}, "client_secret": nil}, 400, "unauthorized_client"},
		"unknown code":   {url.Values{"grant_type": {"authorization_code"}, "code": {"x"}}, 400, "invalid_grant"},
		"body too large": {url.Values{"pad": {strings.Repeat("x", 70_000)}}, 400, "invalid_request"},
	} {
		form := url.Values{}
		for key, values := range good {
			form[key] = values
		}
		for key, values := range test.change {
			form[key] = values
		}
		status, body := s.postForm(t, form)
		require.Equal(t, test.status, status, name)
		require.Equal(t, test.code, body["error"], name)
	}
}

func TestKeysRotateAndSurviveARestart(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "issuer", "keys.json")
	kept := func(o *devissuer.Options) { o.KeyFile = file }
	first := newTestIssuer(t, kept)
	old := first.KeyID()
	require.ErrorContains(t, first.WithdrawKey(old), "rotate first")
	next, err := first.RotateKey()
	require.NoError(t, err)
	require.NotEqual(t, old, next)
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm())

	again := newTestIssuer(t, kept)
	require.Equal(t, next, again.KeyID())
	require.NoError(t, again.WithdrawKey(old))
	require.Error(t, again.WithdrawKey(old))
	require.NoError(t, os.WriteFile(file, []byte(`{"keys":[]}`), 0o600))
	_, err = devissuer.New(devissuer.Options{Issuer: "http://127.0.0.1:1", Audience: "api", KeyFile: file})
	require.ErrorContains(t, err, "remove it")
}

func TestTokenMintsWithoutASecret(t *testing.T) {
	t.Parallel()
	s := newTestIssuer(t, func(o *devissuer.Options) { o.TokenLifetime = 12 * time.Hour })
	token, err := s.Token("acme", "quotes:read")
	require.NoError(t, err)
	claims := s.verifyClaims(t, "api", token)
	require.Equal(t, "quotes:read", claims["scope"])
	require.InDelta(t, 12*3600, claims["exp"].(float64)-claims["iat"].(float64), 0)
	_, err = s.Token("acme", "operator")
	require.Error(t, err)
	_, err = s.Token("unknown")
	require.Error(t, err)
}
