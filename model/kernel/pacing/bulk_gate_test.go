package pacing_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/pacing"
)

// gateAt returns a gate whose clock is set by the test.
func gateAt(start time.Time) (gate *pacing.BulkGate, now *time.Time) {
	now = &start
	return &pacing.BulkGate{Now: func() time.Time { return *now }, MaxWait: 20 * time.Millisecond}, now
}

// turnsOf returns how many pieces of bulk work a gate admits at the same time, up to most.
func turnsOf(t *testing.T, gate *pacing.BulkGate, most int) (admitted int) {
	t.Helper()
	for range most {
		leave, err := gate.Enter(t.Context())
		if err != nil {
			require.ErrorIs(t, err, pacing.ErrBusy)
			return admitted
		}
		t.Cleanup(leave)
		admitted++
	}
	return admitted
}

var shared = max(1, runtime.GOMAXPROCS(0)/2)

func TestBulkWorkIsUnlimitedWithoutRequests(t *testing.T) {
	t.Parallel()
	gate, _ := gateAt(time.Now())
	gate.CountRequest()
	gate.CountRequest()
	require.Equal(t, shared+3, turnsOf(t, gate, shared+3), "two requests do not limit bulk work")
}

func TestBulkWorkLeavesProcessorsToRequests(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]time.Duration{"at once": 0, "in the next period": 1999 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gate, now := gateAt(time.Now())
			for range 3 {
				gate.CountRequest()
			}
			*now = now.Add(next)
			require.Equal(t, shared, turnsOf(t, gate, shared+3))
		})
	}
}

func TestBulkWorkIsUnlimitedAgainAfterRequests(t *testing.T) {
	t.Parallel()
	gate, now := gateAt(time.Now())
	for range 3 {
		gate.CountRequest()
	}
	*now = now.Add(2 * time.Second)
	require.Equal(t, shared+3, turnsOf(t, gate, shared+3))
}

func TestRequestsOfTwoPeriodsCount(t *testing.T) {
	t.Parallel()
	gate, now := gateAt(time.Now())
	gate.CountRequest()
	gate.CountRequest()
	*now = now.Add(time.Second)
	gate.CountRequest()
	require.Equal(t, shared, turnsOf(t, gate, shared+3))
	*now = now.Add(time.Second) // only the third request counts now
	fresh, err := gate.Enter(t.Context())
	require.NoError(t, err)
	fresh()
}

func TestBulkWorkContinuesWhenATurnEnds(t *testing.T) {
	t.Parallel()
	gate, _ := gateAt(time.Now())
	for range 3 {
		gate.CountRequest()
	}
	for range 3 * shared {
		leave, err := gate.Enter(t.Context())
		require.NoError(t, err)
		leave()
	}
}

func TestCancelledBulkWorkDoesNotBegin(t *testing.T) {
	t.Parallel()
	gate, _ := gateAt(time.Now())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := gate.Enter(ctx)
	require.ErrorIs(t, err, context.Canceled, "without requests")
	for range 3 {
		gate.CountRequest()
	}
	require.Equal(t, shared, turnsOf(t, gate, shared+1))
	_, err = gate.Enter(ctx)
	require.ErrorIs(t, err, context.Canceled, "while all turns are taken")
}

func TestTurnsRestAfterBulkWork(t *testing.T) {
	t.Parallel()
	for took, rest := range map[time.Duration]time.Duration{100 * time.Millisecond: 40 * time.Millisecond, 2 * time.Second: 800 * time.Millisecond, time.Minute: time.Second} {
		synctest.Test(t, func(t *testing.T) {
			gate := &pacing.BulkGate{}
			takeTurn := func() (leave func()) {
				for range 3 {
					gate.CountRequest()
				}
				leave, err := gate.Enter(t.Context())
				require.NoError(t, err)
				return leave
			}
			for range shared - 1 {
				t.Cleanup(takeTurn())
			}
			leave := takeTurn()
			<-time.After(took)
			leave()
			left := time.Now()
			next := takeTurn()
			require.Equal(t, rest, time.Since(left))
			next()
		})
	}
}

func TestBulkWorkForWhichOthersWaitBeginsInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := &pacing.BulkGate{}
		for range 3 {
			gate.CountRequest()
		}
		began := time.Now()
		require.Equal(t, shared-1, turnsOf(t, gate, shared-1))
		leave := gate.EnterWithin(t.Context(), time.Second)
		require.Zero(t, time.Since(began), "a turn was free")
		gate.EnterWithin(t.Context(), time.Second)()
		require.Equal(t, time.Second, time.Since(began), "no turn was free")
		for range 3 {
			gate.CountRequest()
		}
		_, err := gate.Enter(t.Context())
		require.ErrorIs(t, err, pacing.ErrBusy, "it began without a turn, and gave none back")
		leave()
		require.Equal(t, 1, turnsOf(t, gate, 1))
	})
}
