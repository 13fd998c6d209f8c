package events

import (
	"context"
	"sync"
	"time"

	"parapet/model/kernel/store"
)

// pollInterval is the maximum delay of a notification about new events.
const pollInterval = 50 * time.Millisecond

// Notifier wakes subscribers when events of their partner get a sequence, in any process.
// One polling loop per process serves all subscribers and stops when there are none. A
// subscriber costs a map entry: it holds neither a connection nor a transaction.
type Notifier struct {
	mu       sync.Mutex
	polling  bool
	closed   bool // subscribers no longer wait
	partners map[string]*subscription
	waking   []waiters // notified, not woken yet
	isWaking bool      // a goroutine wakes them
	reads    sharedReads
}

// subscription is shared by all subscribers of one partner's events.
type subscription struct {
	subscribers  int
	lastSequence int64 // the last sequence that was notified; -1: not read yet
	waiting      waiters
}

// waiters are the channels of subscribers; each is closed once, at the next notification.
type waiters map[chan struct{}]struct{}

// EndWaits ends all present and future waits for events, so that a stopping server
// does not wait for them.
func (s *Service) EndWaits() {
	n := store.Local[Notifier](s.Store)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	for _, sub := range n.partners {
		n.notify(sub)
	}
}

// WaitUntil calls try at once and after each notification of the partner, until it
// succeeds, the time is over, ctx ends or EndWaits is called; none of these is an
// error. head is the partner's last sequence as it was notified; -1: not known.
func (n *Notifier) WaitUntil(ctx context.Context, s *store.Store, partner string, wait time.Duration, try func(head int64) (bool, error)) error {
	if wait <= 0 {
		_, err := try(-1)
		return err
	}
	over := time.NewTimer(wait)
	defer over.Stop()
	for {
		notified, head, unsubscribe := n.subscribe(s, partner) //nolint:contextcheck // the loop serves all subscribers, not only this caller
		done, err := try(head)
		if done || err != nil || n.isClosed() {
			unsubscribe()
			return err
		}
		select {
		case <-notified:
			unsubscribe()
		case <-over.C:
			unsubscribe()
			return nil
		case <-ctx.Done():
			unsubscribe()
			return nil
		}
	}
}

// subscribe returns a channel that closes at the partner's next notification, the last
// sequence that was notified (-1: not known yet), and a function that ends the
// subscription.
func (n *Notifier) subscribe(s *store.Store, partner string) (notified <-chan struct{}, head int64, unsubscribe func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.partners == nil {
		n.partners = make(map[string]*subscription)
	}
	sub := n.partners[partner]
	if sub == nil {
		sub = &subscription{lastSequence: -1, waiting: waiters{}}
		n.partners[partner] = sub
	}
	sub.subscribers++
	own := make(chan struct{})
	sub.waiting[own] = struct{}{}
	if !n.polling {
		n.polling = true
		go n.pollSequences(s)
	}
	return own, sub.lastSequence, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		sub.subscribers--
		delete(sub.waiting, own)
	}
}

// pollSequences looks for new sequences while there are subscribers. The first result for
// a partner also notifies, because a subscriber may have read just before a sequence was
// assigned. When the database does not answer, it notifies no one; subscribers get the
// error from their own reads.
func (n *Notifier) pollSequences(s *store.Store) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	seen := -1
	for partners, fresh := n.waitedPartners(); len(partners) > 0; partners, fresh = n.waitedPartners() {
		passes, heads, err := loadNewSequences(s, seen, partners, fresh)
		if err == nil && heads != nil {
			seen = passes
			n.notifyPartners(heads)
		}
		<-tick.C
	}
}

// loadNewSequences returns the number of relay passes and, if that number changed or
// fresh is set, the last sequence of each partner; otherwise nil.
func loadNewSequences(s *store.Store, seen int, partners []string, fresh bool) (_ int, heads map[string]int64, _ error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	passes, err := s.QueryPreparedCount(ctx, "select generation from event_relay")
	if err != nil || passes == seen && !fresh {
		return passes, nil, err
	}
	var last []struct {
		Partner  string
		Sequence int64
	}
	err = s.QueryPreparedRows(ctx, s.Pool, &last, "select p as partner, coalesce("+LastSequenceSQL("sequence", "p")+", 0) as sequence from unnest($1::text[]) p", partners)
	heads = make(map[string]int64, len(last))
	for _, each := range last {
		heads[each.Partner] = each.Sequence
	}
	return passes, heads, err
}

// waitedPartners returns the partners that have subscribers, and whether the events of
// one of them were never read. It deletes subscriptions without subscribers; the polling
// loop ends when none is left.
func (n *Notifier) waitedPartners() (partners []string, fresh bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for partner, sub := range n.partners {
		if sub.subscribers == 0 {
			delete(n.partners, partner)
			continue
		}
		partners, fresh = append(partners, partner), fresh || sub.lastSequence < 0
	}
	n.polling = len(partners) > 0
	n.reads.removeOld(n.polling)
	return partners, fresh
}

// notifyPartners notifies the subscribers of each partner whose last sequence is new to
// them. After a restore it may be a lower one.
func (n *Notifier) notifyPartners(heads map[string]int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for partner, head := range heads {
		sub := n.partners[partner]
		if sub == nil || sub.lastSequence == head {
			continue
		}
		sub.lastSequence = head
		n.notify(sub)
	}
}

func (n *Notifier) isClosed() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.closed
}
