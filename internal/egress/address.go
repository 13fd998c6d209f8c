package egress

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// servicePorts are unprivileged ports of services that do not speak HTTP or are never
// public: a request to them is an attempt to reach a database, queue or cluster (IANA's
// service name and port number registry).
var servicePorts = []uint16{
	1080, 1433, 1434, 1521, 1723, 1883, 2049, 2181, 2375, 2376, 2379, 2380, 3128, 3306, 3389, 4369, 5060, 5432, 5433, 5671, 5672, 5900, 5984, 5985, 5986,
	6000, 6379, 6380, 6443, 6667, 7000, 7001, 8020, 8086, 8500, 9042, 9092, 9160, 9200, 9300, 10250, 10255, 11211, 25672, 26379, 27017, 27018, 27019, 50070, 61616,
}

// privateSuffixes are names that no public DNS server resolves (RFC 6762, RFC 8375, RFC
// 6761, ICANN's private-use TLD internal), which clouds also use for metadata.
var privateSuffixes = []string{"localdomain", "local", "internal", "home.arpa", "lan", "intranet", "corp", "home"}

// CheckURL returns what is wrong with an address, without resolving it; empty when
// nothing is. Every connection is checked again.
func (g *Guard) CheckURL(u *url.URL) string {
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	loopback := isLoopbackName(host)
	address, err := netip.ParseAddr(host)
	if err == nil {
		loopback = address.Unmap().IsLoopback()
		if err := g.ssrfGuard.Safe(networkOf(address), net.JoinHostPort(host, "443"), nil); err != nil {
			return "Use an address on the public internet."
		}
	}
	switch {
	case u.Port() != "" && !isPort(u.Port()):
		return "Use a port from 1 to 65535."
	case !address.IsValid() && !isASCII(host):
		return "Write an international host name in its ASCII form, such as xn--bcher-kva.example."
	case !address.IsValid() && !isHostName(host):
		return "Use a host name such as hooks.example.com, or an IP address in its usual spelling."
	case loopback && !g.config.Loopback:
		return "Use an address on the public internet."
	case u.Scheme != "https" && (u.Scheme != "http" || !loopback):
		return "Use an https address."
	case !loopback && !strings.Contains(host, ".") && !strings.Contains(host, ":"):
		return "Use a host name with a domain, such as hooks.example.com."
	case !loopback && isPrivateName(host):
		return "Use an address on the public internet."
	case !loopback && u.Port() != "" && !isOpenPort(u.Port()):
		return "Use port 443, or a port from 1024 that belongs to no other service, such as 8443."
	default:
		return ""
	}
}

// isLoopbackName reports whether a name means this machine (RFC 6761 section 6.3, and the
// aliases of common hosts files).
func isLoopbackName(host string) bool {
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || host == "localhost.localdomain" || host == "localhost6.localdomain6"
}

func isPrivateName(host string) bool {
	return slices.ContainsFunc(privateSuffixes, func(suffix string) bool { return strings.HasSuffix(host, "."+suffix) })
}

func isPort(text string) bool {
	port, err := strconv.ParseUint(text, 10, 16)
	return err == nil && port > 0
}

// isOpenPort reports whether a public receiver may use this port.
func isOpenPort(text string) bool {
	port, err := strconv.ParseUint(text, 10, 16)
	return err == nil && (port == 443 || port >= 1024 && !slices.Contains(servicePorts, uint16(port)))
}

func isASCII(host string) bool {
	return strings.IndexFunc(host, func(r rune) bool { return r > 0x7e || r < 0x21 }) < 0
}

// isHostName reports whether a name is valid in the DNS (RFC 1035 section 2.3.4). No
// top-level domain begins with a digit: such a name is an unusual spelling of an IP
// address.
func isHostName(host string) bool {
	labels := strings.Split(host, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	first := labels[len(labels)-1][0]
	return len(host) <= 253 && (first < '0' || first > '9')
}

func networkOf(address netip.Addr) string {
	if address.Is4() {
		return "tcp4"
	}
	return "tcp6"
}
