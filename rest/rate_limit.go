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

	"parapet/model"
)

// addressShare is how many clients one address is taken to hold: who shows no
// good token is counted by address, and whole companies share one.
const addressShare = 10

// limits counts callers with a token by partner, else by client, and all others
// by address.
func (d *door) limits() {
	switch _, off := d.Limiter.(Unlimited); {
	case off, d.Now == nil && d.Limiter == nil:
		d.Limiter = Unlimited{}
		return
	case d.Limiter == nil:
		d.Limiter = NewLimiter(RateLimit{}, d.Now)
	}
	if d.Strangers == nil && d.Now != nil {
		d.Strangers = NewLimiter(RateLimit{PerSecond: addressShare * 100}, d.Now)
	}
}

// probes are asked by whoever runs the server, as often as they like.
var probes = []string{"/healthz", "/readyz"}

// limitWithoutToken counts pages and documents that are read without a token by the
// address that reads them.
func (d *door) limitWithoutToken(ctx context.Context, c *call) error {
	reads := c.request.Method == http.MethodGet || c.request.Method == http.MethodHead
	if d.Strangers == nil || !reads || c.request.Header.Get("Authorization") != "" || slices.Contains(probes, c.request.URL.Path) {
		return nil
	}
	c.counted = true
	return c.limited(ctx, d.Strangers, address(c.request))
}

// limited refuses a caller who asks too often, and tells everybody how much is
// left.
func (c *call) limited(ctx context.Context, limiter Limiter, who string) error {
	decision := limiter.Take(ctx, who)
	if decision.Limit > 0 {
		c.tellLimit(decision)
	}
	if decision.Allowed {
		return nil
	}
	e := model.Fail(model.CodeRateLimited, "At most %d requests in one go, and %d a second after that. Wait, and spread them.",
		decision.Limit, perSecond(decision))
	e.RetryAfter = max(decision.RetryAfter, time.Millisecond)
	return e
}

func perSecond(d Decision) int {
	return int(math.Round(float64(d.Limit) / max(1e-9, d.Window.Seconds())))
}

// tellLimit writes the headers of draft-ietf-httpapi-ratelimit-headers-10, and
// the three of its earlier drafts that most clients read.
func (c *call) tellLimit(d Decision) {
	seconds := func(t time.Duration) string { return strconv.Itoa(int(math.Ceil(t.Seconds()))) }
	remaining, reset := strconv.Itoa(d.Remaining), seconds(max(d.Reset, d.RetryAfter)) // never sooner than Retry-After
	header := c.Header()
	header.Set("RateLimit-Policy", fmt.Sprintf(`"default";q=%d;w=%s`, d.Limit, seconds(d.Window)))
	header.Set("RateLimit", `"default";r=`+remaining+`;t=`+reset)
	header.Set("RateLimit-Limit", strconv.Itoa(d.Limit))
	header.Set("RateLimit-Remaining", remaining)
	header.Set("RateLimit-Reset", reset)
}

// holder is whose allowance an authenticated request uses.
func holder(actor model.Actor) string {
	if actor.Partner != "" {
		return "partner/" + actor.Partner
	}
	return "client/" + actor.Client
}

// address is whom a stranger is taken for. An IPv6 network of 64 bits is one
// household.
func address(r *http.Request) string {
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
