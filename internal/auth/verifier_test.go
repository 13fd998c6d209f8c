package auth_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/internal/auth"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
)

func TestVerifyNamesTheActor(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []string{"ES256", "RS256"} {
		w := newTestIssuer(t, algorithm)
		verifier := w.newVerifier(t)
		for client, want := range map[string]actor.Actor{
			"acme": {
				Kind: actor.KindPartner, Partner: "acme", Name: "acme", Client: "acme",
				Scopes: []actor.Scope{actor.ScopeQuotesWrite, actor.ScopeQuotesRead},
			},
			"operator": {Kind: actor.KindOperator, Name: "operator", Client: "operator", Subject: "operator", Scopes: []actor.Scope{actor.ScopeOperator}},
			"source": {
				Kind: actor.KindSource, Name: "source", Client: "source", Subject: "source",
				Scopes: []actor.Scope{actor.ScopeObservationsWrite}, Sources: []string{"usgs"},
			},
		} {
			want.Issuer = w.address
			token, err := w.Token(client)
			require.NoError(t, err)
			for range 2 { // verified first, cached then
				actor, err := verifier.Verify(t.Context(), token)
				require.NoError(t, err)
				require.True(t, actor.ExpiresAt.After(w.now()), "until the token ends")
				actor.ExpiresAt = time.Time{}
				require.Equal(t, want, actor)
			}
		}
		require.EqualValues(t, 1, w.fetches.Load())
	}
}

func TestVerifyClaims(t *testing.T) {
	t.Parallel()
	w := newTestIssuer(t, "")
	now := w.now().Unix()
	const ok = apperr.Code("")
	for name, test := range map[string]struct {
		claims map[string]any
		want   apperr.Code
	}{
		"good":                           {nil, ok},
		"audience among several":         {map[string]any{"aud": []string{"other", audience}}, ok},
		"wrong audience":                 {map[string]any{"aud": "acme"}, apperr.CodeTokenInvalid},
		"no audience":                    {map[string]any{"aud": nil}, apperr.CodeTokenInvalid},
		"another issuer":                 {map[string]any{"iss": "https://elsewhere.test"}, apperr.CodeTokenInvalid},
		"issuer with a slash more":       {map[string]any{"iss": w.address + "/"}, apperr.CodeTokenInvalid},
		"no issuer":                      {map[string]any{"iss": nil}, apperr.CodeTokenInvalid},
		"no expiry":                      {map[string]any{"exp": nil}, apperr.CodeTokenInvalid},
		"expiry is text":                 {map[string]any{"exp": "tomorrow"}, apperr.CodeTokenInvalid},
		"expiry beyond all measure":      {map[string]any{"exp": 1e300}, apperr.CodeTokenInvalid},
		"expired 29 s ago":               {map[string]any{"iat": now - 3600, "exp": now - 29}, ok},
		"expired 30 s ago":               {map[string]any{"iat": now - 3600, "exp": now - 30}, apperr.CodeTokenExpired},
		"expired, and for somebody else": {map[string]any{"exp": now - 900, "aud": "x"}, apperr.CodeTokenInvalid},
		"issued 30 s ahead":              {map[string]any{"iat": now + 30}, ok},
		"issued 31 s ahead":              {map[string]any{"iat": now + 31}, apperr.CodeTokenInvalid},
		"valid in 30 s":                  {map[string]any{"nbf": now + 30}, ok},
		"valid in 31 s":                  {map[string]any{"nbf": now + 31}, apperr.CodeTokenInvalid},
		"lives 24 h":                     {map[string]any{"exp": now + 86400}, ok},
		"lives 24 h and a second":        {map[string]any{"exp": now + 86401}, apperr.CodeTokenInvalid},
		"no iat, 24 h left":              {map[string]any{"iat": nil, "exp": now + 86400}, ok},
		"no iat, more left":              {map[string]any{"iat": nil, "exp": now + 86401}, apperr.CodeTokenInvalid},
		"fractions of seconds":           {map[string]any{"exp": float64(now) + 60.5}, ok},
		"ID token by nonce":              {map[string]any{"nonce": "n"}, apperr.CodeTokenInvalid},
		"ID token by at_hash":            {map[string]any{"at_hash": "h"}, apperr.CodeTokenInvalid},
		"nonce is null":                  {map[string]any{"nonce": (*string)(nil)}, ok},
		"ID token by c_hash":             {map[string]any{"c_hash": "h"}, apperr.CodeTokenInvalid},
		"neither client nor subject":     {map[string]any{"client_id": nil, "sub": nil}, apperr.CodeTokenInvalid},
		"NUL in the client's name":       {map[string]any{"client_id": "a\x00"}, apperr.CodeTokenInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := w.newVerifier(t).Verify(t.Context(), w.signToken(t, test.claims))
			if test.want == ok {
				require.NoError(t, err)
				return
			}
			requireCode(t, test.want, err)
		})
	}
}

func TestVerifyType(t *testing.T) {
	t.Parallel()
	w := newTestIssuer(t, "")
	for typ, accepted := range map[string][2]bool{ // usually, and when RequireType
		"at+jwt": {true, true}, "AT+JWT": {true, true}, "application/at+jwt": {true, true},
		"JWT": {true, false}, "": {true, false}, "logout+jwt": {false, false}, "dpop+jwt": {false, false},
	} {
		token, err := w.Sign(typ, w.goodClaims(nil))
		require.NoError(t, err)
		for at, strict := range []bool{false, true} {
			_, err := w.newVerifier(t, func(c *auth.Config) { c.RequireType = strict }).Verify(t.Context(), token)
			require.Equal(t, accepted[at], err == nil, "%q strict %v: %v", typ, strict, err)
		}
	}
}

// A token without the type at+jwt must have the claims of an access token: an ID token of
// a plain issuer has no mark of its own.
func TestVerifyRejectsOtherTokenKinds(t *testing.T) {
	t.Parallel()
	w := newTestIssuer(t, "")
	bare := map[string]any{"client_id": nil, "scope": nil}
	for name, test := range map[string]struct {
		changes map[string]any
		usual   bool // accepted with the type JWT, or none
		typed   bool // accepted with the type at+jwt
	}{
		"ID token without any sign":      {bare, false, true},
		"ID token with azp":              {map[string]any{"client_id": nil, "scope": nil, "azp": "acme"}, false, true},
		"scope alone":                    {map[string]any{"client_id": nil}, true, true},
		"no scope granted":               {map[string]any{"client_id": nil, "scope": ""}, true, true},
		"scp and azp":                    {map[string]any{"client_id": nil, "scope": nil, "scp": []string{"quotes:read"}, "azp": "acme"}, true, true},
		"client_id alone":                {map[string]any{"scope": nil}, true, true},
		"cid alone":                      {map[string]any{"client_id": nil, "scope": nil, "cid": "acme"}, true, true},
		"s_hash":                         {map[string]any{"s_hash": "x"}, false, false},
		"another issuer's ID token":      {map[string]any{"typ": "ID"}, false, false},
		"another issuer's access token":  {map[string]any{"typ": "Bearer", "token_use": "access"}, true, true},
		"another issuer's refresh token": {map[string]any{"typ": "Refresh"}, false, false},
		"token_use id":                   {map[string]any{"token_use": "id"}, false, false},
		"security event":                 {map[string]any{"events": map[string]any{}}, false, false},
	} {
		for typ, want := range map[string]bool{"JWT": test.usual, "": test.usual, "at+jwt": test.typed} {
			token, err := w.Sign(typ, w.goodClaims(test.changes))
			require.NoError(t, err)
			_, err = w.newVerifier(t).Verify(t.Context(), token)
			if want {
				require.NoError(t, err, "%s, type %q", name, typ)
				continue
			}
			require.Error(t, err, "%s, type %q", name, typ)
			requireCode(t, apperr.CodeTokenInvalid, err)
		}
	}
}

func TestVerifyMalformed(t *testing.T) {
	t.Parallel()
	w := newTestIssuer(t, "")
	verifier := w.newVerifier(t)
	good := w.signToken(t, nil)
	parts := strings.Split(good, ".")
	encode := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	none := encode(`{"alg":"none","typ":"at+jwt"}`) + "." + parts[1] + "."
	hmac := encode(`{"alg":"HS256","typ":"at+jwt","kid":"`+w.KeyID()+`"}`) + "." + parts[1] + "." + parts[2]
	for name, token := range map[string]string{
		"word": "token", "two parts": parts[0] + "." + parts[1], "four parts": good + ".e30", "none": none, "HMAC": hmac,
		"signature cut": good[:len(good)-4], "other claims": parts[0] + "." + encode(`{"iss":"`+w.address+`"}`) + "." + parts[2],
		"not base64": parts[0] + ".!!." + parts[2], "claims are a list": parts[0] + "." + encode(`[]`) + "." + parts[2],
		"claims are null":       parts[0] + "." + encode(`null`) + "." + parts[2],
		"issuer twice":          parts[0] + "." + encode(`{"iss":"a","iss":"`+w.address+`"}`) + "." + parts[2],
		"JSON serialisation":    `{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`,
		"longer than the limit": good + strings.Repeat("A", 8<<10), "NUL": good + "\x00",
	} {
		_, err := verifier.Verify(t.Context(), token)
		requireCode(t, apperr.CodeTokenInvalid, err)
		require.NotContains(t, err.Error(), "panic", name)
	}
	_, err := verifier.Verify(t.Context(), "")
	requireCode(t, apperr.CodeTokenMissing, err)
}

// A good token is refused beyond the limit of its length, before anything is computed of it.
func TestVerifyBoundsTheLengthOfATokenExactly(t *testing.T) {
	t.Parallel()
	const limit = 8 << 10
	w := newTestIssuer(t, "")
	verifier := w.newVerifier(t)
	lengths := map[bool]int{}
	for padding := 5700; ; padding++ {
		token := w.signToken(t, map[string]any{"padding": strings.Repeat("a", padding)})
		_, err := verifier.Verify(t.Context(), token)
		if len(token) > limit {
			requireCode(t, apperr.CodeTokenInvalid, err)
			lengths[false] = len(token)
			break
		}
		require.NoError(t, err, len(token))
		lengths[true] = len(token)
	}
	require.InDelta(t, limit, lengths[true], 2)
	require.InDelta(t, limit, lengths[false], 2)
}

func TestVerifySeveralIssuers(t *testing.T) {
	t.Parallel()
	a, b := newTestIssuer(t, "ES256"), newTestIssuer(t, "RS256")
	verifier := a.newVerifier(t, func(c *auth.Config) { c.Issuers = append(c.Issuers, b.address) })
	for _, w := range []*testIssuer{a, b} {
		_, err := verifier.Verify(t.Context(), w.signToken(t, nil))
		require.NoError(t, err)
	}
	// A token that names one issuer is not verified with the keys of another one.
	_, err := verifier.Verify(t.Context(), a.signToken(t, map[string]any{"iss": b.address}))
	requireCode(t, apperr.CodeTokenInvalid, err)
	require.NoError(t, verifier.Ready(t.Context()))
}

func TestVerifyRemembersNoLongerThanExpiry(t *testing.T) {
	t.Parallel()
	w := newTestIssuer(t, "")
	verifier := w.newVerifier(t)
	require.NoError(t, verifier.Ready(t.Context()), "a token that has the keys fetched is not remembered")
	token := w.signToken(t, map[string]any{"exp": w.now().Unix() + 20})
	_, err := verifier.Verify(t.Context(), token)
	require.NoError(t, err)
	w.advance(50 * time.Second)
	_, err = verifier.Verify(t.Context(), token)
	requireCode(t, apperr.CodeTokenExpired, err)
}

func TestNewRefusesConfiguration(t *testing.T) {
	t.Parallel()
	good := auth.Config{Issuers: []string{"https://issuer.test"}, Audience: audience}
	_, err := auth.New(good)
	require.NoError(t, err)
	for name, change := range map[string]func(*auth.Config){
		"no issuer":           func(c *auth.Config) { c.Issuers = nil },
		"no audience":         func(c *auth.Config) { c.Audience = "" },
		"relative issuer":     func(c *auth.Config) { c.Issuers = []string{"issuer.test"} },
		"issuer without host": func(c *auth.Config) { c.Issuers = []string{"https:///issuer"} },
		"another scheme":      func(c *auth.Config) { c.Issuers = []string{"ftp://issuer.test"} },
		"issuer and fragment": func(c *auth.Config) { c.Issuers = []string{"https://issuer.test#x"} },
		"issuer and user":     func(c *auth.Config) { c.Issuers = []string{"https://user@issuer.test"} },
		"one good issuer":     func(c *auth.Config) { c.Issuers = []string{"https://issuer.test", "issuer.test"} },
		"issuer and query":    func(c *auth.Config) { c.Issuers = []string{"https://issuer.test?x=1"} },
		"HMAC":                func(c *auth.Config) { c.Algorithms = []string{"HS256"} },
		"none":                func(c *auth.Config) { c.Algorithms = []string{"none"} },
	} {
		bad := good
		change(&bad)
		_, err := auth.New(bad)
		require.Error(t, err, name)
	}
}
