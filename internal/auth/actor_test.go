package auth_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/internal/auth"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
)

func TestActorOfClaims(t *testing.T) {
	t.Parallel()
	w := newTestIssuer(t, "")
	type claims = map[string]any
	development := func(c *auth.Config) { c.AllowAnySource, c.AllowPartnerSource = true, true }
	production := func(*auth.Config) {}
	source := claims{"partner": nil, "scope": "observations:write"}
	for name, test := range map[string]struct {
		claims claims
		where  func(*auth.Config)
		want   actor.Actor
		code   apperr.Code
	}{
		"scp as a list": {
			claims: claims{"scope": nil, "scp": []string{"quotes:read", "openid"}}, where: production,
			want: actor.Actor{Kind: actor.KindPartner, Partner: "acme", Scopes: []actor.Scope{"quotes:read", "openid"}},
		},
		"scp as text": {
			claims: claims{"scope": nil, "scp": "quotes:read openid"}, where: production,
			want: actor.Actor{Kind: actor.KindPartner, Partner: "acme", Scopes: []actor.Scope{"quotes:read", "openid"}},
		},
		"partner claim by another name": {
			claims: claims{"partner": nil, "org": "globex"}, where: func(c *auth.Config) { c.PartnerClaim = "org" },
			want: actor.Actor{Kind: actor.KindPartner, Partner: "globex", Scopes: []actor.Scope{"quotes:read"}},
		},
		"several sources": {
			claims: claims{"partner": nil, "scope": "observations:write", "source": []string{"usgs", "nhc"}}, where: development,
			want: actor.Actor{Kind: actor.KindSource, Sources: []string{"usgs", "nhc"}, Scopes: []actor.Scope{"observations:write"}},
		},
		"no source in production": {
			claims: source, where: production,
			want: actor.Actor{Kind: actor.KindSource, Scopes: []actor.Scope{"observations:write"}},
		},
		"no source in development": {
			claims: source, where: development,
			want: actor.Actor{Kind: actor.KindSource, AnySource: true, Scopes: []actor.Scope{"observations:write"}},
		},
		"partner and source in development": {
			claims: claims{"scope": "observations:write"}, where: development,
			want: actor.Actor{Kind: actor.KindPartner, Partner: "acme", AnySource: true, Scopes: []actor.Scope{"observations:write"}},
		},
		"partner and source in production": {claims: claims{"scope": "observations:write"}, where: production, code: apperr.CodeInsufficientScope},
		"no role":                          {claims: claims{"partner": nil}, where: production, code: apperr.CodeInsufficientScope},
		"partner and operator":             {claims: claims{"scope": "operator"}, where: production, code: apperr.CodeTokenInvalid},
		"partner is not a slug":            {claims: claims{"partner": "Acme Ltd"}, where: production, code: apperr.CodeTokenInvalid},
		"partner is a list":                {claims: claims{"partner": []string{"acme"}}, where: production, code: apperr.CodeTokenInvalid},
		"scope is a number":                {claims: claims{"scope": 7}, where: production, code: apperr.CodeTokenInvalid},
		"source is an object": {
			claims: claims{"partner": nil, "scope": "observations:write", "source": claims{}}, where: production, code: apperr.CodeTokenInvalid,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			caller, err := w.newVerifier(t, test.where).Verify(t.Context(), w.signToken(t, test.claims))
			if test.code != "" {
				requireCode(t, test.code, err)
				return
			}
			require.NoError(t, err)
			test.want.Name, test.want.Client, test.want.Issuer, test.want.ExpiresAt = "acme", "acme", w.address, caller.ExpiresAt
			if test.want.Kind != actor.KindPartner {
				test.want.Subject = "acme"
			}
			require.Equal(t, test.want, caller)
		})
	}
}

func TestBearerFrom(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		headers []string
		token   string
		code    apperr.Code
	}{
		{headers: []string{"Bearer abc.d-e_f.g~h+i/j=="}, token: "abc.d-e_f.g~h+i/j=="},
		{headers: []string{"bEARER abc"}, token: "abc"},
		{headers: []string{"Bearer " + strings.Repeat("a", 8<<10-7)}, token: strings.Repeat("a", 8<<10-7)},
		{headers: []string{"Bearer " + strings.Repeat("a", 8<<10-6)}, code: apperr.CodeTokenInvalid},
		{headers: nil, code: apperr.CodeTokenMissing},
		{headers: []string{""}, code: apperr.CodeTokenMissing},
		{headers: []string{"Basic YTpi"}, code: apperr.CodeTokenMissing},
		{headers: []string{"Bearer"}, code: apperr.CodeTokenInvalid},
		{headers: []string{"Bearer "}, code: apperr.CodeTokenInvalid},
		{headers: []string{"Bearer a b"}, code: apperr.CodeTokenInvalid},
		{headers: []string{"Bearer a\x00"}, code: apperr.CodeTokenInvalid},
		{headers: []string{"Bearer a=b"}, code: apperr.CodeTokenInvalid},
		{headers: []string{"Bearer a, Bearer b"}, code: apperr.CodeTokenInvalid},
		{headers: []string{"Bearer a", "Bearer a"}, code: apperr.CodeTokenInvalid},
	} {
		token, err := auth.BearerFrom(test.headers...)
		if test.code != "" {
			requireCode(t, test.code, err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, test.token, token)
	}
}

// Recorded names have at most 255 bytes and no control characters, for every role; a data
// source has a name.
func TestNamesAreBoundedAndPrintable(t *testing.T) {
	t.Parallel()
	w := newTestIssuer(t, "")
	verifier := w.newVerifier(t)
	longest := strings.Repeat("n", 255)
	for scope, members := range map[string][]string{"operator": {"client_id", "sub"}, "observations:write": {"client_id", "sub", "source"}} {
		for _, member := range members {
			for name, accepted := range map[string]bool{longest: true, longest + "n": false, "ann\nbob": false} {
				_, err := verifier.Verify(t.Context(), w.signToken(t, map[string]any{"partner": nil, "scope": scope, member: name}))
				if accepted {
					require.NoError(t, err)
					continue
				}
				requireCode(t, apperr.CodeTokenInvalid, err)
			}
		}
	}
	_, err := verifier.Verify(t.Context(), w.signToken(t, map[string]any{"partner": nil, "scope": "observations:write", "source": []string{"usgs", ""}}))
	requireCode(t, apperr.CodeTokenInvalid, err)
}

// TestOperatorsAreIdentifiedByIssuerAndSubject signs tokens of one subject at two
// issuers, and of one person at two clients.
func TestOperatorsAreIdentifiedByIssuerAndSubject(t *testing.T) {
	t.Parallel()
	first, second := newTestIssuer(t, ""), newTestIssuer(t, "")
	verifier := first.newVerifier(t, func(c *auth.Config) { c.Issuers = append(c.Issuers, second.address) })
	verify := func(w *testIssuer, client, subject, scope string) actor.Actor {
		actor, err := verifier.Verify(t.Context(), w.signToken(t, map[string]any{"partner": nil, "scope": scope, "client_id": client, "sub": subject}))
		require.NoError(t, err)
		return actor
	}
	for _, scope := range []string{"operator", "observations:write"} {
		at, elsewhere := verify(first, "console", "ann", scope), verify(second, "console", "ann", scope)
		require.Equal(t, []string{first.address, "ann", second.address, "ann"}, []string{at.Issuer, at.Subject, elsewhere.Issuer, elsewhere.Subject})
		other := verify(first, "shell", "ann", scope)
		require.Equal(t, []string{at.Issuer, at.Subject}, []string{other.Issuer, other.Subject}, "one person at two clients")
		require.NotEqual(t, at.Client, other.Client)
		require.Equal(t, map[string]string{"operator": "ann", "observations:write": "console"}[scope], at.Name, "people are shown by their own name")
	}
	require.Equal(t, "console", verify(first, "console", "", "operator").Subject, "without a subject it is the client")
}

// People have the time of their sign-in; a client that acts for itself has none.
func TestSignInIsThatOfThePerson(t *testing.T) {
	t.Parallel()
	w := newTestIssuer(t, "")
	verifier := w.newVerifier(t, func(c *auth.Config) { c.SignInMaxAge = 15 * time.Minute })
	verify := func(v *auth.Verifier, members map[string]any) *actor.SignIn {
		claims := map[string]any{"partner": nil, "scope": "operator", "client_id": "console"}
		maps.Copy(claims, members)
		caller, err := v.Verify(t.Context(), w.signToken(t, claims))
		require.NoError(t, err)
		return caller.SignIn
	}
	require.Equal(t, &actor.SignIn{At: time.Unix(1_700_000_000, 0), MaxAge: 15 * time.Minute}, verify(verifier, map[string]any{"sub": "ann", "auth_time": 1_700_000_000}))
	require.Equal(t, &actor.SignIn{MaxAge: 15 * time.Minute}, verify(verifier, map[string]any{"sub": "ann"}))
	require.Nil(t, verify(verifier, map[string]any{"sub": "console", "auth_time": 1_700_000_000}))
	require.Nil(t, verify(verifier, map[string]any{"sub": "acme", "partner": "acme", "scope": "quotes:read"}), "partners move no money")
	require.Nil(t, verify(w.newVerifier(t), map[string]any{"sub": "ann"}), "it is switched off")
	_, err := verifier.Verify(t.Context(), w.signToken(t, map[string]any{"partner": nil, "scope": "operator", "client_id": "console", "sub": "ann", "auth_time": "yesterday"}))
	requireCode(t, apperr.CodeTokenInvalid, err)
}
