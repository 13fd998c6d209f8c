package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"parapet/model"
)

// checkInterval is how often the invariants are checked; what changed is checked each
// time, all of it once an hour.
const checkInterval = time.Minute

// CheckInvariants checks what must always be true, and stops the release of payouts
// when it is not.
type CheckInvariants struct{}

// Kind is the job's stable name.
func (CheckInvariants) Kind() string { return "check_invariants" }

// checkInvariants has minutes, because each view may take its time.
type checkInvariants struct {
	river.WorkerDefaults[CheckInvariants]

	service *model.Service
}

// Timeout implements river.Worker.
func (*checkInvariants) Timeout(*river.Job[CheckInvariants]) time.Duration { return 10 * checkInterval }

// Work implements river.Worker.
func (w *checkInvariants) Work(ctx context.Context, _ *river.Job[CheckInvariants]) error {
	return w.service.CheckInvariants(ctx)
}
