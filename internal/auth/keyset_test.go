package auth_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"parapet/internal/auth"
	"parapet/model/kernel/apperr"
)

func TestForgedTokensFetchKeysOnce(t *testing.T) {
	t.Parallel()
	w, forger := newTestIssuer(t, ""), newTestIssuer(t, "")
	verifier := w.newVerifier(t)
	forged := forger.signToken(t, map[string]any{"iss": w.address})
	burst := func() {
		var callers sync.WaitGroup
		for range 20 {
			callers.Go(func() {
				for range 50 {
					_, err := verifier.Verify(t.Context(), forged)
					requireCode(t, apperr.CodeTokenInvalid, err)
				}
			})
		}
		callers.Wait()
	}
	burst()
	require.EqualValues(t, 1, w.fetches.Load())
	w.advance(29 * time.Second)
	burst()
	require.EqualValues(t, 1, w.fetches.Load())
	w.advance(time.Second)
	burst()
	require.EqualValues(t, 2, w.fetches.Load())
}

func TestForgedTokensOfAKnownKeyIDFetchOncePerInterval(t *testing.T) {
	t.Parallel()
	w := newTestIssuer(t, "")
	verifier := w.newVerifier(t)
	require.NoError(t, verifier.Ready(t.Context()))
	token := w.signToken(t, nil)
	forged := token[:len(token)-8] + "AAAAAAAA"
	for _, want := range []int64{1, 2} {
		for range 20 {
			_, err := verifier.Verify(t.Context(), forged)
			requireCode(t, apperr.CodeTokenInvalid, err)
		}
		require.Equal(t, want, w.fetches.Load())
		w.advance(30 * time.Second)
	}
}

// An issuer that lost its keys may publish a new one under the id of the old one.
func TestNewKeyUnderAnOldKeyIDWorksWithinHalfAMinute(t *testing.T) {
	t.Parallel()
	w := newTestIssuer(t, "")
	w.useNewKey(t, "signing")
	verifier := w.newVerifier(t)
	_, err := verifier.Verify(t.Context(), w.signToken(t, nil))
	require.NoError(t, err)
	w.useNewKey(t, "signing")
	token := w.signToken(t, nil)
	_, err = verifier.Verify(t.Context(), token)
	requireCode(t, apperr.CodeTokenInvalid, err)
	w.advance(30 * time.Second)
	_, err = verifier.Verify(t.Context(), token)
	require.NoError(t, err)
}

func TestNewKeyWorksWithinHalfAMinute(t *testing.T) {
	t.Parallel()
	w := newTestIssuer(t, "")
	verifier := w.newVerifier(t)
	require.NoError(t, verifier.Ready(t.Context()))
	old := w.signToken(t, nil)
	_, err := w.RotateKey()
	require.NoError(t, err)
	w.advance(30 * time.Second)
	for _, token := range []string{w.signToken(t, nil), old} {
		_, err = verifier.Verify(t.Context(), token)
		require.NoError(t, err)
	}
}

// Under any traffic, a token of a withdrawn key is rejected after 5 minutes.
func TestWithdrawnKeyStops(t *testing.T) {
	t.Parallel()
	for name, pause := range map[string]time.Duration{
		"constant traffic": 10 * time.Second, "some traffic": 59 * time.Second, "silence": 5 * time.Minute,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTestIssuer(t, "")
			verifier := w.newVerifier(t)
			withdrawn := w.KeyID()
			token := w.signToken(t, nil)
			_, err := verifier.Verify(t.Context(), token)
			require.NoError(t, err)
			_, err = w.RotateKey()
			require.NoError(t, err)
			require.NoError(t, w.WithdrawKey(withdrawn))
			for passed := pause; passed < 5*time.Minute; passed += pause {
				w.advance(pause)
				_, _ = verifier.Verify(t.Context(), token)
			}
			w.advance(pause)
			// The background fetch takes real time, which the test clock does not show.
			require.Eventually(t, func() bool {
				_, err := verifier.Verify(t.Context(), token)
				return apperr.CodeOf(err) == apperr.CodeTokenInvalid
			}, time.Minute, time.Millisecond)
		})
	}
}

func TestKnownKeysWorkWhileTheIssuerIsDown(t *testing.T) {
	t.Parallel()
	w := newTestIssuer(t, "")
	verifier := w.newVerifier(t)
	require.NoError(t, verifier.Ready(t.Context()))
	w.down.Store(true)
	before := w.fetches.Load()
	for range 20 {
		w.advance(time.Minute)
		_, err := verifier.Verify(t.Context(), w.signToken(t, nil))
		require.NoError(t, err)
	}
	require.NoError(t, verifier.Ready(t.Context()), "ready as long as it can verify")
	require.LessOrEqual(t, w.fetches.Load()-before, int64(20))
}

func TestServiceStartsBeforeItsIssuer(t *testing.T) {
	t.Parallel()
	w := newTestIssuer(t, "")
	w.down.Store(true)
	verifier := w.newVerifier(t)
	require.Error(t, verifier.Ready(t.Context()))
	for range 100 {
		_, err := verifier.Verify(t.Context(), w.signToken(t, nil))
		requireCode(t, apperr.CodeUnavailable, err)
		var failed *apperr.Error
		require.ErrorAs(t, err, &failed)
		require.Equal(t, 30*time.Second, failed.RetryAfter)
	}
	require.EqualValues(t, 1, w.fetches.Load(), "failed fetches count")
	w.down.Store(false)
	w.advance(2 * time.Second)
	require.NoError(t, verifier.Ready(t.Context()), "a probe asks again sooner")
	_, err := verifier.Verify(t.Context(), w.signToken(t, nil))
	require.NoError(t, err)
}

func TestCancelledRequestDoesNotCancelTheKeyFetch(t *testing.T) {
	t.Parallel()
	w := newTestIssuer(t, "")
	verifier := w.newVerifier(t)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := verifier.Verify(gone, w.signToken(t, nil))
	requireCode(t, apperr.CodeUnavailable, err)
	_, err = verifier.Verify(t.Context(), w.signToken(t, nil))
	require.NoError(t, err)
}

func TestIssuerDocumentsAreNotTrustedBlindly(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ discovery, keys, want string }{
		"another issuer":      {`{"issuer":"https://other.test","jwks_uri":"%[1]s/keys"}`, `{}`, "is of the issuer"},
		"keys in a file":      {`{"issuer":"%[1]s","jwks_uri":"file:///etc/passwd"}`, `{}`, "cannot be trusted"},
		"keys over ftp":       {`{"issuer":"%[1]s","jwks_uri":"ftp://issuer.test/keys"}`, `{}`, "cannot be trusted"},
		"keys without a host": {`{"issuer":"%[1]s","jwks_uri":"http:///keys"}`, `{}`, "cannot be trusted"},
		"not JSON":            {`<html>`, `{}`, "discovery document"},
		"endless":             {`{"issuer":"%[1]s","jwks_uri":"%[1]s/keys"}`, strings.Repeat(" ", 1<<20+1), "more than 1 MiB"},
		"short RSA keys only": {`{"issuer":"%[1]s","jwks_uri":"%[1]s/keys"}`, rsaKeySet(t, 2040), "no key"},
		"shared secret only":  {`{"issuer":"%[1]s","jwks_uri":"%[1]s/keys"}`, `{"keys":[{"kty":"oct","k":"c2VjcmV0"},{"kty":"new"}]}`, "no key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var server *httptest.Server
			server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/keys" {
					_, _ = w.Write([]byte(test.keys))
					return
				}
				_, _ = w.Write([]byte(strings.ReplaceAll(test.discovery, "%[1]s", server.URL)))
			}))
			t.Cleanup(server.Close)
			verifier, err := auth.New(auth.Config{Issuers: []string{server.URL}, Audience: audience})
			require.NoError(t, err)
			err = verifier.Ready(t.Context())
			require.ErrorContains(t, err, test.want, fmt.Sprint(err))
		})
	}
}

// rsaKeySet returns a key set with one RSA key of the given number of bits.
func rsaKeySet(t *testing.T, bits int) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, bits)
	require.NoError(t, err)
	text, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "rsa", Algorithm: "RS256", Use: "sig"}}})
	require.NoError(t, err)
	return string(text)
}

func TestRSAKeysOf2048BitsAreAccepted(t *testing.T) {
	t.Parallel()
	verifier := issuerWithKeys(t, "/keys", rsaKeySet(t, 2048))
	require.NoError(t, verifier.Ready(t.Context()))
}

// The keys of an https issuer must not be fetched over a connection that others can
// change.
func TestKeySetOfAnHTTPSIssuerIsNotFetchedOverPlainHTTP(t *testing.T) {
	t.Parallel()
	fetched := false
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fetched = true
		_, _ = w.Write([]byte(rsaKeySet(t, 2048)))
	}))
	t.Cleanup(plain.Close)
	verifier := issuerWithKeys(t, plain.URL, "")
	require.ErrorContains(t, verifier.Ready(t.Context()), "cannot be trusted")
	require.False(t, fetched)
}

// issuerWithKeys returns a verifier of an https issuer whose jwks_uri is below its own
// address, or elsewhere.
func issuerWithKeys(t *testing.T, keysURL, keys string) *auth.Verifier {
	t.Helper()
	var server *httptest.Server
	server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/keys" {
			_, _ = w.Write([]byte(keys))
			return
		}
		if strings.HasPrefix(keysURL, "/") {
			keysURL = server.URL + keysURL
		}
		_, _ = fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, server.URL, keysURL)
	}))
	t.Cleanup(server.Close)
	verifier, err := auth.New(auth.Config{Issuers: []string{server.URL}, Audience: audience, HTTP: server.Client()})
	require.NoError(t, err)
	return verifier
}
