package rest_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/internal/gateway"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/partners"
	"parapet/rest"
)

// testClock is a clock that only the test advances.
type testClock struct {
	sync.Mutex
	at time.Time
}

func (w *testClock) now() time.Time {
	w.Lock()
	defer w.Unlock()
	return w.at
}

func (w *testClock) advance(d time.Duration) {
	w.Lock()
	defer w.Unlock()
	w.at = w.at.Add(d)
}

func countAllowed(t *testing.T, l rest.Limiter, who string, tries int) (n int) {
	t.Helper()
	for range tries {
		if l.Take(t.Context(), who).Allowed {
			n++
		}
	}
	return n
}

func TestBurstThenRate(t *testing.T) {
	t.Parallel()
	clock := &testClock{at: time.Unix(0, 0)}
	l := rest.NewLimiter(rest.RateLimit{}, clock.now)
	require.Equal(t, 200, countAllowed(t, l, "a", 300))
	d := l.Take(t.Context(), "a")
	require.Equal(t, rest.LimitDecision{Limit: 200, Reset: 2 * time.Second, Window: 2 * time.Second, RetryAfter: 10 * time.Millisecond}, d)
	require.Equal(t, 200, countAllowed(t, l, "b", 300), "everybody has an own bucket")
	clock.advance(500 * time.Millisecond)
	require.Equal(t, 50, countAllowed(t, l, "a", 300))
	clock.advance(-time.Hour)
	require.Zero(t, countAllowed(t, l, "a", 1), "a clock that is set back gives nothing")
	clock.advance(2 * time.Hour)
	require.Equal(t, 200, countAllowed(t, l, "a", 300))
}

func TestRateLimitHeaders(t *testing.T) {
	t.Parallel()
	clock := &testClock{at: time.Unix(0, 0)}
	handler := newHandler(t, func(c *rest.Config) { c.Limiter = rest.NewLimiter(rest.RateLimit{PerSecond: 1, Burst: 2}, clock.now) })
	call := request{"GET", "/v1/quotes/x", "", []string{"Authorization: Bearer unscoped"}}
	first := call.sendTo(t, handler)
	require.Equal(t, 403, first.StatusCode)
	require.Equal(t, `"default";q=2;w=2`, first.Header.Get("RateLimit-Policy"))
	require.Equal(t, `"default";r=1;t=1`, first.Header.Get("RateLimit"))
	require.Equal(t, "1", first.Header.Get("RateLimit-Remaining"))
	call.sendTo(t, handler)
	third := call.sendTo(t, handler)
	require.Equal(t, string(apperr.CodeRateLimited), requireProblem(t, third).Code)
	require.Equal(t, "1", third.Header.Get("Retry-After"))
	require.Equal(t, "0", third.Header.Get("RateLimit-Remaining"))
	clock.advance(time.Second)
	require.Equal(t, 403, call.sendTo(t, handler).StatusCode)
	require.Equal(t, 401, request{"GET", "/v1/quotes/x", "", []string{"Authorization: "}}.sendTo(t, handler).StatusCode)
}

// A caller without a token is counted by address, with a larger allowance.
func TestUnauthenticatedRequestsAreLimitedByAddress(t *testing.T) {
	t.Parallel()
	clock := &testClock{at: time.Unix(0, 0)}
	handler := newHandler(t, func(c *rest.Config) { c.Now = clock.now })
	codes := map[int]int{}
	for range 2100 {
		codes[request{"GET", "/v1/quotes/x", "", []string{"Authorization: Bearer forged"}}.sendTo(t, handler).StatusCode]++
	}
	require.Equal(t, map[int]int{http.StatusUnauthorized: 2000, http.StatusTooManyRequests: 100}, codes)
	require.Equal(t, 403, request{"GET", "/v1/quotes/x", "", []string{"Authorization: Bearer unscoped"}}.sendTo(t, handler).StatusCode)
}

// The limit of unauthenticated callers is a setting of its own, and can be switched off.
func TestAddressLimitIsSeparateFromPartnerLimit(t *testing.T) {
	t.Parallel()
	clock := &testClock{at: time.Unix(0, 0)}
	for limited, limiter := range map[int]rest.Limiter{
		97: rest.NewLimiter(rest.RateLimit{PerSecond: 1, Burst: 3}, clock.now), 0: rest.Unlimited{},
	} {
		handler := newHandler(t, func(c *rest.Config) { c.Now, c.Limiter, c.AddressLimiter = clock.now, rest.Unlimited{}, limiter })
		refusals := 0
		for range 100 {
			if (request{"GET", "/v1/quotes/x", "", []string{"Authorization: Bearer forged"}}).sendTo(t, handler).StatusCode == http.StatusTooManyRequests {
				refusals++
			}
		}
		require.Equal(t, limited, refusals)
		require.Equal(t, 403, request{"GET", "/v1/quotes/x", "", []string{"Authorization: Bearer unscoped"}}.sendTo(t, handler).StatusCode)
	}
}

func TestPagesAndDocumentsWithoutATokenAreLimitedByAddress(t *testing.T) {
	t.Parallel()
	clock := &testClock{at: time.Unix(0, 0)}
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	handler := newHandler(t, func(c *rest.Config) {
		c.Now, c.AddressLimiter = clock.now, rest.NewLimiter(rest.RateLimit{PerSecond: 1, Burst: 3}, clock.now)
		c.SharedHandlers = map[string]http.Handler{"/page": page}
	})
	status := func(method, path string) int {
		return request{method, path, "", []string{"Authorization: "}}.sendTo(t, handler).StatusCode
	}
	require.Equal(t, http.StatusOK, status("GET", "/docs"))
	require.Equal(t, http.StatusOK, status("HEAD", "/v1/openapi.json"))
	require.Equal(t, http.StatusNoContent, status("GET", "/page"))
	for _, path := range []string{"/docs", "/v1/openapi.yaml", "/page", "/nowhere", "/v1/quotes/x"} {
		require.Equal(t, http.StatusTooManyRequests, status("GET", path), path)
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		require.Equal(t, http.StatusOK, status("GET", path), path)
	}
	require.Equal(t, http.StatusNoContent, status("POST", "/page"), "what is sent is judged by the page")
	require.Equal(t, http.StatusForbidden, request{"GET", "/v1/quotes/x", "", []string{"Authorization: Bearer unscoped"}}.sendTo(t, handler).StatusCode, "a good token has its own limit")
	clock.advance(time.Second)
	require.Equal(t, http.StatusUnauthorized, status("GET", "/v1/quotes/x"), "a missing token is counted once")
	require.Equal(t, http.StatusTooManyRequests, status("GET", "/docs"))
}

// The challenge of RFC 9470 section 3, which a client answers with a new sign-in.
func TestStepUpChallengeNamesTheAgeOfTheSignIn(t *testing.T) {
	t.Parallel()
	page := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		refusal := actor.Actor{SignIn: &actor.SignIn{MaxAge: 15 * time.Minute}}.RequireRecentSignIn(time.Unix(0, 0))
		request := gateway.FromContext(r.Context())
		request.SetErrorHeaders(request.PublicError(r.Context(), refusal))
	})
	handler := newHandler(t, func(c *rest.Config) {
		c.BaseURL, c.SharedHandlers = "https://api.example.com", map[string]http.Handler{"/page": page}
	})
	require.Equal(t, `Bearer error="insufficient_user_authentication", max_age=900, resource_metadata="https://api.example.com/.well-known/oauth-protected-resource"`,
		request{"GET", "/page", "", nil}.sendTo(t, handler).Header.Get("WWW-Authenticate"))
}

func TestResponsesSetNosniffAndNoStore(t *testing.T) {
	t.Parallel()
	handler := newHandler(t, func(*rest.Config) {})
	for path, cached := range map[string]string{
		"/nowhere": "no-store", "/v1/quotes/x": "no-store", "/healthz": "no-store", "/readyz": "no-store", "/docs": "no-cache", "/v1/openapi.json": "no-cache",
	} {
		for _, method := range []string{"GET", "PUT"} {
			response := request{method, path, "", nil}.sendTo(t, handler)
			require.Equal(t, "nosniff", response.Header.Get("X-Content-Type-Options"), path)
			if method == "PUT" {
				cached = "no-store"
			}
			require.Equal(t, cached, response.Header.Get("Cache-Control"), "%s %s", method, path)
		}
	}
}

// testQuota is a shared allowance of a fixed number of requests.
type testQuota struct {
	sync.Mutex
	left, leases     int
	perSecond, burst int // 0: those of the server
	err              error
}

func (p *testQuota) Lease(_ context.Context, _ string, want int) (partners.Grant, error) {
	p.Lock()
	defer p.Unlock()
	p.leases++
	granted := min(want, p.left)
	p.left -= granted
	return partners.Grant{Granted: granted, Until: time.Second, PerSecond: p.perSecond, Burst: p.burst}, p.err
}

func TestGrantReplacesTheLimitsOfTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		clock, shared := &testClock{at: time.Unix(0, 0)}, &testQuota{left: 1000, perSecond: 5, burst: 8}
		limiter := rest.NewLimiter(rest.RateLimit{PerSecond: 100, Burst: 200, Quota: shared}, clock.now)
		require.Equal(t, 200, limiter.Take(t.Context(), "partner/acme").Limit)
		synctest.Wait()
		d := limiter.Take(t.Context(), "partner/acme")
		require.Equal(t, 8, d.Limit)
		require.Equal(t, 1600*time.Millisecond, d.Window)
		require.Equal(t, 200, limiter.Take(t.Context(), "partner/globex").Limit, "until its own lease")
	})
}

// Several nodes together allow at most the shared quota plus one burst per node, and ask
// the database far less often than callers ask them.
func TestNodesShareAQuota(t *testing.T) {
	t.Parallel()
	synctest.Test(t, checkSharedQuota)
}

func checkSharedQuota(t *testing.T) {
	t.Helper()
	clock, shared := &testClock{at: time.Unix(0, 0)}, &testQuota{left: 1000}
	var nodes []rest.Limiter
	for range 3 {
		nodes = append(nodes, rest.NewLimiter(rest.RateLimit{Quota: shared}, clock.now))
	}
	given := 0
	for range 100 {
		for _, node := range nodes {
			given += countAllowed(t, node, "a", 20)
			synctest.Wait() // for leases
		}
		clock.advance(100 * time.Millisecond)
	}
	require.GreaterOrEqual(t, given, 900)
	require.LessOrEqual(t, given, 1000+3*200)
	require.Less(t, shared.leases, given/2)
}

func TestLimiterCountsLocallyWhenTheQuotaFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		clock, shared := &testClock{at: time.Unix(0, 0)}, &testQuota{err: errors.New("gone")}
		node := rest.NewLimiter(rest.RateLimit{Quota: shared}, clock.now)
		require.Equal(t, 1, countAllowed(t, node, "a", 1))
		synctest.Wait()
		require.Equal(t, 200, countAllowed(t, node, "a", 1000))
		require.Equal(t, 1, shared.leases)
		clock.advance(10 * time.Second)
		require.Equal(t, 1, countAllowed(t, node, "a", 1))
		synctest.Wait()
		require.Equal(t, 2, shared.leases, "asked again after a while")
	})
}
