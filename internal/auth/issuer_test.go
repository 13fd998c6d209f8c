package auth_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"parapet/internal/auth"
	"parapet/internal/devissuer"
	"parapet/model/kernel/apperr"
)

const audience = "https://api.parapet.test"

// testClock is used everywhere; only the test moves it.
type testClock struct {
	mu sync.Mutex
	at time.Time
}

func newTestClock() *testClock { return &testClock{at: time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)} }

func (c *testClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *testClock) advance(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(by)
}

// testIssuer is an issuer that can be turned off, on a real port, and its clock.
type testIssuer struct {
	*testClock
	*devissuer.Issuer
	address string
	options devissuer.Options
	down    atomic.Bool
	fetches atomic.Int64 // of the key set, also while it was down
}

func newTestIssuer(t testing.TB, algorithm string) *testIssuer {
	t.Helper()
	w := &testIssuer{testClock: newTestClock()}
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	w.address = server.URL
	var err error
	w.options = devissuer.Options{
		Issuer: server.URL, Audience: audience, Now: w.now, Algorithm: algorithm,
		Clients: []devissuer.Client{
			{ID: "acme", Secret: "acme-secret", Scopes: []string{"quotes:write", "quotes:read"}, Partner: "acme"},
			{ID: "operator", Secret: "operator-secret", Scopes: []string{"operator"}},
			{ID: "source", Secret: "source-secret", Scopes: []string{"observations:write"}, Sources: []string{"usgs"}},
		},
	}
	w.Issuer, err = devissuer.New(w.options)
	require.NoError(t, err)
	return w
}

// useNewKey replaces the issuer's keys by a new one with that id.
func (w *testIssuer) useNewKey(t *testing.T, id string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	text, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: private, KeyID: id, Algorithm: "ES256", Use: "sig"}}})
	require.NoError(t, err)
	options := w.options
	options.KeyFile = filepath.Join(t.TempDir(), "keys.json")
	require.NoError(t, os.WriteFile(options.KeyFile, text, 0o600))
	w.Issuer, err = devissuer.New(options)
	require.NoError(t, err)
}

func (w *testIssuer) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/jwks" || w.down.Load() {
		w.fetches.Add(1)
	}
	if w.down.Load() {
		http.Error(rw, "down", http.StatusServiceUnavailable)
		return
	}
	w.Handler().ServeHTTP(rw, r)
}

func (w *testIssuer) newVerifier(t testing.TB, change ...func(*auth.Config)) *auth.Verifier {
	t.Helper()
	config := auth.Config{Issuers: []string{w.address}, Audience: audience, Now: w.now}
	for _, apply := range change {
		apply(&config)
	}
	verifier, err := auth.New(config)
	require.NoError(t, err)
	return verifier
}

// goodClaims returns the claims of a partner's token; with changes them, and a nil value
// removes a claim.
func (w *testIssuer) goodClaims(changes map[string]any) map[string]any {
	now := w.now().Unix()
	claims := map[string]any{
		"iss": w.address, "aud": audience, "sub": "acme", "client_id": "acme", "scope": "quotes:read",
		"partner": "acme", "iat": now, "exp": now + 3600,
	}
	maps.Copy(claims, changes)
	maps.DeleteFunc(claims, func(_ string, value any) bool { return value == nil })
	return claims
}

func (w *testIssuer) signToken(t testing.TB, changes map[string]any) string {
	t.Helper()
	token, err := w.Sign("at+jwt", w.goodClaims(changes))
	require.NoError(t, err)
	return token
}

func requireCode(t *testing.T, want apperr.Code, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, want, apperr.CodeOf(err), fmt.Sprint(err))
}
