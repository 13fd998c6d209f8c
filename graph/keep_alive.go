package graph

import (
	"context"
	"sync"
	"time"

	"parapet/model/kernel/actor"
)

// keepAlive sends the heartbeats of one stream. Between them it is a timer without a
// goroutine, because a server has thousands of streams.
type keepAlive struct {
	streams *streams
	actor   actor.Actor
	end     context.CancelCauseFunc
	beat    func() error

	mu      sync.Mutex
	stopped bool
	timer   *time.Timer
	beating sync.WaitGroup
}

// startKeepAlive sends heartbeats until ctx ends or stop is called, and ends the stream
// when the token expires, the server stops or the client does not answer. After stop no
// heartbeat runs.
func (s *streams) startKeepAlive(ctx context.Context, actor actor.Actor, end context.CancelCauseFunc, beat func() error) (stop func()) {
	k := &keepAlive{streams: s, actor: actor, end: end, beat: beat}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.timer = time.AfterFunc(k.untilNext(), k.tick)
	forgetClosing := context.AfterFunc(s.closing, func() { end(errStopping()) }) //nolint:contextcheck // the server's end, not the stream's
	forgetEnd := context.AfterFunc(ctx, k.cancel)
	return func() {
		forgetClosing()
		forgetEnd()
		k.cancel()
		k.beating.Wait()
	}
}

// untilNext returns the time until the next heartbeat or the token's expiry.
func (k *keepAlive) untilNext() time.Duration {
	s := k.streams
	if s.Now == nil || k.actor.ExpiresAt.IsZero() {
		return s.Heartbeat
	}
	return max(0, min(s.Heartbeat, k.actor.ExpiresAt.Sub(s.Now())))
}

// cancel ends the timer; a running heartbeat goes on.
func (k *keepAlive) cancel() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stopped = true
	k.timer.Stop()
}

// tick sends one heartbeat and sets the timer for the next.
func (k *keepAlive) tick() {
	k.mu.Lock()
	if k.stopped {
		k.mu.Unlock()
		return
	}
	k.beating.Add(1)
	k.mu.Unlock()
	defer k.beating.Done()
	if k.streams.isExpired(k.actor) {
		k.end(errExpired())
		return
	}
	if err := k.beat(); err != nil {
		k.end(err)
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.stopped {
		k.timer.Reset(k.untilNext())
	}
}
