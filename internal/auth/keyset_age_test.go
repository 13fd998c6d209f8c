package auth_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"parapet/internal/auth"
	"parapet/model/kernel/apperr"
)

// From an age of four minutes on, no token is verified before the keys were fetched
// again.
func TestKeysOlderThanFourMinutesAreNotUsed(t *testing.T) {
	t.Parallel()
	w := newTestIssuer(t, "")
	verifier := w.newVerifier(t)
	require.NoError(t, verifier.Ready(t.Context()))
	withdrawn, token := w.KeyID(), w.signToken(t, nil)
	_, err := w.RotateKey()
	require.NoError(t, err)
	require.NoError(t, w.WithdrawKey(withdrawn))
	w.advance(4 * time.Minute)
	_, err = verifier.Verify(t.Context(), token)
	requireCode(t, apperr.CodeTokenInvalid, err)
}

// Keys are refreshed in the background of a request from an age of three minutes on, and
// not earlier.
func TestKeysAreRefreshedInTheBackgroundAfterThreeMinutes(t *testing.T) {
	t.Parallel()
	w := newTestIssuer(t, "")
	verifier := w.newVerifier(t)
	require.NoError(t, verifier.Ready(t.Context()))
	verify := func() {
		_, err := verifier.Verify(t.Context(), w.signToken(t, nil))
		require.NoError(t, err)
	}
	w.advance(3*time.Minute - time.Second)
	verify()
	w.advance(time.Second)
	require.EqualValues(t, 1, w.fetches.Load())
	verify()
	require.Eventually(t, func() bool { return w.fetches.Load() == 2 }, time.Minute, time.Millisecond)
}

// With any number of requests, the keys of a responding issuer are fetched every three
// minutes.
func TestKeysAreRefreshedAtMostEveryThreeMinutes(t *testing.T) {
	t.Parallel()
	w := newTestIssuer(t, "")
	verifier := w.newVerifier(t)
	for range 20 { // ten minutes
		_, err := verifier.Verify(t.Context(), w.signToken(t, nil))
		require.NoError(t, err)
		w.advance(31 * time.Second)
	}
	require.LessOrEqual(t, w.fetches.Load(), int64(4))
}

// A token need not name its key: every key of its issuer is tried.
func TestTokenWithoutKeyIDIsVerifiedByAnyKeyOfItsIssuer(t *testing.T) {
	t.Parallel()
	var set jose.JSONWebKeySet
	var private *ecdsa.PrivateKey
	for _, id := range []string{"first", "second"} {
		var err error
		private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: private.Public(), KeyID: id, Algorithm: "ES256", Use: "sig"})
	}
	keys, err := json.Marshal(set)
	require.NoError(t, err)
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/keys" {
			_, _ = w.Write(keys)
			return
		}
		_, _ = fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, server.URL, server.URL+"/keys")
	}))
	t.Cleanup(server.Close)
	verifier, err := auth.New(auth.Config{Issuers: []string{server.URL}, Audience: audience})
	require.NoError(t, err)
	now := time.Now().Unix()
	payload, err := json.Marshal(map[string]any{
		"iss": server.URL, "aud": audience, "client_id": "acme", "scope": "quotes:read", "partner": "acme", "iat": now, "exp": now + 3600,
	})
	require.NoError(t, err)
	for id, accepted := range map[string]bool{"": true, "second": true, "first": false, "third": false} {
		options := (&jose.SignerOptions{}).WithType("at+jwt")
		if id != "" {
			options = options.WithHeader("kid", id)
		}
		signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: private}, options)
		require.NoError(t, err)
		signed, err := signer.Sign(payload)
		require.NoError(t, err)
		token, err := signed.CompactSerialize()
		require.NoError(t, err)
		_, err = verifier.Verify(t.Context(), token)
		require.Equal(t, accepted, err == nil, "kid %q: %v", id, err)
	}
}
