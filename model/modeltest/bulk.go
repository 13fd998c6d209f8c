package modeltest

import (
	"runtime"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/pacing"
)

// BulkTurns returns how many turns of bulk work a process that answers requests has.
func BulkTurns() int { return max(1, runtime.GOMAXPROCS(0)/2) }

// FreeBulkTurns returns how many turns are free. The caller has called OccupyBulkWork.
func (b *Bundle) FreeBulkTurns() (free int) {
	b.t.Helper()
	for ; ; free++ {
		leave, err := b.Service.Bulk.Enter(b.t.Context())
		if err != nil {
			require.ErrorIs(b.t, err, pacing.ErrBusy)
			return free
		}
		defer leave()
	}
}

// OccupyBulkWork makes the process of the bundle one that answers requests and whose
// turns of bulk work are all taken, until giveBack is called.
func (b *Bundle) OccupyBulkWork() (giveBack func()) {
	b.t.Helper()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	b.Service.Bulk.Now, b.Service.Bulk.MaxWait = func() time.Time { return now }, 50*time.Millisecond
	for range 3 {
		b.Service.Bulk.CountRequest()
	}
	var turns []func()
	for range BulkTurns() {
		leave, err := b.Service.Bulk.Enter(b.t.Context())
		require.NoError(b.t, err)
		turns = append(turns, leave)
	}
	return func() {
		for _, leave := range turns {
			leave()
		}
	}
}
