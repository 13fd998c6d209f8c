package auth_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/internal/auth"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestIssuerIsAskedForJSON(t *testing.T) {
	t.Parallel()
	w := newTestIssuer(t, "")
	var accepted []string
	verifier := w.newVerifier(t, func(c *auth.Config) {
		c.HTTP = &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			accepted = append(accepted, r.Header.Get("Accept"))
			return http.DefaultTransport.RoundTrip(r)
		})}
	})
	require.NoError(t, verifier.Ready(t.Context()))
	require.Equal(t, []string{"application/json", "application/json"}, accepted, "its configuration and its keys")
}

func TestUnavailableIssuerIsNamed(t *testing.T) {
	t.Parallel()
	w := newTestIssuer(t, "")
	w.down.Store(true)
	require.ErrorContains(t, w.newVerifier(t).Ready(t.Context()), "issuer "+w.address+": ")
}
