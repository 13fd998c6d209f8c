package rest

import (
	"context"
	"math"
	"sync"
	"time"
)

// Limiter tells whether somebody may make one more request now.
type Limiter interface {
	// Take takes one request from who's allowance, if there is one left. It must
	// not wait for anything.
	Take(ctx context.Context, who string) LimitDecision
}

// LimitDecision is what a Limiter says, and what the RateLimit headers tell of it.
type LimitDecision struct {
	Allowed    bool
	Limit      int           // requests in one go when nothing was used; 0 means no limit and no headers
	Remaining  int           // of these, left now
	Reset      time.Duration // until all are back
	Window     time.Duration // in which an empty allowance is refilled
	RetryAfter time.Duration // until the next one, when not allowed
}

// Quota is a request allowance shared by all nodes. Nodes lease parts of it in the
// background; no request waits for it.
type Quota interface {
	// Lease takes up to want requests from who's shared allowance. What it grants
	// may be used here for the duration until; when it grants nothing, it is asked
	// again after until. An error lets this node decide alone for a while.
	Lease(ctx context.Context, who string, want int) (granted int, until time.Duration, err error)
}

// RateLimit is how much everybody may ask. Zero members mean the contract's
// numbers: 100 requests a second, 200 in one go, counted on this node alone.
type RateLimit struct {
	PerSecond int
	Burst     int
	Quota     Quota
}

// NewLimiter counts in token buckets, with the clock it is given.
func NewLimiter(limit RateLimit, now func() time.Time) Limiter {
	if limit.PerSecond <= 0 {
		limit.PerSecond = 100
	}
	if limit.Burst <= 0 {
		limit.Burst = 2 * limit.PerSecond
	}
	return &bucketLimiter{RateLimit: limit, now: now, byCaller: map[string]*bucket{}}
}

// Unlimited lets everybody through.
type Unlimited struct{}

// Take allows.
func (Unlimited) Take(context.Context, string) LimitDecision { return LimitDecision{Allowed: true} }

// bucketLimiter is one bucket for everybody who was here lately.
type bucketLimiter struct {
	RateLimit

	now       func() time.Time
	mu        sync.Mutex
	byCaller  map[string]*bucket
	cleanedAt time.Time
}

// bucket is somebody's allowance: as this node counts it alone, and as it was
// leased.
type bucket struct {
	tokens     float64
	refilledAt time.Time // when tokens was true

	leased         int       // below zero: used before it was granted
	leaseExpiresAt time.Time // when what was leased is void, or may be asked for again
	leaseRequested bool
	leaseExhausted bool      // the last lease did not cover what had been used
	localUntil     time.Time // until then the shared allowance is not asked: it failed
}

// Take implements Limiter.
func (l *bucketLimiter) Take(ctx context.Context, who string) LimitDecision {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	b := l.refilledBucket(who, now)
	if l.Quota == nil || now.Before(b.localUntil) {
		return l.takeLocal(b)
	}
	return l.takeLeased(ctx, who, b, now)
}

// refilledBucket finds somebody's bucket and fills it up to now.
func (l *bucketLimiter) refilledBucket(who string, now time.Time) *bucket {
	if now.Sub(l.cleanedAt) > time.Second {
		l.removeIdleBuckets(now)
	}
	b := l.byCaller[who]
	if b == nil {
		b = &bucket{tokens: float64(l.Burst), refilledAt: now}
		l.byCaller[who] = b
	}
	b.tokens = min(float64(l.Burst), b.tokens+max(0, now.Sub(b.refilledAt).Seconds())*float64(l.PerSecond))
	b.refilledAt = now
	return b
}

// removeIdleBuckets forgets buckets that have been full for a while: a new one is the same.
func (l *bucketLimiter) removeIdleBuckets(now time.Time) {
	l.cleanedAt = now
	for who, b := range l.byCaller {
		if now.Sub(b.refilledAt) > 2*l.refillWindow() && !b.leaseRequested && !now.Before(b.leaseExpiresAt) && !now.Before(b.localUntil) {
			delete(l.byCaller, who)
		}
	}
}

// refillWindow is how long an empty bucket takes to fill.
func (l *bucketLimiter) refillWindow() time.Duration {
	return time.Duration(float64(l.Burst) / float64(l.PerSecond) * float64(time.Second))
}

// takeLocal takes a token of this node's own.
func (l *bucketLimiter) takeLocal(b *bucket) LimitDecision {
	allowed := b.tokens >= 1
	if allowed {
		b.tokens--
	}
	d := l.newDecision(allowed, int(b.tokens))
	if !allowed {
		d.RetryAfter = l.refillDuration(1 - b.tokens)
	}
	return d
}

func (l *bucketLimiter) newDecision(allowed bool, remaining int) LimitDecision {
	remaining = min(max(0, remaining), l.Burst)
	return LimitDecision{
		Allowed: allowed, Limit: l.Burst, Remaining: remaining,
		Reset: l.refillDuration(float64(l.Burst - remaining)), Window: l.refillWindow(),
	}
}

// refillDuration is how long so many tokens take to come.
func (l *bucketLimiter) refillDuration(tokens float64) time.Duration {
	return time.Duration(math.Ceil(tokens / float64(l.PerSecond) * float64(time.Second)))
}

// takeLeased takes one request from the lease and renews it before it is used up. While a
// renewal is pending, a caller may overdraw by at most one burst; the next lease pays
// that first.
func (l *bucketLimiter) takeLeased(ctx context.Context, who string, b *bucket, now time.Time) LimitDecision {
	over := !now.Before(b.leaseExpiresAt)
	if over && b.leased > 0 {
		b.leased = 0
	}
	if slice := max(1, l.Burst/4); !b.leaseRequested && (over || b.leased > 0 && b.leased <= slice/2) {
		b.leaseRequested = true
		go l.requestLease(context.WithoutCancel(ctx), who, b, slice-min(0, b.leased))
	}
	allowed := b.leased > 0 || b.leaseRequested && !b.leaseExhausted && b.leased > -l.Burst
	if allowed {
		b.leased--
	}
	d := l.newDecision(allowed, l.Burst+min(0, b.leased))
	if !allowed {
		d.Remaining, d.RetryAfter = 0, max(l.refillDuration(1), b.leaseExpiresAt.Sub(now))
	}
	return d
}

// leaseTimeout is how long a lease may take, and localOnlyFor how long this node
// decides alone after one failed.
const (
	leaseTimeout = 2 * time.Second
	localOnlyFor = 5 * time.Second
)

func (l *bucketLimiter) requestLease(ctx context.Context, who string, b *bucket, want int) {
	ctx, cancel := context.WithTimeout(ctx, leaseTimeout)
	defer cancel()
	granted, until, err := l.Quota.Lease(ctx, who, want)
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	b.leaseRequested = false
	if err != nil {
		b.leased, b.localUntil = 0, now.Add(localOnlyFor)
		return
	}
	b.leased += max(0, granted)
	b.leaseExpiresAt, b.leaseExhausted = now.Add(until), b.leased <= 0
}
