package jobs

import (
	"time"

	"github.com/riverqueue/river"

	"parapet/model/payouts"
)

// maxRequeuedWait is how long a requeued job waits in the queue: about as long as the
// sweep takes to find a payout that is due.
const maxRequeuedWait = time.Minute

// postpone snoozes a job. It ends a requeued one that would wait for longer: the sweep
// ignores duplicates of a waiting job, so the payout could not go out earlier, for
// instance when a rehearsal moves the clock. The sweep enqueues it again when it is due.
func postpone(job *river.Job[payouts.ReleasePayout], wait time.Duration) error {
	if job.Args.Requeued && wait > maxRequeuedWait {
		return nil
	}
	return river.JobSnooze(wait)
}
