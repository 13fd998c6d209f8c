package model

import (
	"context"
	"sync"
	"time"
)

// numberedEvery is how late a reader who waits hears of new events.
const numberedEvery = 50 * time.Millisecond

// bell rings when events of a partner were numbered, by whichever process. Two
// small questions to the database serve everybody in this process who waits, the
// second only when something was numbered; nobody asks while nobody waits. Who
// waits for one partner's events does not hear of another's.
type bell struct {
	mu       sync.Mutex
	watching bool
	over     bool // nobody waits any more
	partners map[string]*listening
}

// listening is everybody who waits for one partner's events.
type listening struct {
	waiting int
	heard   int64         // the last sequence that was rung for; -1: nobody looked yet
	rung    chan struct{} // closed at the next ring
}

// EndWaits answers everybody who waits for events, now and from now on: a server
// that stops must not wait for them.
func (s *Service) EndWaits() {
	b := &s.numbered
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	for _, l := range b.partners {
		l.ring()
	}
}

// until tries at once and then after each ring of a partner's, until it succeeds,
// the time is over or nobody is there any more to be told; neither end is an error.
func (b *bell) until(ctx context.Context, s *Service, partner string, wait time.Duration, try func() (bool, error)) error {
	if wait <= 0 {
		_, err := try()
		return err
	}
	over := time.NewTimer(wait)
	defer over.Stop()
	for {
		rung, leave := b.listen(s, partner) //nolint:contextcheck // it watches for everybody, not for this caller
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

// listen returns a channel that closes at the partner's next ring, and how to stop
// listening.
func (b *bell) listen(s *Service, partner string) (rung <-chan struct{}, leave func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.partners == nil {
		b.partners = make(map[string]*listening)
	}
	l := b.partners[partner]
	if l == nil {
		l = &listening{heard: -1, rung: make(chan struct{})}
		b.partners[partner] = l
	}
	l.waiting++
	if !b.watching {
		b.watching = true
		go b.watch(s)
	}
	return l.rung, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		l.waiting--
	}
}

// watch looks for new numbers as long as somebody waits. The first look for a
// partner rings too: whoever began to wait may have asked just before a number it
// did not see come. A database that does not answer rings nobody; who waits hears
// of it from its own question.
func (b *bell) watch(s *Service) {
	tick := time.NewTicker(numberedEvery)
	defer tick.Stop()
	seen := -1
	for partners, fresh := b.wanted(); len(partners) > 0; partners, fresh = b.wanted() {
		passes, heads, err := s.numberedSince(seen, partners, fresh)
		if err == nil && heads != nil {
			seen = passes
			b.ring(heads)
		}
		<-tick.C
	}
}

// numberedSince tells how often the relay has passed, and, where that is news or a
// partner is fresh, the last sequence of each of the partners; nil otherwise.
func (s *Service) numberedSince(seen int, partners []string, fresh bool) (_ int, heads map[string]int64, _ error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	passes, err := s.preparedCount(ctx, "select passes from event_relay")
	if err != nil || passes == seen && !fresh {
		return passes, nil, err
	}
	var last []struct {
		Partner  string
		Sequence int64
	}
	err = s.preparedRows(ctx, s.pool, &last, "select p as partner, coalesce("+lastNumber("sequence", "p")+", 0) as sequence from unnest($1::text[]) p", partners)
	heads = make(map[string]int64, len(last))
	for _, each := range last {
		heads[each.Partner] = each.Sequence
	}
	return passes, heads, err
}

// wanted are the partners somebody waits for, and whether one of them is fresh:
// nobody looked for its events yet. Those whom nobody waits for any more are
// forgotten; the watch ends when there is nobody at all.
func (b *bell) wanted() (partners []string, fresh bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for partner, l := range b.partners {
		if l.waiting == 0 {
			delete(b.partners, partner)
			continue
		}
		partners, fresh = append(partners, partner), fresh || l.heard < 0
	}
	b.watching = len(partners) > 0
	return partners, fresh
}

// ring wakes those who wait for a partner that has a sequence they did not hear of.
func (b *bell) ring(heads map[string]int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for partner, head := range heads {
		l := b.partners[partner]
		if l == nil || l.heard >= head {
			continue
		}
		l.heard = head
		l.ring()
	}
}

func (l *listening) ring() {
	close(l.rung)
	l.rung = make(chan struct{})
}

func (b *bell) ended() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.over
}
