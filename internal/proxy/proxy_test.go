package proxy_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/internal/proxy"
)

func TestClientAddressIsTheRightmostUntrusted(t *testing.T) {
	t.Parallel()
	networks, err := proxy.ParseNetworks([]string{"10.0.0.0/8", "192.0.2.7", "2001:db8::/32"})
	require.NoError(t, err)
	for name, tc := range map[string]struct {
		peer      string
		forwarded []string
		want      string
	}{
		"a trusted peer":              {"10.1.2.3:4000", []string{"203.0.113.9"}, "203.0.113.9:0"},
		"a single trusted address":    {"192.0.2.7:4000", []string{"203.0.113.9"}, "203.0.113.9:0"},
		"its neighbour":               {"192.0.2.8:4000", []string{"203.0.113.9"}, "192.0.2.8:4000"},
		"IPv6":                        {"[2001:db8::1]:4000", []string{"2001:db9::5"}, "[2001:db9::5]:0"},
		"a mapped peer":               {"[::ffff:10.0.0.1]:4000", []string{"203.0.113.9"}, "203.0.113.9:0"},
		"a chain of proxies":          {"10.1.2.3:4000", []string{"203.0.113.9, 10.9.9.9", "10.8.8.8"}, "203.0.113.9:0"},
		"an invented address":         {"10.1.2.3:4000", []string{"198.51.100.1, 203.0.113.9"}, "203.0.113.9:0"},
		"an invented trusted address": {"10.1.2.3:4000", []string{"10.0.0.1, 203.0.113.9"}, "203.0.113.9:0"},
		"garbage further left":        {"10.1.2.3:4000", []string{"garbage, 203.0.113.9"}, "203.0.113.9:0"},
		"garbage":                     {"10.1.2.3:4000", []string{"203.0.113.9, garbage"}, "10.1.2.3:4000"},
		"an empty member":             {"10.1.2.3:4000", []string{"203.0.113.9,"}, "10.1.2.3:4000"},
		"a zone":                      {"10.1.2.3:4000", []string{"fe80::1%eth0"}, "10.1.2.3:4000"},
		"ports":                       {"10.1.2.3:4000", []string{"203.0.113.9:5555, [2001:db8::2]:443"}, "203.0.113.9:0"},
		"no header":                   {"10.1.2.3:4000", nil, "10.1.2.3:4000"},
		"only proxies":                {"10.1.2.3:4000", []string{"10.0.0.1, 10.0.0.2"}, "10.1.2.3:4000"},
		"an untrusted peer":           {"203.0.113.1:4000", []string{"198.51.100.1"}, "203.0.113.1:4000"},
		"a peer without address":      {"@", []string{"198.51.100.1"}, "@"},
	} {
		request := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		request.RemoteAddr = tc.peer
		for _, value := range tc.forwarded {
			request.Header.Add("X-Forwarded-For", value)
		}
		got := ""
		networks.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.RemoteAddr })).ServeHTTP(httptest.NewRecorder(), request)
		require.Equal(t, tc.want, got, name)
		require.Equal(t, tc.peer, request.RemoteAddr, "the request of the caller stays")
	}
}

func TestWithoutNetworksTheHeaderIsIgnored(t *testing.T) {
	t.Parallel()
	request := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	request.RemoteAddr = "10.1.2.3:4000"
	request.Header.Set("X-Forwarded-For", "203.0.113.9")
	got := ""
	proxy.Networks{}.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.RemoteAddr })).ServeHTTP(httptest.NewRecorder(), request)
	require.Equal(t, "10.1.2.3:4000", got)
}

func TestNetworksAreChecked(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"proxy.example.com", "10.0.0.0/33", "10.0.0", ""} {
		_, err := proxy.ParseNetworks([]string{text})
		require.ErrorContains(t, err, "use 10.0.0.7 or 10.0.0.0/8")
	}
}
