package auth_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/internal/auth"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
)

// FuzzToken presents any text as a token: only tokens signed by the issuer are accepted,
// every error is one of the contract's, and no text causes another request to the issuer.
func FuzzToken(f *testing.F) {
	w, forger := newTestIssuer(f, ""), newTestIssuer(f, "")
	verifier := w.newVerifier(f)
	require.NoError(f, verifier.Ready(f.Context()))
	good := w.signToken(f, nil)
	signed := good[:strings.LastIndexByte(good, '.')]
	for _, seed := range []string{
		good, forger.signToken(f, map[string]any{"iss": w.address}), w.signToken(f, map[string]any{"exp": 1}), w.signToken(f, map[string]any{"scope": 7}),
		signed + ".", "..", "a.b.c", "eyJhbGciOiJub25lIn0.e30.", strings.Repeat("A", 9000), "\x00", "é",
	} {
		f.Add("Bearer "+seed, seed)
	}
	f.Fuzz(func(t *testing.T, header, token string) {
		if from, err := auth.BearerFrom(header); err == nil {
			token = from
		} else {
			require.Contains(t, []apperr.Code{apperr.CodeTokenMissing, apperr.CodeTokenInvalid}, apperr.CodeOf(err))
		}
		caller, err := verifier.Verify(t.Context(), token)
		if err == nil { // the last characters of a signature can be written in two ways
			require.True(t, strings.HasPrefix(token, signed+"."), "%q was never signed", token)
			return
		}
		require.Equal(t, actor.Actor{Name: caller.Name, Issuer: caller.Issuer, Client: caller.Client, Partner: caller.Partner}, caller, "a name at most, and no right")
		require.Contains(t, []apperr.Code{apperr.CodeTokenMissing, apperr.CodeTokenInvalid, apperr.CodeTokenExpired, apperr.CodeInsufficientScope}, apperr.CodeOf(err))
		require.LessOrEqual(t, w.fetches.Load(), int64(1))
	})
}
