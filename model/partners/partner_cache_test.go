package partners

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// runConcurrently runs do many times at once and waits for all.
func runConcurrently(do func()) {
	var all sync.WaitGroup
	for range 1000 {
		all.Go(do)
	}
	all.Wait()
}

func TestConcurrentCallersShareOneLoad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var cache TtlCache[int64]
		var loads atomic.Int64
		get := func() {
			value, err := cache.Get(t.Context(), "acme", func(context.Context) (int64, error) {
				<-time.After(time.Millisecond)
				return loads.Add(1), nil
			})
			if err != nil || value != loads.Load() {
				t.Error(value, err)
			}
		}
		runConcurrently(get)
		require.EqualValues(t, 1, loads.Load())
		<-time.After(2 * PartnerCacheTTL)
		runConcurrently(get)
		require.EqualValues(t, 2, loads.Load(), "one load after it expired")
	})
}

func TestCallersDoNotShareTheLoadOfACallerThatLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var cache TtlCache[int]
		ctx, leave := context.WithCancel(t.Context())
		go func() {
			_, err := cache.Get(ctx, "acme", func(ctx context.Context) (int, error) {
				<-ctx.Done()
				return 0, ctx.Err()
			})
			if err == nil {
				t.Error("the load ends with its caller")
			}
		}()
		synctest.Wait()
		go func() {
			<-time.After(time.Millisecond)
			leave()
		}()
		value, err := cache.Get(t.Context(), "acme", func(context.Context) (int, error) { return 7, nil })
		require.NoError(t, err)
		require.Equal(t, 7, value)
	})
}

func TestAFailedLoadIsRepeatedAndAnInvalidatedOneIsNotKept(t *testing.T) {
	t.Parallel()
	var cache TtlCache[int]
	failed := errors.New("the database does not answer")
	_, err := cache.Get(t.Context(), "acme", func(context.Context) (int, error) { return 0, failed })
	require.ErrorIs(t, err, failed)
	old, err := cache.Get(t.Context(), "acme", func(context.Context) (int, error) {
		cache.invalidate("acme") // the value was read before the change
		return 1, nil
	})
	require.NoError(t, err)
	require.Equal(t, 1, old)
	value, err := cache.Get(t.Context(), "acme", func(context.Context) (int, error) { return 2, nil })
	require.NoError(t, err)
	require.Equal(t, 2, value)
}
