package modeltest

import (
	"runtime"
	"time"

	"github.com/stretchr/testify/require"
)

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
	for range max(1, runtime.GOMAXPROCS(0)/2) {
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
