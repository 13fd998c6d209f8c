package rest

import (
	"context"
	"math"
	"sync"
	"time"

	"parapet/model/partners"
)

// Limiter decides whether a caller may make one more request now.
type Limiter interface {
	// Take takes one request from the allowance of who, if there is one left. It must not
	// block.
	Take(ctx context.Context, who string) LimitDecision
}

// LimitDecision is the decision of a Limiter, with the values of the RateLimit headers.
type LimitDecision struct {
	Allowed    bool
	Limit      int           // burst of an unused allowance; 0 means no limit and no headers
	Remaining  int           // remaining requests
	Reset      time.Duration // until the allowance is full
	Window     time.Duration // time to refill an empty allowance
	RetryAfter time.Duration // until the next request, when not allowed
}

// Quota is a request allowance shared by all nodes. Nodes lease parts of it in the
// background; no request waits for it.
type Quota interface {
	// Lease takes up to want requests from the shared allowance of who. The granted
	// requests may be used on this node for the duration Until; when it grants nothing,
	// the node asks again after Until. After an error this node decides alone for a
	// while. The limits of the grant replace those of the server.
	Lease(ctx context.Context, who string, want int) (partners.Grant, error)
}

// RateLimit is the allowance of each caller. Zero members mean the contract's values: 100
// requests per second, a burst of 200, counted on this node only.
type RateLimit struct {
	PerSecond int
	Burst     int
	Quota     Quota
}

// NewLimiter returns a token bucket limiter that reads the time from now.
func NewLimiter(limit RateLimit, now func() time.Time) Limiter {
	if limit.PerSecond <= 0 {
		limit.PerSecond = 100
	}
	if limit.Burst <= 0 {
		limit.Burst = 2 * limit.PerSecond
	}
	return &bucketLimiter{RateLimit: limit, now: now, byCaller: map[string]*bucket{}}
}

// Unlimited allows every request.
type Unlimited struct{}

// Take allows the request.
func (Unlimited) Take(context.Context, string) LimitDecision { return LimitDecision{Allowed: true} }

// bucketLimiter holds one bucket per recent caller.
type bucketLimiter struct {
	RateLimit

	now       func() time.Time
	mu        sync.Mutex
	byCaller  map[string]*bucket
	cleanedAt time.Time
}

// bucket is a caller's allowance: its local tokens and its lease.
type bucket struct {
	perSecond, burst int // the server's until the first lease

	tokens     float64
	refilledAt time.Time // time at which tokens was computed

	leased         int       // negative: used before it was granted
	leaseExpiresAt time.Time // when the lease expires or may be requested again
	leaseRequested bool
	leaseExhausted bool      // the last lease did not cover the requests already used
	localUntil     time.Time // until then the shared allowance is not asked, because it failed
}

// Take implements Limiter.
func (l *bucketLimiter) Take(ctx context.Context, who string) LimitDecision {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	b := l.refilledBucket(who, now)
	if l.Quota == nil || now.Before(b.localUntil) {
		return b.takeLocal()
	}
	return l.takeLeased(ctx, who, b, now)
}

// refilledBucket returns the caller's bucket, refilled up to now.
func (l *bucketLimiter) refilledBucket(who string, now time.Time) *bucket {
	if now.Sub(l.cleanedAt) > time.Second {
		l.removeIdleBuckets(now)
	}
	b := l.byCaller[who]
	if b == nil {
		b = &bucket{perSecond: l.PerSecond, burst: l.Burst, tokens: float64(l.Burst), refilledAt: now}
		l.byCaller[who] = b
	}
	b.tokens = min(float64(b.burst), b.tokens+max(0, now.Sub(b.refilledAt).Seconds())*float64(b.perSecond))
	b.refilledAt = now
	return b
}

// removeIdleBuckets removes buckets that have been full for a while: a new one is
// equivalent.
func (l *bucketLimiter) removeIdleBuckets(now time.Time) {
	l.cleanedAt = now
	for who, b := range l.byCaller {
		if now.Sub(b.refilledAt) > 2*b.refillWindow() && !b.leaseRequested && !now.Before(b.leaseExpiresAt) && !now.Before(b.localUntil) {
			delete(l.byCaller, who)
		}
	}
}

// refillWindow returns the time to fill an empty bucket.
func (b *bucket) refillWindow() time.Duration {
	return time.Duration(float64(b.burst) / float64(b.perSecond) * float64(time.Second))
}

// takeLocal takes a token of this node.
func (b *bucket) takeLocal() LimitDecision {
	allowed := b.tokens >= 1
	if allowed {
		b.tokens--
	}
	d := b.newDecision(allowed, int(b.tokens))
	if !allowed {
		d.RetryAfter = b.refillDuration(1 - b.tokens)
	}
	return d
}

func (b *bucket) newDecision(allowed bool, remaining int) LimitDecision {
	remaining = min(max(0, remaining), b.burst)
	return LimitDecision{
		Allowed: allowed, Limit: b.burst, Remaining: remaining,
		Reset: b.refillDuration(float64(b.burst - remaining)), Window: b.refillWindow(),
	}
}

// refillDuration returns the time to gain this many tokens.
func (b *bucket) refillDuration(tokens float64) time.Duration {
	return time.Duration(math.Ceil(tokens / float64(b.perSecond) * float64(time.Second)))
}

// takeLeased takes one request from the lease and renews it before it is used up. While a
// renewal is pending, a caller may overdraw by at most one burst; the next lease pays
// that first.
func (l *bucketLimiter) takeLeased(ctx context.Context, who string, b *bucket, now time.Time) LimitDecision {
	over := !now.Before(b.leaseExpiresAt)
	if over && b.leased > 0 {
		b.leased = 0
	}
	if slice := max(1, b.burst/4); !b.leaseRequested && (over || b.leased > 0 && b.leased <= slice/2) {
		b.leaseRequested = true
		go l.requestLease(context.WithoutCancel(ctx), who, b, slice-min(0, b.leased))
	}
	allowed := b.leased > 0 || b.leaseRequested && !b.leaseExhausted && b.leased > -b.burst
	if allowed {
		b.leased--
	}
	d := b.newDecision(allowed, b.burst+min(0, b.leased))
	if !allowed {
		d.Remaining, d.RetryAfter = 0, max(b.refillDuration(1), b.leaseExpiresAt.Sub(now))
	}
	return d
}

// leaseTimeout limits a lease request; after a failed one this node decides alone for
// localOnlyFor.
const (
	leaseTimeout = 2 * time.Second
	localOnlyFor = 5 * time.Second
)

func (l *bucketLimiter) requestLease(ctx context.Context, who string, b *bucket, want int) {
	ctx, cancel := context.WithTimeout(ctx, leaseTimeout)
	defer cancel()
	grant, err := l.Quota.Lease(ctx, who, want)
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	b.leaseRequested = false
	if err != nil {
		b.leased, b.localUntil = 0, now.Add(localOnlyFor)
		return
	}
	if grant.PerSecond > 0 && grant.Burst > 0 {
		b.perSecond, b.burst = grant.PerSecond, grant.Burst
	}
	b.leased += max(0, grant.Granted)
	b.leaseExpiresAt, b.leaseExhausted = now.Add(grant.Until), b.leased <= 0
}
