package rest

import (
	"context"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"parapet/model/kernel/apperr"
)

// clientsPerAddress is the assumed number of clients per address. Requests without a
// valid token are counted by address, and whole companies share one.
const clientsPerAddress = 10

// setLimiters sets the limiter of callers with a token, by partner or else client, and
// the limiter of all others, by address.
func (s *server) setLimiters() {
	switch _, off := s.Limiter.(Unlimited); {
	case off, s.Now == nil && s.Limiter == nil:
		s.Limiter = Unlimited{}
		return
	case s.Limiter == nil:
		s.Limiter = NewLimiter(RateLimit{}, s.Now)
	}
	if s.AddressLimiter == nil && s.Now != nil {
		s.AddressLimiter = NewLimiter(RateLimit{PerSecond: clientsPerAddress * 100}, s.Now)
	}
}

// healthPaths are not limited, because monitoring polls them.
var healthPaths = []string{"/healthz", "/readyz"}

// limitByAddress limits pages and documents that are read without a token, by address.
func (s *server) limitByAddress(ctx context.Context, c *requestContext) error {
	reads := c.request.Method == http.MethodGet || c.request.Method == http.MethodHead
	if s.AddressLimiter == nil || !reads || c.request.Header.Get("Authorization") != "" || slices.Contains(healthPaths, c.request.URL.Path) {
		return nil
	}
	c.countedByAddress = true
	return c.checkRateLimit(ctx, s.AddressLimiter, addressKey(c.request))
}

// checkRateLimit rejects a caller above its limit and sets the rate-limit headers of
// every caller.
func (c *requestContext) checkRateLimit(ctx context.Context, limiter Limiter, who string) error {
	decision := limiter.Take(ctx, who)
	if decision.Limit > 0 {
		c.setRateLimitHeaders(decision)
	}
	if decision.Allowed {
		return nil
	}
	e := apperr.Fail(apperr.CodeRateLimited, "You can send at most %d requests at once, and then %d a second. Wait, and send them more slowly.",
		decision.Limit, perSecond(decision))
	e.RetryAfter = max(decision.RetryAfter, time.Millisecond)
	return e
}

func perSecond(d LimitDecision) int {
	return int(math.Round(float64(d.Limit) / max(1e-9, d.Window.Seconds())))
}

// setRateLimitHeaders writes the headers of draft-ietf-httpapi-ratelimit-headers-10, and
// the three of its earlier drafts that most clients read.
func (c *requestContext) setRateLimitHeaders(d LimitDecision) {
	seconds := func(t time.Duration) string { return strconv.Itoa(int(math.Ceil(t.Seconds()))) }
	remaining, reset := strconv.Itoa(d.Remaining), seconds(max(d.Reset, d.RetryAfter)) // not earlier than Retry-After
	header := c.Header()
	header.Set("RateLimit-Policy", fmt.Sprintf(`"default";q=%d;w=%s`, d.Limit, seconds(d.Window)))
	header.Set("RateLimit", `"default";r=`+remaining+`;t=`+reset)
	header.Set("RateLimit-Limit", strconv.Itoa(d.Limit))
	header.Set("RateLimit-Remaining", remaining)
	header.Set("RateLimit-Reset", reset)
}

// addressKey returns the key of the allowance of a caller without a token. An IPv6 /64
// network counts as one address.
func addressKey(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return "address/unknown"
	}
	if ip = ip.Unmap(); ip.Is6() {
		if network, err := ip.WithZone("").Prefix(64); err == nil {
			return "address/" + network.String()
		}
	}
	return "address/" + ip.String()
}
