package progress

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/wire"
)

// countingLoad returns a load that takes this long and numbers its results.
func countingLoad(took time.Duration) (load func() (*wire.OccurrenceProgress, error), loads *atomic.Int64) {
	loads = new(atomic.Int64)
	return func() (*wire.OccurrenceProgress, error) {
		<-time.After(took)
		return &wire.OccurrenceProgress{Candidates: loads.Add(1)}, nil
	}, loads
}

func TestReadersOfOneProgressShareExpensiveReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var reads sharedReads
		load, loads := countingLoad(200 * time.Millisecond)
		key, other := feedKey{"occ_1", "acme"}, feedKey{"occ_1", "globex"}
		var all sync.WaitGroup
		for range 100 { // each polls ten times a second for eight seconds
			all.Go(func() {
				for range 80 {
					if _, err := reads.get(t.Context(), key, load); err != nil {
						t.Error(err)
					}
					<-time.After(100 * time.Millisecond)
				}
			})
		}
		all.Wait()
		require.LessOrEqual(t, loads.Load(), int64(11), "one read a second")
		before := loads.Load()
		got, err := reads.get(t.Context(), other, load)
		require.NoError(t, err)
		require.Equal(t, before+1, got.Candidates, "another partner's is another")
		<-time.After(2 * maxKept)
		got, err = reads.get(t.Context(), key, load)
		require.NoError(t, err)
		require.Equal(t, before+2, got.Candidates)
		require.Len(t, reads.byKey, 1, "old reads are removed")
	})
}

func TestCheapProgressIsAlwaysRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var reads sharedReads
		load, loads := countingLoad(cheapRead / 2)
		for range 3 {
			_, err := reads.get(t.Context(), feedKey{}, load)
			require.NoError(t, err)
		}
		require.EqualValues(t, 3, loads.Load())
		require.Empty(t, reads.byKey)
	})
}

func TestReaderThatLeavesDoesNotFailTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var reads sharedReads
		load, _ := countingLoad(time.Second)
		ctx, leave := context.WithCancel(t.Context())
		go func() {
			_, err := reads.get(ctx, feedKey{}, func() (*wire.OccurrenceProgress, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			})
			if err == nil {
				t.Error("it has left")
			}
		}()
		synctest.Wait()
		go func() {
			<-time.After(time.Millisecond)
			leave()
		}()
		got, err := reads.get(t.Context(), feedKey{}, load)
		require.NoError(t, err)
		require.EqualValues(t, 1, got.Candidates)
	})
}
