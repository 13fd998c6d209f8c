package jobs

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFailingPassIsRepeatedEverySecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began, failures := time.Now(), 2
		var at []time.Duration
		loops := &backgroundLoops{log: slog.New(slog.DiscardHandler)}
		loops.repeatPass(ctx, "test", nil, func(context.Context) (time.Duration, error) {
			if at = append(at, time.Since(began)); len(at) == 4 {
				cancel()
			}
			if len(at) <= failures {
				return 0, errors.New("no database")
			}
			return maxIdleInterval, nil
		})
		require.Equal(t, []time.Duration{0, errorInterval, 2 * errorInterval, 2*errorInterval + maxIdleInterval}, at)
	})
}
