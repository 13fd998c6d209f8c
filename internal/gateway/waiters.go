package gateway

import (
	"sync"
	"time"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
)

// waitersRetryAfter is when a caller may try again after it was refused.
const waitersRetryAfter = 5 * time.Second

// Waiters counts the callers that wait for events in this process: requests for the feed
// with wait, subscriptions and sockets. A waiter holds no database connection and costs
// 26 to 56 KiB of memory. Waiters may be used concurrently; nil has no limit.
type Waiters struct {
	perPartner, perProcess int

	mu       sync.Mutex
	byCaller map[string]int
	total    int
}

// NewWaiters returns a counter with the highest number of waiters of one partner (or
// client, without a partner) and of the process.
func NewWaiters(perPartner, perProcess int) *Waiters {
	return &Waiters{perPartner: perPartner, perProcess: perProcess, byCaller: map[string]int{}}
}

// Acquire counts one more waiter until release is called, which may be called repeatedly.
// Errors: rate_limited above the partner's limit, unavailable above that of the process.
func (w *Waiters) Acquire(caller actor.Actor) (release func(), err error) {
	if w == nil {
		return func() {}, nil
	}
	who := caller.CallerName()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byCaller[who] >= w.perPartner {
		return nil, refuseWaiter(apperr.CodeRateLimited,
			"You have %d subscriptions, sockets and requests with wait open on this server, the most that are allowed. Close one first, or read the feed without wait.", w.perPartner)
	}
	if w.total >= w.perProcess {
		return nil, refuseWaiter(apperr.CodeUnavailable,
			"This server has %d subscriptions, sockets and requests with wait open, the most that it takes. Try again in a moment, or read the feed without wait.", w.perProcess)
	}
	w.byCaller[who]++
	w.total++
	return sync.OnceFunc(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.total--
		if w.byCaller[who]--; w.byCaller[who] == 0 {
			delete(w.byCaller, who)
		}
	}), nil
}

// Count returns the number of waiters of the process.
func (w *Waiters) Count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.total
}

func refuseWaiter(code apperr.Code, format string, limit int) error {
	refused := apperr.Fail(code, format, limit)
	refused.RetryAfter = waitersRetryAfter
	return refused
}
