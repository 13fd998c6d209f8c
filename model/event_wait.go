package model

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// numberedEvery is how late a reader who waits hears of new events.
const numberedEvery = 50 * time.Millisecond

// bell rings when events were numbered, by whichever process. One small question
// to the database serves everybody in this process who waits; nobody asks while
// nobody waits.
type bell struct {
	mu       sync.Mutex
	waiting  int
	watching bool
	over     bool          // nobody waits any more
	rung     chan struct{} // closed at the next ring
}

// EndWaits answers everybody who waits for events, now and from now on: a server
// that stops must not wait for them.
func (s *Service) EndWaits() {
	s.numbered.mu.Lock()
	s.numbered.over = true
	s.numbered.mu.Unlock()
	s.numbered.ring()
}

// until tries at once and then after each ring, until it succeeds, the time is over
// or nobody is there any more to be told; neither end is an error.
func (b *bell) until(ctx context.Context, s *Service, wait time.Duration, try func() (bool, error)) error {
	if wait <= 0 {
		_, err := try()
		return err
	}
	over := time.NewTimer(wait)
	defer over.Stop()
	for {
		rung, leave := b.listen(s) //nolint:contextcheck // it watches for everybody, not for this caller
		done, err := try()
		if done || err != nil || b.ended() {
			leave()
			return err
		}
		select {
		case <-rung:
			leave()
		case <-over.C:
			leave()
			return nil
		case <-ctx.Done():
			leave()
			return nil
		}
	}
}

// listen returns a channel that closes at the next ring, and how to stop listening.
func (b *bell) listen(s *Service) (rung <-chan struct{}, leave func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rung == nil {
		b.rung = make(chan struct{})
	}
	b.waiting++
	if !b.watching {
		b.watching = true
		go b.watch(s)
	}
	return b.rung, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.waiting--
	}
}

// watch looks for new numbers as long as somebody waits. Its first look rings too:
// whoever began to wait may have asked just before a number it did not see come. A
// database that does not answer rings nobody; who waits hears of it from its own
// question.
func (b *bell) watch(s *Service) {
	tick := time.NewTicker(numberedEvery)
	defer tick.Stop()
	for seen := int64(-1); b.wanted(); <-tick.C {
		if passes, err := s.relayPasses(); err == nil && passes != seen {
			seen = passes
			b.ring()
		}
	}
}

func (s *Service) relayPasses() (passes int64, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err = s.pool.QueryRow(ctx, "select passes from event_relay", pgx.QueryExecModeCacheStatement).Scan(&passes)
	return passes, err
}

// wanted tells whether anybody waits; the watch ends when nobody does.
func (b *bell) wanted() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watching = b.waiting > 0
	return b.watching
}

func (b *bell) ended() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.over
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rung != nil {
		close(b.rung)
	}
	b.rung = make(chan struct{})
}
