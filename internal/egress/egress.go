// Package egress makes HTTP clients for addresses that callers configured (webhook
// endpoints, hazard feeds). Each connection is checked after name resolution, so that DNS
// rebinding and unusual address spellings cannot reach internal hosts.
package egress

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	"code.dny.dev/ssrf"

	"parapet/model/dbconn"
)

// Config configures what a Guard allows.
type Config struct {
	// Loopback allows 127.0.0.0/8 and ::1, with http in addition to https. Development
	// only.
	Loopback bool
	// Proxy is the only proxy used, which then checks addresses; nil connects directly.
	// The environment's proxies are ignored, because they would connect to addresses that
	// a Guard rejects.
	Proxy *url.URL
}

// Guard rejects every address that is not public: private, loopback, link-local, shared
// (CGNAT), metadata, multicast and reserved ranges, and IPv6 forms of an IPv4 address
// (mapped, NAT64, 6to4). The ranges are those of IANA's special-purpose registries,
// maintained by code.dny.dev/ssrf.
type Guard struct {
	config    Config
	ssrfGuard *ssrf.Guardian
	resolver  *net.Resolver // nil means the system's resolver
}

// New returns a guard.
func New(c Config) *Guard {
	options := []ssrf.Option{ssrf.WithAnyPort(), ssrf.WithDeniedV4Prefixes(netip.MustParsePrefix("168.63.129.16/32"))} // Azure's wire server
	if c.Loopback {
		options = append(options,
			ssrf.WithAllowedV4Prefixes(netip.MustParsePrefix("127.0.0.0/8")), ssrf.WithAllowedV6Prefixes(netip.MustParsePrefix("::1/128")))
	}
	return &Guard{config: c, ssrfGuard: ssrf.New(options...)}
}

// Limits of one connection.
const (
	connectTimeout = 10 * time.Second
	maxHeaderBytes = 64 << 10 // bytes
	maxIdlePerHost = 64
)

// Option changes a client.
type Option func(*http.Client)

// FollowRedirects follows up to ten redirects; each passes the guard.
func FollowRedirects(client *http.Client) { client.CheckRedirect = nil }

// Client returns a client whose calls pass the guard, keep no cookies and take at most
// timeout in all. It follows no redirects unless FollowRedirects is given.
func (g *Guard) Client(timeout time.Duration, options ...Option) *http.Client {
	dialer := &net.Dialer{Timeout: connectTimeout, KeepAlive: 30 * time.Second, Resolver: g.resolver}
	transport := &http.Transport{
		DialContext: dialer.DialContext, TLSHandshakeTimeout: connectTimeout, ForceAttemptHTTP2: true,
		MaxIdleConns: 1024, MaxIdleConnsPerHost: maxIdlePerHost, IdleConnTimeout: 90 * time.Second,
		MaxResponseHeaderBytes: maxHeaderBytes, DisableCompression: true,
	}
	if g.config.Proxy != nil {
		transport.Proxy = http.ProxyURL(g.config.Proxy)
	} else {
		dialer.Control = g.checkConnection
	}
	client := &http.Client{
		Transport: guardedTransport{transport}, Timeout: timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	for _, option := range options {
		option(client)
	}
	return client
}

// checkConnection rejects a prohibited address after name resolution.
func (g *Guard) checkConnection(network, address string, _ syscall.RawConn) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return ssrf.ErrInvalidHostPort
	}
	if resolved, err := netip.ParseAddr(host); err != nil || !resolved.Unmap().IsLoopback() && !isOpenPort(port) {
		return ssrf.ErrProhibitedPort
	}
	return g.ssrfGuard.Safe(network, address, nil)
}

// guardedTransport rejects calls inside a database transaction.
type guardedTransport struct{ *http.Transport }

// RoundTrip implements http.RoundTripper.
func (t guardedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := dbconn.RequireNoTransaction(request.Context()); err != nil {
		return nil, err
	}
	return t.Transport.RoundTrip(request)
}

// FailureReason returns why a call had no response: one word of a short list, which
// reveals nothing about our network.
func FailureReason(err error) string {
	var dns *net.DNSError
	var op *net.OpError
	timeout := interface{ Timeout() bool }(nil)
	switch {
	case errors.Is(err, ssrf.ErrProhibitedIP), errors.Is(err, ssrf.ErrProhibitedPort), errors.Is(err, ssrf.ErrProhibitedNetwork), errors.Is(err, ssrf.ErrInvalidHostPort):
		return "address"
	case errors.As(err, &dns):
		return "dns"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "timeout"
	case isTLSError(err):
		return "tls"
	case errors.As(err, &op) && op.Op == "dial":
		return "refused"
	default:
		return "connection"
	}
}
