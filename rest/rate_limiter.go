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
	Take(ctx context.Context, who string) Decision
}

// Decision is what a Limiter says, and what the RateLimit headers tell of it.
type Decision struct {
	Allowed    bool
	Limit      int           // requests in one go when nothing was used; 0 means no limit and no headers
	Remaining  int           // of these, left now
	Reset      time.Duration // until all are back
	Window     time.Duration // in which an empty allowance is refilled
	RetryAfter time.Duration // until the next one, when not allowed
}

// Quota is an allowance that several nodes share. It is asked for slices, in the
// background: no request waits for it or pays for it.
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
	return &buckets{RateLimit: limit, now: now, of: map[string]*bucket{}}
}

// Unlimited lets everybody through.
type Unlimited struct{}

// Take allows.
func (Unlimited) Take(context.Context, string) Decision { return Decision{Allowed: true} }

// buckets is one bucket for everybody who was here lately.
type buckets struct {
	RateLimit

	now   func() time.Time
	mu    sync.Mutex
	of    map[string]*bucket
	swept time.Time
}

// bucket is somebody's allowance: as this node counts it alone, and as it was
// leased.
type bucket struct {
	tokens float64
	at     time.Time // when tokens was true

	leased  int       // below zero: used before it was granted
	until   time.Time // when what was leased is void, or may be asked for again
	asking  bool
	refused bool      // the last lease did not cover what had been used
	alone   time.Time // until then the shared allowance is not asked: it failed
}

// Take implements Limiter.
func (l *buckets) Take(ctx context.Context, who string) Decision {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	b := l.bucket(who, now)
	if l.Quota == nil || now.Before(b.alone) {
		return l.count(b)
	}
	return l.spend(ctx, who, b, now)
}

// bucket finds somebody's bucket and fills it up to now.
func (l *buckets) bucket(who string, now time.Time) *bucket {
	if now.Sub(l.swept) > time.Second {
		l.sweep(now)
	}
	b := l.of[who]
	if b == nil {
		b = &bucket{tokens: float64(l.Burst), at: now}
		l.of[who] = b
	}
	b.tokens = min(float64(l.Burst), b.tokens+max(0, now.Sub(b.at).Seconds())*float64(l.PerSecond))
	b.at = now
	return b
}

// sweep forgets buckets that have been full for a while: a new one is the same.
func (l *buckets) sweep(now time.Time) {
	l.swept = now
	for who, b := range l.of {
		if now.Sub(b.at) > 2*l.window() && !b.asking && !now.Before(b.until) && !now.Before(b.alone) {
			delete(l.of, who)
		}
	}
}

// window is how long an empty bucket takes to fill.
func (l *buckets) window() time.Duration {
	return time.Duration(float64(l.Burst) / float64(l.PerSecond) * float64(time.Second))
}

// count takes a token of this node's own.
func (l *buckets) count(b *bucket) Decision {
	allowed := b.tokens >= 1
	if allowed {
		b.tokens--
	}
	d := l.decision(allowed, int(b.tokens))
	if !allowed {
		d.RetryAfter = l.time(1 - b.tokens)
	}
	return d
}

func (l *buckets) decision(allowed bool, remaining int) Decision {
	remaining = min(max(0, remaining), l.Burst)
	return Decision{
		Allowed: allowed, Limit: l.Burst, Remaining: remaining,
		Reset: l.time(float64(l.Burst - remaining)), Window: l.window(),
	}
}

// time is how long so many tokens take to come.
func (l *buckets) time(tokens float64) time.Duration {
	return time.Duration(math.Ceil(tokens / float64(l.PerSecond) * float64(time.Second)))
}

// spend takes from what was leased, and asks for more before it is used up.
// While it asks, somebody in good standing is served on account, one burst at
// most; the next grant pays that first.
func (l *buckets) spend(ctx context.Context, who string, b *bucket, now time.Time) Decision {
	over := !now.Before(b.until)
	if over && b.leased > 0 {
		b.leased = 0
	}
	if slice := max(1, l.Burst/4); !b.asking && (over || b.leased > 0 && b.leased <= slice/2) {
		b.asking = true
		go l.lease(context.WithoutCancel(ctx), who, b, slice-min(0, b.leased))
	}
	allowed := b.leased > 0 || b.asking && !b.refused && b.leased > -l.Burst
	if allowed {
		b.leased--
	}
	d := l.decision(allowed, l.Burst+min(0, b.leased))
	if !allowed {
		d.Remaining, d.RetryAfter = 0, max(l.time(1), b.until.Sub(now))
	}
	return d
}

// leaseTimeout is how long a lease may take, and aloneFor how long this node
// decides alone after one failed.
const (
	leaseTimeout = 2 * time.Second
	aloneFor     = 5 * time.Second
)

func (l *buckets) lease(ctx context.Context, who string, b *bucket, want int) {
	ctx, cancel := context.WithTimeout(ctx, leaseTimeout)
	defer cancel()
	granted, until, err := l.Quota.Lease(ctx, who, want)
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	b.asking = false
	if err != nil {
		b.leased, b.alone = 0, now.Add(aloneFor)
		return
	}
	b.leased += max(0, granted)
	b.until, b.refused = now.Add(until), b.leased <= 0
}
