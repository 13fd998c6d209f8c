package jobs

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"

	"parapet/jobs/rail"
	"parapet/model/payouts"
)

func TestRailPaceLimitsOrdersPerSecond(t *testing.T) {
	t.Parallel()
	for most, workers := range map[int]int{1: 32, 1000: 3} {
		synctest.Test(t, func(t *testing.T) {
			pace := newRailPace(100, time.Now)
			began := time.Now()
			var mu sync.Mutex
			var sent []takenOrders
			var all sync.WaitGroup
			for range workers {
				all.Go(func() {
					for time.Since(began) < 10*time.Second {
						// Which of the waiting workers is next is left to chance: one
						// that finds no order for maxPaceWait tries again, as its job does.
						taken, ok := pace.acquire(t.Context(), most)
						if !ok {
							continue
						}
						mu.Lock()
						sent = append(sent, taken)
						mu.Unlock()
					}
				})
			}
			all.Wait()
			total := 0
			for i, first := range sent {
				total += first.orders
				second := 0
				for _, next := range sent[i:] {
					if next.at.Sub(first.at) < time.Second {
						second += next.orders
					}
				}
				require.LessOrEqual(t, second, 100, "%d at a time", most)
			}
			require.GreaterOrEqual(t, total, 1000, "the whole rate is used")
		})
	}
}

func TestRailPaceReturnsWhatWasNotSentAndEndsWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pace := newRailPace(1, time.Now)
		taken, ok := pace.acquire(t.Context(), 1)
		require.True(t, ok)
		pace.giveBack(taken, 1)
		began := time.Now()
		_, ok = pace.acquire(t.Context(), 1)
		require.True(t, ok)
		require.Zero(t, time.Since(began), "the first was given back")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, ok = pace.acquire(ctx, 1)
		require.False(t, ok)
		var none *railPace
		taken, ok = none.acquire(ctx, 7)
		require.Equal(t, []any{7, true}, []any{taken.orders, ok})
	})
}

// Orders of others that were sent stay counted, also when those that were given back were
// taken earlier.
func TestRailPaceReturnsOnlyOrdersThatWereTakenTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pace := newRailPace(100, time.Now)
		take := func(most int) takenOrders {
			taken, ok := pace.acquire(t.Context(), most)
			require.True(t, ok)
			return taken
		}
		first := take(50)
		<-time.After(900 * time.Millisecond)
		second := take(50)
		pace.giveBack(second, 50)
		<-time.After(100 * time.Millisecond)
		require.Equal(t, 100, take(1000).orders, "the first were counted for a second")
		<-time.After(time.Second)
		take(50)
		pace.giveBack(first, 50)
		require.Equal(t, 50, take(1000).orders, "too late")
	})
}

// Orders above the rate stay in the queue and are no failures.
func TestReleasesWaitForTheRateOfTheRail(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	fleet := s.createPendingPayouts(5)
	at := time.Now()
	worker := &releasePayout{service: s.Service, rail: s.rail, log: s.newLogger(), pace: newRailPace(2, func() time.Time { return at })}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	for i, payout := range fleet {
		err := worker.Work(ctx, &river.Job[payouts.ReleasePayout]{Args: payout})
		if i < 2 {
			require.NoError(t, err)
			continue
		}
		cancel()
		isSnoozed(t, err)
	}
	require.Equal(t, 2, s.countRows("payouts where status = 'released'"))
	require.Equal(t, 3, s.countRows("payouts where status = 'pending'"))
	require.Equal(t, 2, s.countRows("payout_attempts"))
}

// A rail without batches gets 32 calls at once; each waits until all are there.
func TestThirtyTwoCallsOfARailAreInFlight(t *testing.T) {
	t.Parallel()
	const most = 32
	s := newFixture(t)
	fleet := s.createPendingPayouts(most + 8)
	var inFlight atomic.Int64
	together := make(chan struct{})
	queue := s.startQueue(&wrappedRail{Rail: s.rail, send: func(ctx context.Context, i rail.Instruction) rail.Result {
		if inFlight.Add(1) == most {
			close(together)
		}
		select {
		case <-together:
		case <-ctx.Done():
			t.Error("fewer calls are in flight")
		}
		return s.rail.Send(ctx, i)
	}})
	queue.insert(inserted(fleet))
	s.requireEventually(func() bool { return s.countRows("payouts where status = 'released'") == len(fleet) }, "all are released")
}
