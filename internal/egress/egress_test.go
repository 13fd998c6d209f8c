package egress

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"
)

// nonPublicAddresses are addresses outside of the public internet, in different
// spellings.
var nonPublicAddresses = []string{
	"0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.254", "127.0.0.1", "127.255.255.254",
	"168.63.129.16", "169.254.0.1", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.0.1",
	"198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
	"[::]", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:10.0.0.1]", "[::ffff:a9fe:a9fe]", "[64:ff9b::7f00:1]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::1]",
	"[100::1]", "[2001::1]", "[2001:db8::1]", "[2002:7f00:1::]", "[2002:a9fe:a9fe::1]", "[fc00::1]", "[fd00:ec2::254]", "[fe80::1]", "[fec0::1]", "[ff02::1]",
	"[::127.0.0.1]", "localhost", "localhost.", "a.localhost", "a.LocalHost", "127.0.0.1.",
}

// oddAddresses are spellings that only some resolvers understand; they may be parsed but
// never connected to.
var oddAddresses = []string{"0x7f.1", "2130706433", "127.1", "0177.0.0.1", "0x7f000001", "017700000001", "127.0.1", "①②⑦.⓪.⓪.①"}

func TestNonPublicAddressesAreNeverConnectedTo(t *testing.T) {
	t.Parallel()
	client := New(Config{}).Client(3 * time.Second)
	for _, host := range append(nonPublicAddresses, oddAddresses...) {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+host+"/", nil)
			if err != nil {
				return // not even an address
			}
			answer, err := client.Do(request)
			if err == nil {
				require.NoError(t, answer.Body.Close())
			}
			require.Error(t, err)
			require.Contains(t, []string{"address", "dns"}, FailureReason(err), "%v", err)
		})
	}
}

func TestCheckURL(t *testing.T) {
	t.Parallel()
	guard := New(Config{})
	for _, host := range nonPublicAddresses {
		u, err := url.Parse("https://" + host + "/hooks")
		require.NoError(t, err)
		require.NotEmpty(t, guard.CheckURL(u), host)
	}
	for address, fine := range map[string]bool{
		"https://hooks.example.com/a": true, "https://hooks.example.com:8443": true, "https://93.184.215.14/": true, "https://[2606:4700::1111]/": true,
		"http://hooks.example.com": false, "ftp://hooks.example.com": false, "https://intranet": false, "https://HOOKS.example.com.": true,
		"https://hooks.example.com:0": false, "https://hooks.example.com:65535": true, "https://hooks.example.com:65536": false, "https://hooks.example.com:99999999": false,
		"https://...": false, "https://a..b": false, "https://" + strings.Repeat("a", 64) + ".com": false, "https://" + strings.Repeat("a", 63) + ".com": true,
		"https://" + strings.Repeat("a.", 130) + "com": false,
		"https://hooks.example.com:22":                 false, "https://hooks.example.com:25": false, "https://hooks.example.com:80": false, "https://hooks.example.com:5432": false,
		"https://93.184.215.14:6379": false, "https://hooks.example.com:443": true, "https://hooks.example.com:1023": false, "https://hooks.example.com:1024": true,
		"https://localhost.localdomain": false, "https://localhost6.localdomain6": false, "https://a.localdomain": false, "https://printer.local": false,
		"https://metadata.google.internal": false, "https://instance-data.ec2.internal.": false, "https://router.home.arpa": false, "https://internal.example.com": true,
		"https://１２７.０.０.１": false, "https://bücher.example.com": false, "https://xn--bcher-kva.example.com": true, "https://a_b.example.com": true,
		"https://0x7f.0.0.1": false, "https://127.1": false, "https://256.1.1.1": false, "https://1.2.3.4.5": false, "https://1.example.com": true, "https://2130706433": false,
	} {
		u, err := url.Parse(address)
		require.NoError(t, err)
		require.Equal(t, fine, guard.CheckURL(u) == "", address)
	}
	here, err := url.Parse("http://localhost:3000/hooks")
	require.NoError(t, err)
	require.Empty(t, New(Config{Loopback: true}).CheckURL(here))
	private, err := url.Parse("https://10.0.0.1")
	require.NoError(t, err)
	require.NotEmpty(t, New(Config{Loopback: true}).CheckURL(private), "loopback only")
}

// Redirects are not followed; if one were followed, the guard would check its address
// too.
func TestRedirectsToNonPublicAddressesAreRefused(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.RedirectHandler("http://169.254.169.254/latest/meta-data", http.StatusFound))
	t.Cleanup(server.Close)
	guard := New(Config{Loopback: true})
	get := func(client *http.Client) (*http.Response, error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
		require.NoError(t, err)
		return client.Do(request)
	}
	answer, err := get(guard.Client(3 * time.Second))
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusFound, answer.StatusCode)
	answer, err = get(guard.Client(3*time.Second, FollowRedirects))
	if err == nil {
		require.NoError(t, answer.Body.Close())
	}
	require.Equal(t, "address", FailureReason(err))
}

// newTestResolver returns a resolver on this machine for a zone that answers every query
// with another address: the first one is public.
func newTestResolver(t *testing.T, answers ...string) *net.Resolver {
	t.Helper()
	zone, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	require.NoError(t, err)
	var serving sync.WaitGroup
	serving.Go(func() {
		for asked := 0; ; {
			packet := make([]byte, 1500)
			n, from, err := zone.ReadFrom(packet)
			var question dnsmessage.Message
			if err != nil || question.Unpack(packet[:n]) != nil {
				return
			}
			reply := dnsmessage.Message{Header: dnsmessage.Header{ID: question.ID, Response: true, Authoritative: true}, Questions: question.Questions}
			if q := question.Questions[0]; q.Type == dnsmessage.TypeA {
				address := netip.MustParseAddr(answers[min(asked, len(answers)-1)]).As4()
				reply.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class}, Body: &dnsmessage.AResource{A: address}}}
				asked++
			}
			if packed, err := reply.Pack(); err == nil {
				_, _ = zone.WriteTo(packed, from)
			}
		}
	})
	t.Cleanup(func() {
		_ = zone.Close()
		serving.Wait()
	})
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", zone.LocalAddr().String())
	}}
}

// A name resolves to a public address at first and to an internal one when the connection
// is made: the guard checks the address of the connection, so nothing internal is called.
func TestDNSRebindingIsRefused(t *testing.T) {
	t.Parallel()
	heard := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was connected to") }))
	t.Cleanup(heard.Close)
	_, port, err := net.SplitHostPort(heard.Listener.Addr().String())
	require.NoError(t, err)
	for _, second := range []string{"127.0.0.1", "169.254.169.254", "10.0.0.1", "100.64.0.1"} {
		guard := New(Config{})
		guard.resolver = newTestResolver(t, "93.184.215.14", second)
		u, err := url.Parse("http://rebinding.example.com:" + port + "/")
		require.NoError(t, err)
		found, err := guard.resolver.LookupIPAddr(t.Context(), u.Hostname())
		require.NoError(t, err)
		public, ok := netip.AddrFromSlice(found[0].IP)
		require.True(t, ok)
		require.NoError(t, guard.ssrfGuard.Safe("tcp4", netip.AddrPortFrom(public.Unmap(), 443).String(), nil), "by what it leads to now it is fine")
		for range 2 { // nor at the second attempt
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, u.String(), nil)
			require.NoError(t, err)
			answer, err := guard.Client(5 * time.Second).Do(request)
			if err == nil {
				require.NoError(t, answer.Body.Close())
			}
			require.Equal(t, "address", FailureReason(err), second)
		}
	}
}

// Proxies of the environment would connect to addresses that the guard rejects.
func TestProxiesOfTheEnvironmentAreIgnored(t *testing.T) { //nolint:paralleltest // it sets the environment
	asked := false
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	t.Cleanup(proxy.Close)
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"} {
		t.Setenv(name, proxy.URL)
	}
	client := New(Config{}).Client(time.Second)
	require.Nil(t, client.Transport.(guardedTransport).Proxy) //nolint:forcetypeassert // ours
	request, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet, "http://10.0.0.1/", nil)
	require.NoError(t, err)
	answer, err := client.Do(request)
	if err == nil {
		require.NoError(t, answer.Body.Close())
	}
	require.Equal(t, "address", FailureReason(err))
	require.False(t, asked)
}

// TestPortsAreCheckedWhenConnecting accepts a host name, which is resolved only at the
// connection.
func TestPortsAreCheckedWhenConnecting(t *testing.T) {
	t.Parallel()
	for address, fine := range map[string]bool{
		"93.184.215.14:443": true, "93.184.215.14:8443": true, "93.184.215.14:22": false, "93.184.215.14:5432": false, "[2606:4700::1111]:25": false,
		"127.0.0.1:22": false, "93.184.215.14": false,
	} {
		err := New(Config{}).checkConnection("tcp4", address, nil)
		if strings.HasPrefix(address, "[") {
			err = New(Config{}).checkConnection("tcp6", address, nil)
		}
		require.Equal(t, fine, err == nil, "%s: %v", address, err)
	}
	require.NoError(t, New(Config{Loopback: true}).checkConnection("tcp4", "127.0.0.1:22", nil), "development receivers take any port")
}
