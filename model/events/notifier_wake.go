package events

import "time"

// Subscribers are woken wakeBatch at a time, one batch every wakeInterval: thousands that
// read and write at the same moment would keep all other requests of the process waiting
// for a second. At some 100 µs each, a batch takes little more than its interval on one
// processor.
const (
	wakeBatch    = 64
	wakeInterval = 5 * time.Millisecond
)

// notify hands the subscribers that wait now to the goroutine that wakes them. The caller
// holds n.mu.
func (n *Notifier) notify(sub *subscription) {
	if len(sub.waiting) == 0 {
		return
	}
	n.waking = append(n.waking, sub.waiting)
	sub.waiting = waiters{}
	if !n.isWaking {
		n.isWaking = true
		go n.wakeAll()
	}
}

// wakeAll wakes all notified subscribers, the first batch at once.
func (n *Notifier) wakeAll() {
	tick := time.NewTicker(wakeInterval)
	defer tick.Stop()
	for n.wakeSome() {
		<-tick.C
	}
}

// wakeSome wakes one batch, an equal share from each notification so that partners with
// few subscribers do not wait for the others, or everything after EndWaits. It reports
// whether some are left.
func (n *Notifier) wakeSome() (left bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	share := max(1, wakeBatch/max(1, len(n.waking)))
	var rest []waiters
	for _, notified := range n.waking {
		woken := 0
		for each := range notified {
			if woken == share && !n.closed {
				break
			}
			close(each)
			delete(notified, each)
			woken++
		}
		if len(notified) > 0 {
			rest = append(rest, notified)
		}
	}
	n.waking = rest
	n.isWaking = len(rest) > 0
	return n.isWaking
}
