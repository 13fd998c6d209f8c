package events

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// newWaiting adds a partner with this many subscribers to a notifier and returns a
// function that counts those that were woken.
func newWaiting(n *Notifier, partner string, count int) (woken func() int) {
	sub := &subscription{subscribers: count, waiting: waiters{}}
	if n.partners == nil {
		n.partners = map[string]*subscription{}
	}
	n.partners[partner] = sub
	var all []chan struct{}
	for range count {
		own := make(chan struct{})
		all = append(all, own)
		sub.waiting[own] = struct{}{}
	}
	return func() (count int) {
		for _, each := range all {
			select {
			case <-each:
				count++
			default:
			}
		}
		return count
	}
}

func TestSubscribersAreWokenInBatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := new(Notifier)
		acme, globex, initech := newWaiting(n, "acme", 1000), newWaiting(n, "globex", 1), newWaiting(n, "initech", 1)
		n.notifyPartners(map[string]int64{"acme": 1})
		synctest.Wait()
		require.Equal(t, wakeBatch, acme(), "the first batch at once")
		n.notifyPartners(map[string]int64{"globex": 1})
		<-time.After(wakeInterval)
		synctest.Wait()
		require.Equal(t, 1, globex(), "it does not wait for the thousand of another partner")
		<-time.After(1000 / wakeBatch * wakeInterval)
		synctest.Wait()
		require.Equal(t, []int{1000, 1, 0}, []int{acme(), globex(), initech()})
		require.False(t, n.isWaking)
	})
}

func TestEndingWaitsWakesAllAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := new(Notifier)
		acme := newWaiting(n, "acme", 1000)
		n.notifyPartners(map[string]int64{"acme": 1})
		n.mu.Lock()
		n.closed = true
		n.mu.Unlock()
		<-time.After(wakeInterval)
		synctest.Wait()
		require.Equal(t, 1000, acme())
	})
}

// After a restore the last sequence may be lower.
func TestLowerSequenceNotifies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := new(Notifier)
		woken := newWaiting(n, "acme", 1)
		n.partners["acme"].lastSequence = 5
		n.notifyPartners(map[string]int64{"acme": 5})
		synctest.Wait()
		require.Zero(t, woken())
		n.notifyPartners(map[string]int64{"acme": 3})
		synctest.Wait()
		require.Equal(t, 1, woken())
	})
}
