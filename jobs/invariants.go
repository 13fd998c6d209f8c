package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"parapet/model"
)

// checkInterval is how often the invariants are checked. Each check covers the changed
// rows; once an hour it covers all rows.
const checkInterval = time.Minute

// CheckInvariants checks the invariants and stops the release of payouts when one is
// violated.
type CheckInvariants struct{}

// Kind is the job's stable name.
func (CheckInvariants) Kind() string { return "check_invariants" }

// checkInvariants has a timeout of minutes because each view may be slow.
type checkInvariants struct {
	river.WorkerDefaults[CheckInvariants]

	service *model.Service
}

// Timeout implements river.Worker.
func (*checkInvariants) Timeout(*river.Job[CheckInvariants]) time.Duration { return 10 * checkInterval }

// Work implements river.Worker.
func (w *checkInvariants) Work(ctx context.Context, _ *river.Job[CheckInvariants]) error {
	return w.service.Controls.CheckInvariants(ctx)
}
