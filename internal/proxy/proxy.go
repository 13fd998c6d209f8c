// Package proxy finds the address of a client behind reverse proxies.
//
// A proxy appends the address of its peer to X-Forwarded-For. Everything to the left of what
// a trusted proxy wrote can be invented by the client, so the header is read from the right,
// and only when the connection itself comes from a trusted proxy.
package proxy

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Networks are the networks of the trusted proxies.
type Networks []netip.Prefix

// ParseNetworks reads addresses (10.0.0.7) and networks (10.0.0.0/8, 2001:db8::/32).
func ParseNetworks(texts []string) (Networks, error) {
	var all Networks
	for _, text := range texts {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			address, bad := netip.ParseAddr(text)
			if bad != nil {
				return nil, fmt.Errorf("%q is neither an address nor a network: use 10.0.0.7 or 10.0.0.0/8", text)
			}
			network = netip.PrefixFrom(address, address.BitLen())
		}
		all = append(all, network.Masked())
	}
	return all, nil
}

// Handler gives next the address of the client in RemoteAddr. Without networks it is next
// itself.
func (n Networks) Handler(next http.Handler) http.Handler {
	if len(n) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if client, known := n.clientAddress(r); known {
			forwarded := *r // a handler must not change its request
			forwarded.RemoteAddr = net.JoinHostPort(client.String(), "0")
			r = &forwarded
		}
		next.ServeHTTP(w, r)
	})
}

// clientAddress returns the rightmost address of X-Forwarded-For that is no trusted proxy.
// It is unknown when the peer is not trusted, when the header is missing, and when it is
// not a list of addresses as far as it is read.
func (n Networks) clientAddress(r *http.Request) (netip.Addr, bool) {
	peer, known := parseAddress(r.RemoteAddr)
	if !known || !n.contain(peer) {
		return netip.Addr{}, false
	}
	chain := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, text := range slices.Backward(chain) {
		address, known := parseAddress(strings.TrimSpace(text))
		if !known {
			return netip.Addr{}, false
		}
		if !n.contain(address) {
			return address, true
		}
	}
	return netip.Addr{}, false // every address is one of a proxy
}

func (n Networks) contain(address netip.Addr) bool {
	return slices.ContainsFunc(n, func(network netip.Prefix) bool { return network.Contains(address) })
}

// parseAddress reads an address with or without a port.
func parseAddress(text string) (netip.Addr, bool) {
	address, err := netip.ParseAddr(text)
	if err != nil {
		withPort, err := netip.ParseAddrPort(text)
		if err != nil {
			return netip.Addr{}, false
		}
		address = withPort.Addr()
	}
	return address.Unmap(), address.Zone() == ""
}
