package jobs

import (
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"

	"parapet/model/payouts"
)

func TestRequeuedPayoutDoesNotWaitLongInTheQueue(t *testing.T) {
	t.Parallel()
	usual, requeued := &river.Job[payouts.ReleasePayout]{}, &river.Job[payouts.ReleasePayout]{Args: payouts.ReleasePayout{Requeued: true}}
	var snooze *river.JobSnoozeError
	require.ErrorAs(t, postpone(usual, time.Hour), &snooze)
	require.Equal(t, time.Hour, snooze.Duration)
	require.ErrorAs(t, postpone(requeued, maxRequeuedWait), &snooze)
	require.Equal(t, time.Minute, snooze.Duration)
	require.NoError(t, postpone(requeued, maxRequeuedWait+time.Second), "the sweep enqueues it again")
}
