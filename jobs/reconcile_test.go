package jobs

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestARailsReportSettlesWhatItPaid(t *testing.T) {
	t.Parallel()
	s := open(t)
	job := s.fleet(1)[0]
	require.NoError(t, s.release(job))
	var day time.Time
	require.NoError(t, s.pool.QueryRow(t.Context(), "select date_trunc('day', created_at at time zone 'UTC') at time zone 'UTC' from simulator_transfers").Scan(&day))
	for _, again := range []bool{false, true} {
		taken, err := Reconcile(t.Context(), s.Service, s.rail, day.UTC())
		require.NoError(t, err)
		require.Equal(t, again, taken.Again)
	}
	s.eventually(func() bool {
		require.NoError(t, s.Service.Sweep(t.Context()))
		return s.read(job).Status == "reconciled"
	}, "the rail's report confirms the payout")
}
