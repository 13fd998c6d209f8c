package model

import (
	"context"
	"sync"
	"time"
)

// pollInterval is how late a reader who waits hears of new events.
const pollInterval = 50 * time.Millisecond

// notifier wakes subscribers when events of their partner get a sequence, in whichever
// process. One polling loop per process serves all subscribers and stops when there are
// none.
type notifier struct {
	mu       sync.Mutex
	polling  bool
	closed   bool // nobody waits any more
	partners map[string]*subscription
}

// subscription is everybody who waits for one partner's events.
type subscription struct {
	waiters      int
	lastSequence int64         // the last sequence that was rung for; -1: nobody looked yet
	notified     chan struct{} // closed at the next ring
}

// EndEventWaits answers everybody who waits for events, now and from now on: a server
// that stops must not wait for them.
func (s *Service) EndEventWaits() {
	n := &s.eventsSequenced
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	for _, sub := range n.partners {
		sub.notify()
	}
}

// waitUntil tries at once and then after each ring of a partner's, until it succeeds,
// the time is over or nobody is there any more to be told; neither end is an error.
func (n *notifier) waitUntil(ctx context.Context, s *Service, partner string, wait time.Duration, try func() (bool, error)) error {
	if wait <= 0 {
		_, err := try()
		return err
	}
	over := time.NewTimer(wait)
	defer over.Stop()
	for {
		rung, leave := n.subscribe(s, partner) //nolint:contextcheck // it watches for everybody, not for this caller
		done, err := try()
		if done || err != nil || n.isClosed() {
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

// subscribe returns a channel that closes at the partner's next ring, and how to stop
// listening.
func (n *notifier) subscribe(s *Service, partner string) (rung <-chan struct{}, leave func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.partners == nil {
		n.partners = make(map[string]*subscription)
	}
	sub := n.partners[partner]
	if sub == nil {
		sub = &subscription{lastSequence: -1, notified: make(chan struct{})}
		n.partners[partner] = sub
	}
	sub.waiters++
	if !n.polling {
		n.polling = true
		go n.pollSequences(s)
	}
	return sub.notified, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		sub.waiters--
	}
}

// pollSequences looks for new numbers as long as somebody waits. The first look for a
// partner rings too: whoever began to wait may have asked just before a number it
// did not see come. A database that does not answer rings nobody; who waits hears
// of it from its own question.
func (n *notifier) pollSequences(s *Service) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	seen := -1
	for partners, fresh := n.waitedPartners(); len(partners) > 0; partners, fresh = n.waitedPartners() {
		passes, heads, err := s.loadNewSequences(seen, partners, fresh)
		if err == nil && heads != nil {
			seen = passes
			n.notifyPartners(heads)
		}
		<-tick.C
	}
}

// loadNewSequences tells how often the relay has passed, and, where that is news or a
// partner is fresh, the last sequence of each of the partners; nil otherwise.
func (s *Service) loadNewSequences(seen int, partners []string, fresh bool) (_ int, heads map[string]int64, _ error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	passes, err := s.queryPreparedCount(ctx, "select passes from event_relay")
	if err != nil || passes == seen && !fresh {
		return passes, nil, err
	}
	var last []struct {
		Partner  string
		Sequence int64
	}
	err = s.queryPreparedRows(ctx, s.pool, &last, "select p as partner, coalesce("+lastSequenceSQL("sequence", "p")+", 0) as sequence from unnest($1::text[]) p", partners)
	heads = make(map[string]int64, len(last))
	for _, each := range last {
		heads[each.Partner] = each.Sequence
	}
	return passes, heads, err
}

// waitedPartners are the partners somebody waits for, and whether one of them is fresh:
// nobody looked for its events yet. Those whom nobody waits for any more are
// forgotten; the watch ends when there is nobody at all.
func (n *notifier) waitedPartners() (partners []string, fresh bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for partner, sub := range n.partners {
		if sub.waiters == 0 {
			delete(n.partners, partner)
			continue
		}
		partners, fresh = append(partners, partner), fresh || sub.lastSequence < 0
	}
	n.polling = len(partners) > 0
	return partners, fresh
}

// notifyPartners wakes those who wait for a partner that has a sequence they did not hear of.
func (n *notifier) notifyPartners(heads map[string]int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for partner, head := range heads {
		sub := n.partners[partner]
		if sub == nil || sub.lastSequence >= head {
			continue
		}
		sub.lastSequence = head
		sub.notify()
	}
}

func (sub *subscription) notify() {
	close(sub.notified)
	sub.notified = make(chan struct{})
}

func (n *notifier) isClosed() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.closed
}
